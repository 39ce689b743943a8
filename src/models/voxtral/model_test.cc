// Loading: what a checkpoint lacks, has too much of or says twice in different words is refused by
// name. And what may be asked of the model.
#include "models/voxtral/model.h"

#include <gtest/gtest.h>

#include "models/changed_checkpoint.h"
#include "models/model_run.h"

namespace verbatim::voxtral {
namespace {

const std::string kMistral = std::string(kGolden) + "windows-mistral-bf16";
const std::string kFlat = std::string(kGolden) + "hf-f32";
const std::string kNested = std::string(kGolden) + "delay-eos-hf-bf16";
const std::string kUntied = std::string(kGolden) + "untied-quantized-hf-bf16";
const std::string kFront = "mm_streams_embeddings.embedding_module.";
const std::string kEncoder = kFront + "whisper_encoder.transformer.layers.";
const std::string kEncoderArgs = "multimodal.whisper_model_args.encoder_args.";

std::string refusal(Code code, const ChangedCheckpoint& changed, const LoadOptions& options = {}) {
  return message_of(code, [&] { load_dry(changed.write(), options); });
}

void add(ChangedCheckpoint& changed, std::string_view like, const std::string& name) {
  NamedTensor more = changed.tensor(like);
  more.name = name;
  changed.tensors.push_back(more);
}

void rename(ChangedCheckpoint& changed, std::string_view from, std::string_view to) {
  for (NamedTensor& each : changed.tensors) {
    if (each.name.starts_with(from)) each.name = std::string(to) + each.name.substr(from.size());
  }
}

std::vector<std::byte> tokens_of(const std::string& folder) {
  KeepTap tap("token");
  ModelRun(folder, &tap).run(noise_clip(9000), {});
  EXPECT_FALSE(tap.bytes.empty());
  return tap.bytes;
}

TEST(VoxtralModel, AMissingTensorIsNamed) {
  for (const std::string& name :
       {kFront + "whisper_encoder.conv_layers.1.conv.bias", kEncoder + "0.attention.wq.bias",
        kEncoder + "1.attention.wv.bias", kEncoder + "1.attention.wo.bias",
        kEncoder + "0.feed_forward.w2.bias", kEncoder + "1.attention.wk.weight",
        kFront + "whisper_encoder.transformer.norm.weight",
        kFront + "audio_language_projection.2.weight", kFront + "tok_embeddings.weight",
        std::string("layers.1.attention.wo.weight"), std::string("layers.0.ffn_norm.weight"),
        std::string("layers.1.ada_rms_norm_t_cond.2.weight"), std::string("norm.weight")}) {
    ChangedCheckpoint changed(kMistral);
    changed.drop(name);
    const std::string message = refusal(Code::kNotFound, changed);
    EXPECT_TRUE(contains(message, name)) << message;
  }
  for (const char* name :
       {"audio_tower.layers.0.self_attn.q_proj.bias", "multi_modal_projector.linear_1.weight",
        "language_model.model.layers.1.ada_rms_norm.linear1.weight",
        "language_model.model.embed_tokens.weight"}) {
    ChangedCheckpoint changed(kFlat);
    changed.drop(name);
    const std::string message = refusal(Code::kNotFound, changed);
    EXPECT_TRUE(contains(message, name)) << message;
  }
}

TEST(VoxtralModel, ASurplusTensorIsNamedWithItsFile) {
  const std::string norm = "norm.weight";
  for (const std::string& name :
       {kEncoder + "0.attention.wk.bias", kEncoder + "1.feed_forward.w1.bias",
        kEncoder + "1.feed_forward.w3.bias", kEncoder + "2.attention_norm.weight",
        kFront + "audio_language_projection.0.bias", std::string("layers.0.attention.wq.bias"),
        std::string("layers.0.feed_forward.w2.bias"), std::string("layers.2.ffn_norm.weight"),
        std::string("output.bias")}) {
    ChangedCheckpoint changed(kMistral);
    add(changed, norm, name);
    const std::string message = refusal(Code::kUnsupported, changed);
    EXPECT_TRUE(contains(message, name)) << message;
    EXPECT_TRUE(contains(message, "consolidated.safetensors")) << message;
  }
  ChangedCheckpoint biased(kFlat);
  add(biased, "audio_tower.layers.0.self_attn.q_proj.bias",
      "audio_tower.layers.0.self_attn.k_proj.bias");
  const std::string message = refusal(Code::kUnsupported, biased);
  EXPECT_TRUE(contains(message, "self_attn.k_proj.bias")) << message;
  EXPECT_TRUE(contains(message, "model.safetensors")) << message;
}

TEST(VoxtralModel, ATensorOfAnotherShapeIsNamedWithBothShapes) {
  for (const std::string& name :
       {kFront + "whisper_encoder.conv_layers.0.conv.weight", kEncoder + "0.attention.wo.weight",
        kEncoder + "0.attention.wq.bias", kFront + "audio_language_projection.0.weight",
        kFront + "tok_embeddings.weight", std::string("layers.0.feed_forward.w2.weight"),
        std::string("layers.0.ada_rms_norm_t_cond.0.weight"),
        std::string("layers.1.ada_rms_norm_t_cond.2.weight"), std::string("norm.weight")}) {
    ChangedCheckpoint changed(kMistral);
    NamedTensor& tensor = changed.tensor(name);
    const std::vector<std::int64_t> right = tensor.shape;
    // As many values in another order of axes, or in one more axis.
    if (right.size() > 1) {
      std::swap(tensor.shape.front(), tensor.shape.back());
    } else {
      tensor.shape.push_back(1);
    }
    const std::string message = refusal(Code::kCorrupt, changed);
    EXPECT_TRUE(contains(message, name)) << message;
    EXPECT_TRUE(contains(message, shape_text(right))) << message;
    EXPECT_TRUE(contains(message, shape_text(tensor.shape))) << message;
  }
}

TEST(VoxtralModel, ATensorOfNoFloatsIsNamed) {
  for (const std::string& name :
       {std::string("layers.0.ada_rms_norm_t_cond.0.weight"), std::string("norm.weight"),
        kEncoder + "0.attention.wq.weight", kFront + "whisper_encoder.conv_layers.0.conv.weight"}) {
    ChangedCheckpoint changed(kMistral);
    changed.tensor(name).type = RawType::kI16;
    const std::string message = refusal(Code::kUnsupported, changed);
    EXPECT_TRUE(contains(message, name)) << message;
    EXPECT_TRUE(contains(message, "I16")) << message;
  }
}

// What the config says and the tensors do not: the tensor is named with the shape that the config
// asks for, or what is missing or too much.
TEST(VoxtralModel, AParamsFileThatContradictsTheTensorsIsRefused) {
  struct Contradiction {
    std::string path;
    const char* value;
    Code code;
    std::string named;
    const char* expected = "";
  };
  const Contradiction all[] = {
      {"dim", "98", Code::kCorrupt, "audio_language_projection.0.weight", "98"},
      {"n_layers", "3", Code::kNotFound, "layers.2."},
      {"n_layers", "1", Code::kUnsupported, "layers.1."},
      {"hidden_dim", "161", Code::kCorrupt, "layers.0.feed_forward.w1.weight", "161"},
      {"n_heads", "4", Code::kCorrupt, "layers.0.attention.wq.weight", "[128, 96]"},
      {"n_kv_heads", "3", Code::kCorrupt, "layers.0.attention.wk.weight", "[96, 96]"},
      {"head_dim", "16", Code::kCorrupt, "layers.0.attention.wq.weight", "[96, 96]"},
      {"vocab_size", "1401", Code::kCorrupt, "tok_embeddings.weight", "1401"},
      {"ada_rms_norm_t_cond_dim", "16", Code::kCorrupt, "ada_rms_norm_t_cond.0.weight", "[16, 96]"},
      {kEncoderArgs + "dim", "60", Code::kCorrupt, "conv_layers.0.conv.weight", "60"},
      {kEncoderArgs + "n_layers", "3", Code::kNotFound, "transformer.layers.2."},
      {kEncoderArgs + "n_layers", "1", Code::kUnsupported, "transformer.layers.1."},
      {kEncoderArgs + "n_heads", "8", Code::kCorrupt, "attention.wq.weight", "[256, 64]"},
      {kEncoderArgs + "hidden_dim", "255", Code::kCorrupt, "feed_forward.w1.weight", "255"},
  };
  for (const Contradiction& wrong : all) {
    SCOPED_TRACE(wrong.path + " = " + wrong.value);
    ChangedCheckpoint changed(kMistral);
    changed.set("params.json", wrong.path, wrong.value);
    const std::string message = refusal(wrong.code, changed);
    EXPECT_TRUE(contains(message, wrong.named)) << message;
    EXPECT_TRUE(contains(message, wrong.expected)) << message;
  }
}

TEST(VoxtralModel, AConfigThatContradictsTheTensorsIsRefused) {
  struct Contradiction {
    const char* path;
    const char* value;
    Code code;
    const char* named;
  };
  const Contradiction all[] = {
      {"text_config.hidden_size", "98", Code::kCorrupt, "multi_modal_projector.linear_1.weight"},
      {"text_config.num_hidden_layers", "3", Code::kNotFound, "language_model.model.layers.2."},
      {"text_config.intermediate_size", "80", Code::kCorrupt, "mlp.gate_proj.weight"},
      {"audio_config.num_hidden_layers", "2", Code::kNotFound, "audio_tower.layers.1."},
      {"audio_config.head_dim", "16", Code::kCorrupt, "self_attn.q_proj.weight"},
      {"audio_config.num_attention_heads", "2", Code::kCorrupt, "num_key_value_heads"},
  };
  for (const Contradiction& wrong : all) {
    SCOPED_TRACE(std::string(wrong.path) + " = " + wrong.value);
    ChangedCheckpoint changed(kFlat);
    changed.set("config.json", wrong.path, wrong.value);
    const std::string message = refusal(wrong.code, changed);
    EXPECT_TRUE(contains(message, wrong.named)) << message;
  }
}

TEST(VoxtralModel, ATekkenFileThatContradictsTheConfigIsRefused) {
  struct Contradiction {
    const char* path;
    const char* value;
    Code code = Code::kCorrupt;
    const char* named = "";  // besides file and path
  };
  const Contradiction all[] = {
      {"audio.sampling_rate", "8000", Code::kCorrupt, "16000"},
      {"audio.frame_rate", "25", Code::kCorrupt, "12.5"},
      {"audio.audio_encoding_config.num_mel_bins", "80", Code::kCorrupt, "128"},
      {"audio.audio_encoding_config.hop_length", "200", Code::kCorrupt, "160"},
      {"audio.audio_encoding_config.window_size", "512", Code::kCorrupt, "400"},
      {"audio.transcription_format", "\"instruct\"", Code::kUnsupported, "streaming"},
      {"audio.transcription_delay_ms", "500", Code::kCorrupt, "80"},
      {"audio.transcription_delay_ms", "0", Code::kCorrupt, "above 0"},
      {"audio.chunk_length_s", "30", Code::kUnsupported, "null"},
      {"audio.streaming_n_left_pad_tokens", "null"},
      {"audio.streaming_n_left_pad_tokens", "-1"},
      {"audio", "null"},
      {"vocab", "[]", Code::kCorrupt, "1400"},
      {"vocab", "{}"},
      {"special_tokens", "7"},
      {"config.pattern", "\"\\\\s+\"", Code::kUnsupported, ""},
      {"config.default_num_special_tokens", "1399", Code::kCorrupt, "1400"},
  };
  for (const Contradiction& wrong : all) {
    SCOPED_TRACE(std::string(wrong.path) + " = " + wrong.value);
    ChangedCheckpoint changed(kMistral);
    changed.set("tekken.json", wrong.path, wrong.value);
    const std::string message = refusal(wrong.code, changed);
    EXPECT_TRUE(contains(message, "tekken.json")) << message;
    EXPECT_TRUE(contains(message, wrong.path)) << message;
    EXPECT_TRUE(contains(message, wrong.named)) << message;
  }
}

TEST(VoxtralModel, AHoleInTheVocabularyIsNamedByItsPlace) {
  ChangedCheckpoint hole(kMistral);
  boost::json::array& vocab = hole.json("tekken.json").at("vocab").as_array();
  vocab.erase(vocab.begin() + 300);
  const std::string message = refusal(Code::kCorrupt, hole);
  EXPECT_TRUE(contains(message, "tekken.json: vocab[300]")) << message;
  EXPECT_TRUE(contains(message, "301")) << message;

  ChangedCheckpoint other(kMistral);
  other.json("tekken.json") = *Checkpoint::open("models/vibevoice-asr-nano").json("tokenizer.json");
  EXPECT_TRUE(contains(refusal(Code::kCorrupt, other), "tekken.json: config"));
}

TEST(VoxtralModel, AFolderWithoutATokenizerAsksForOne) {
  ChangedCheckpoint changed(kMistral);
  changed.remove_file("tekken.json");
  std::string message = refusal(Code::kNotFound, changed);
  EXPECT_TRUE(contains(message, "tekken.json")) << message;
  EXPECT_TRUE(contains(message, "--tokenizer")) << message;

  LoadOptions given;
  given.tokenizer = kMistral + "/tekken.json";
  EXPECT_EQ(load_dry(changed.write(), given)->info().tokenizer, given.tokenizer);
  given.tokenizer = "no/such/tekken.json";
  message = refusal(Code::kNotFound, changed, given);
  EXPECT_TRUE(contains(message, given.tokenizer)) << message;
}

TEST(VoxtralModel, ATiedHeadIsTheTableAndAStoredHeadIsUsed) {
  const std::string table = "model.language_model.embed_tokens.weight";
  const std::unique_ptr<Model> tied = load_dry(kNested);
  ChangedCheckpoint stored(kNested);
  add(stored, table, "lm_head.weight");
  const std::vector<std::int64_t> shape = stored.tensor(table).shape;
  EXPECT_EQ(load_dry(stored.write())->info().parameters,
            tied->info().parameters + shape[0] * shape[1]);
  EXPECT_EQ(tokens_of(stored.write()), tokens_of(kNested));
  // And it is what answers: with zeros in it the first id is the largest logit.
  NamedTensor& head = stored.tensor("lm_head.weight");
  const std::vector<std::byte> zeros(head.bytes.size());
  head.bytes = zeros;
  for (const std::byte byte : tokens_of(stored.write())) ASSERT_EQ(byte, std::byte{0});
}

TEST(VoxtralModel, MistralsOutputIsIgnoredWhereTheHeadIsTied) {
  const std::unique_ptr<Model> plain = load_dry(kMistral);
  ChangedCheckpoint stored(kMistral);
  add(stored, kFront + "tok_embeddings.weight", "output.weight");
  EXPECT_EQ(load_dry(stored.write())->info().parameters, plain->info().parameters);
  stored.set("params.json", "tied_embeddings", "false");
  EXPECT_GT(load_dry(stored.write())->info().parameters, plain->info().parameters);
}

TEST(VoxtralModel, EverySpellingGivesTheSameTokens) {
  ChangedCheckpoint older(kMistral);
  rename(older, kFront, "mm_whisper_embeddings.");
  EXPECT_EQ(tokens_of(older.write()), tokens_of(kMistral));
  ChangedCheckpoint flat(kNested);
  rename(flat, "model.language_model.", "language_model.model.");
  rename(flat, "model.audio_tower.", "audio_tower.");
  rename(flat, "model.multi_modal_projector.", "multi_modal_projector.");
  EXPECT_EQ(tokens_of(flat.write()), tokens_of(kNested));
}

TEST(VoxtralModel, InfoSaysWhatTheCheckpointIs) {
  const std::unique_ptr<Model> model = load_dry(std::string(kNano) + "/");
  const ModelInfo& info = model->info();
  EXPECT_EQ(info.family, "voxtral");
  EXPECT_EQ(info.name, "voxtral-realtime-nano");
  EXPECT_EQ(info.layout, "mistral");
  EXPECT_EQ(info.sample_rate_hz, 16000);
  EXPECT_EQ(info.audio_tokens_per_s, 12.5);
  EXPECT_EQ(info.max_context, 131072);
  EXPECT_TRUE(info.live);
  EXPECT_EQ(info.window, 64);
  EXPECT_EQ(info.kv.layers, 4);
  EXPECT_EQ(info.kv.kv_heads, 2);
  EXPECT_EQ(info.encoder_kv.layers, 4);
  EXPECT_EQ(info.encoder_kv.kv_heads, 5);
  EXPECT_EQ(info.vocab_size, 1536);
  EXPECT_EQ(info.tokenizer_size, 1536);
  std::int64_t values = 0;
  for (const NamedTensor& each : ChangedCheckpoint(kNano).tensors)
    values += static_cast<std::int64_t>(each.bytes.size()) / raw_type_bytes(each.type);
  EXPECT_EQ(info.parameters, values);
  EXPECT_EQ(load_dry(kFlat)->info().layout, "transformers");
}

SessionOptions delayed(std::int32_t ms) {
  SessionOptions options;
  options.delay_ms = ms;
  return options;
}

// L = 33 + d, of the request, else tekken.json.
TEST(VoxtralModel, TheDelayIsTheRequestsElseTheTokenizersElseTheConfigs) {
  const std::unique_ptr<Model> nano = load_dry(kNano);
  EXPECT_EQ(nano->needs({}, 0).prompt_rows, 39);
  EXPECT_EQ(load_dry(kNested)->needs({}, 0).prompt_rows, 45);
  for (std::int32_t d = 1; d <= 30; ++d)
    EXPECT_EQ(nano->needs(delayed(80 * d), 0).prompt_rows, 33 + d);
  ChangedCheckpoint later(kMistral);
  later.set("tekken.json", "audio.transcription_delay_ms", "2400");
  EXPECT_EQ(load_dry(later.write())->needs({}, 0).prompt_rows, 63);
}

TEST(VoxtralModel, AnyOtherDelayIsRefusedWithTheList) {
  const std::unique_ptr<Model> nano = load_dry(kNano);
  for (const std::int32_t ms : {-80, 1, 79, 81, 500, 2399, 2401, 2480, 1 << 30}) {
    const std::string message =
        message_of(Code::kInvalidArgument, [&] { nano->needs(delayed(ms), 1); });
    EXPECT_TRUE(contains(message, "--delay-ms")) << message;
    EXPECT_TRUE(contains(message, "80, 160, 240, 320")) << message;
    EXPECT_TRUE(contains(message, "2320, 2400")) << message;
    EXPECT_TRUE(contains(message, std::to_string(ms))) << message;
  }
}

TEST(VoxtralModel, WhatItCannotHeedIsRefusedByTheFlagsName) {
  const std::unique_ptr<Model> nano = load_dry(kNano);
  SessionOptions context, hotwords, drawn, tail;
  context.context = "a talk";
  hotwords.hotwords = {"kilo"};
  drawn.acoustic_sampling = AcousticSampling::kFix;
  tail.tail = Tail::kHf;
  for (const auto& [flag, options] : {std::pair("--context", context),
                                      {"--hotwords", hotwords},
                                      {"--acoustic-sampling", drawn},
                                      {"--tail", tail}}) {
    EXPECT_TRUE(contains(
        message_of(Code::kInvalidArgument, [&, &o = options] { nano->needs(o, 1); }), flag))
        << flag;
  }
}

// What was reserved is what a session takes: one position for each token of the padded clip.
TEST(VoxtralModel, NeedsAreThePaddedClipsTokens) {
  const std::unique_ptr<Model> nano = load_dry(kNano);
  for (const std::int64_t samples : {0, 1, 1280, 1281, 16000, 176000}) {
    const std::int64_t tokens = 32 + (samples + 1279) / 1280 + 17;
    const std::int64_t positions =
        nano->needs({}, static_cast<double>(samples) / 16000).positions();
    EXPECT_GE(positions, tokens) << samples;
    EXPECT_LE(positions, tokens + 32) << samples;
  }
}

}  // namespace
}  // namespace verbatim::voxtral
