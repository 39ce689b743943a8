// The spellings of one tree, and what decides between them.
#include "models/voxtral/names.h"

#include <gtest/gtest.h>

#include "models/changed_checkpoint.h"

namespace verbatim::voxtral {
namespace {

const std::string kMistral = std::string(kGolden) + "windows-mistral-bf16";
const std::string kFlat = std::string(kGolden) + "hf-f32";
const std::string kNested = std::string(kGolden) + "delay-eos-hf-bf16";
const std::string kUntied = std::string(kGolden) + "untied-quantized-hf-bf16";
constexpr std::string_view kPrefix = "mm_streams_embeddings.embedding_module.";

Names read(const std::string& folder) {
  const Checkpoint checkpoint = Checkpoint::open(folder);
  return names_of(checkpoint, read_config(checkpoint));
}

void rename(ChangedCheckpoint& changed, std::string_view from, std::string_view to) {
  bool found = false;
  for (NamedTensor& each : changed.tensors) {
    if (!each.name.starts_with(from)) continue;
    each.name = std::string(to) + each.name.substr(from.size());
    found = true;
  }
  EXPECT_TRUE(found) << from;
}

void add(ChangedCheckpoint& changed, std::string_view like, const char* name) {
  NamedTensor more = changed.tensor(like);
  more.name = name;
  changed.tensors.push_back(more);
}

TEST(VoxtralNames, EverySpellingIsSpokenAsItsCheckpointWritesIt) {
  const Names mistral = read(kMistral);
  EXPECT_EQ(mistral.conv2,
            "mm_streams_embeddings.embedding_module.whisper_encoder.conv_layers.1.conv");
  EXPECT_EQ(mistral.linear2, "mm_streams_embeddings.embedding_module.audio_language_projection.2");
  EXPECT_EQ(mistral.decoder, "");
  EXPECT_EQ(mistral.norm, "norm");
  const Names flat = read(kFlat);
  EXPECT_EQ(flat.encoder_norm, "audio_tower.norm");
  EXPECT_EQ(flat.linear1, "multi_modal_projector.linear_1");
  EXPECT_EQ(flat.decoder, "language_model.model");
  const Names nested = read(kNested);
  EXPECT_EQ(nested.conv1, "model.audio_tower.embedder.conv1");
  EXPECT_EQ(nested.embed_tokens, "model.language_model.embed_tokens");
  EXPECT_EQ(nested.norm, "model.language_model.norm");
}

TEST(VoxtralNames, EveryNameOfEverySpellingIsATensor) {
  for (const std::string& folder : {kMistral, kFlat, kNested, kUntied, std::string(kNano)}) {
    const Checkpoint checkpoint = Checkpoint::open(folder);
    const Names names = read(folder);
    std::vector<std::string> all = {names.conv1,   names.conv2,   names.encoder_norm,
                                    names.linear1, names.linear2, names.embed_tokens,
                                    names.norm};
    if (!names.lm_head.empty()) all.push_back(names.lm_head);
    const std::string encoder = names.encoder + ".layers.0.";
    const std::string decoder =
        (names.decoder.empty() ? "" : names.decoder + ".") + std::string("layers.0.");
    const auto layer = [&](const std::string& at, const TransformerNames& of) {
      for (const char* name :
           {of.input_norm, of.q, of.k, of.v, of.o, of.post_norm, of.gate, of.up, of.down})
        all.push_back(at + name);
    };
    layer(encoder, names.encoder_layer);
    layer(decoder, names.decoder_layer);
    all.push_back(decoder + names.ada1);
    all.push_back(decoder + names.ada2);
    for (const std::string& name : all)
      EXPECT_NE(checkpoint.find(name + ".weight"), nullptr) << folder << ": " << name;
  }
}

TEST(VoxtralNames, TheOlderPrefixIsFoundWithAndWithoutTheModule) {
  for (const char* prefix : {"mm_whisper_embeddings.", "mm_whisper_embeddings.embedding_module."}) {
    ChangedCheckpoint changed(kMistral);
    rename(changed, kPrefix, prefix);
    EXPECT_EQ(read(changed.write()).embed_tokens, std::string(prefix) + "tok_embeddings");
  }
}

TEST(VoxtralNames, WhatDecidesAndIsMissingIsNamed) {
  for (const auto& [folder, name] :
       {std::pair(kMistral, std::string(kPrefix) + "whisper_encoder.conv_layers.0.conv.weight"),
        {kFlat, std::string("audio_tower.embedder.conv1.weight")}}) {
    ChangedCheckpoint changed(folder);
    changed.drop(name);
    const std::string message = message_of(Code::kNotFound, [&] { read(changed.write()); });
    EXPECT_TRUE(contains(message, name)) << message;
  }
}

TEST(VoxtralNames, AStoredHeadIsTheHead) {
  EXPECT_EQ(read(kUntied).lm_head, "language_model.lm_head");
  EXPECT_EQ(read(kFlat).lm_head, "");
  EXPECT_EQ(read(kNested).lm_head, "");
  for (const char* head : {"lm_head", "model.language_model.lm_head"}) {
    ChangedCheckpoint stored(kNested);
    add(stored, "model.language_model.embed_tokens.weight",
        (std::string(head) + ".weight").c_str());
    EXPECT_EQ(read(stored.write()).lm_head, head);
  }
}

// The reference's own files say that the table is the head; then an output that was left in is not
// looked at.
TEST(VoxtralNames, MistralsOutputCountsOnlyWhereTheFileSaysSo) {
  ChangedCheckpoint stored(kMistral);
  add(stored, std::string(kPrefix) + "tok_embeddings.weight", "output.weight");
  EXPECT_EQ(read(stored.write()).lm_head, "");
  EXPECT_EQ(read(stored.write()).ignored, "output");
  stored.set("params.json", "tied_embeddings", "false");
  EXPECT_EQ(read(stored.write()).lm_head, "output");
  EXPECT_EQ(read(stored.write()).ignored, "");
}

}  // namespace
}  // namespace verbatim::voxtral
