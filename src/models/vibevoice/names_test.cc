// The spellings of one tree, and what decides between them.
#include "models/vibevoice/names.h"

#include <gtest/gtest.h>

#include "models/changed_checkpoint.h"

namespace verbatim::vibevoice {
namespace {

struct Spelling {
  std::string folder;
  std::string stem;
  std::string mixer;
  std::string head;
  std::string connector;
  std::string decoder;
  std::string lm_head;
  std::size_t stages = 7;
};

// The original's, the one that transformers writes, and the one of its modules.
const Spelling kSpellings[] = {
    {kNano, "model.acoustic_tokenizer.encoder.downsample_layers.0.0.conv.conv",
     "model.semantic_tokenizer.encoder.stages.4.1.mixer.conv.conv.conv",
     "model.semantic_tokenizer.encoder.head.conv.conv", "model.acoustic_connector.fc2",
     "model.language_model", "lm_head"},
    {std::string(kGolden) + "hf-f32-taps", "acoustic_tokenizer_encoder.stem.conv.conv",
     "semantic_tokenizer_encoder.conv_layers.3.stage.1.mixer.conv",
     "semantic_tokenizer_encoder.head.conv", "multi_modal_projector.acoustic_linear_2",
     "language_model.model", "language_model.lm_head"},
    {std::string(kGolden) + "hf-segments-context",
     "model.acoustic_tokenizer_encoder.stem.conv.conv",
     "model.semantic_tokenizer_encoder.conv_layers.3.stage.1.mixer.conv",
     "model.semantic_tokenizer_encoder.head.conv", "model.multi_modal_projector.acoustic_linear_2",
     "model.language_model", "lm_head", 5},
};

TEST(VibeVoiceNames, EverySpellingIsSpokenAsItsCheckpointWritesIt) {
  for (const Spelling& wanted : kSpellings) {
    SCOPED_TRACE(wanted.folder);
    const Checkpoint checkpoint = Checkpoint::open(wanted.folder);
    const Names names(checkpoint);
    EXPECT_EQ(names.encoder(Which::kAcoustic) + "." + names.down(0), wanted.stem);
    EXPECT_EQ(names.encoder(Which::kSemantic) + "." + names.block(4, 1) + "." + names.mixer(),
              wanted.mixer);
    EXPECT_EQ(names.encoder(Which::kSemantic) + "." + names.head(), wanted.head);
    EXPECT_EQ(names.connector(Which::kAcoustic, "fc2"), wanted.connector);
    EXPECT_EQ(names.decoder(), wanted.decoder);
    EXPECT_EQ(names.lm_head(), wanted.lm_head);
  }
}

TEST(VibeVoiceNames, EveryNameOfEverySpellingIsATensor) {
  for (const Spelling& each : kSpellings) {
    const Checkpoint checkpoint = Checkpoint::open(each.folder);
    const Names names(checkpoint);
    std::vector<std::string> all = {names.decoder() + ".norm", names.decoder() + ".embed_tokens",
                                    names.lm_head()};
    for (const Which which : {Which::kAcoustic, Which::kSemantic}) {
      const std::string at = names.encoder(which) + ".";
      for (std::size_t stage = 0; stage < each.stages; ++stage) {
        all.push_back(at + names.down(stage));
        all.push_back(at + names.block(stage, 0) + ".norm");
        all.push_back(at + names.block(stage, 0) + "." + names.mixer());
      }
      all.push_back(at + names.head());
      for (const char* part : {"fc1", "norm", "fc2"}) all.push_back(names.connector(which, part));
    }
    for (const std::string& name : all) {
      EXPECT_NE(checkpoint.find(name + ".weight"), nullptr) << each.folder << ": " << name;
    }
  }
}

TEST(VibeVoiceNames, ThePrefixOfTheLanguageModelIsFoundWhereverItStands) {
  for (const char* prefix : {"model.", "", "third.party.model."}) {
    ChangedCheckpoint changed(std::string(kGolden) + "orig-segments");
    constexpr std::string_view kOld = "model.language_model.";
    for (NamedTensor& each : changed.tensors) {
      if (each.name.starts_with(kOld)) each.name = prefix + each.name.substr(kOld.size());
    }
    const Names names(Checkpoint::open(changed.write()));
    EXPECT_EQ(names.decoder() + (names.decoder().empty() ? "" : "."), prefix);
  }
}

TEST(VibeVoiceNames, ATiedCheckpointHasNoHead) {
  EXPECT_EQ(Names(Checkpoint::open(std::string(kGolden) + "orig-tied-f16")).lm_head(), "");
}

TEST(VibeVoiceNames, WhatDecidesAndIsMissingIsNamed) {
  ChangedCheckpoint deaf(std::string(kGolden) + "orig-segments");
  const std::string stem =
      "model.acoustic_tokenizer.encoder.downsample_layers.0.0.conv.conv.weight";
  deaf.drop(stem);
  std::string message = message_of(Code::kNotFound, [&] { Names(Checkpoint::open(deaf.write())); });
  EXPECT_TRUE(contains(message, stem)) << message;

  ChangedCheckpoint mute(std::string(kGolden) + "orig-segments");
  const std::string norm = "model.language_model.layers.0.input_layernorm.weight";
  mute.drop(norm);
  message = message_of(Code::kNotFound, [&] { Names(Checkpoint::open(mute.write())); });
  EXPECT_TRUE(contains(message, norm)) << message;
}

TEST(VibeVoiceNames, TwoLanguageModelsAreRefusedAndBothNamed) {
  ChangedCheckpoint twice(std::string(kGolden) + "orig-segments");
  const std::string norm = "model.language_model.layers.0.input_layernorm.weight";
  NamedTensor second = twice.tensor(norm);
  second.name = "model.layers.0.input_layernorm.weight";
  twice.tensors.push_back(second);
  const std::string message =
      message_of(Code::kCorrupt, [&] { Names(Checkpoint::open(twice.write())); });
  EXPECT_TRUE(contains(message, norm)) << message;
  EXPECT_TRUE(contains(message, second.name)) << message;
}

}  // namespace
}  // namespace verbatim::vibevoice
