// Loading: what a checkpoint lacks, has too much of or has in another shape is refused by name.
#include "models/vibevoice/model.h"

#include <gtest/gtest.h>

#include "models/changed_checkpoint.h"
#include "models/model_run.h"

namespace verbatim::vibevoice {
namespace {

constexpr const char* kQwenTokenizer = "models/qwen2.5-tokenizer/tokenizer.json";
const std::string kSmall = std::string(kGolden) + "orig-segments";
const std::string kTied = std::string(kGolden) + "orig-tied-f16";

std::string refusal(Code code, const ChangedCheckpoint& changed, const LoadOptions& options = {}) {
  return message_of(code, [&] { load_dry(changed.write(), options); });
}

TEST(VibeVoiceModel, AMissingTensorIsNamed) {
  for (const char* name :
       {"model.semantic_tokenizer.encoder.stages.4.1.gamma",
        "model.acoustic_tokenizer.encoder.head.conv.conv.bias",
        "model.acoustic_connector.fc1.weight", "model.semantic_connector.norm.weight",
        "model.language_model.embed_tokens.weight",
        "model.language_model.layers.1.self_attn.k_proj.bias",
        "model.language_model.layers.0.mlp.down_proj.weight", "model.language_model.norm.weight",
        "lm_head.weight"}) {
    ChangedCheckpoint changed(kSmall);
    changed.drop(name);
    const std::string message = refusal(Code::kNotFound, changed);
    EXPECT_TRUE(contains(message, name)) << message;
  }
}

TEST(VibeVoiceModel, ASurplusTensorIsNamed) {
  for (const char* name :
       {"model.prediction_head.proj.weight", "model.language_model.layers.2.mlp.up_proj.weight",
        "model.language_model.layers.0.self_attn.o_proj.bias",
        "model.semantic_tokenizer.decoder.head.conv.conv.weight"}) {
    ChangedCheckpoint changed(kSmall);
    NamedTensor more = changed.tensor("model.language_model.norm.weight");
    more.name = name;
    changed.tensors.push_back(more);
    const std::string message = refusal(Code::kUnsupported, changed);
    EXPECT_TRUE(contains(message, name)) << message;
    EXPECT_TRUE(contains(message, "model.safetensors")) << message;
  }
}

TEST(VibeVoiceModel, TheWaveformDecoderIsNeitherCountedNorMissed) {
  const std::int64_t parameters = load_dry(kSmall)->info().parameters;
  ChangedCheckpoint without(kSmall);
  EXPECT_GT(std::erase_if(without.tensors,
                          [](const NamedTensor& each) {
                            return each.name.starts_with("model.acoustic_tokenizer.decoder.");
                          }),
            0U);
  EXPECT_EQ(load_dry(without.write())->info().parameters, parameters);
}

TEST(VibeVoiceModel, ATensorOfAnotherShapeIsNamedWithBothShapes) {
  for (const char* name :
       {"model.language_model.layers.0.mlp.down_proj.weight", "model.language_model.norm.weight",
        "model.language_model.embed_tokens.weight", "lm_head.weight",
        "model.acoustic_tokenizer.encoder.downsample_layers.2.0.conv.conv.weight",
        "model.semantic_tokenizer.encoder.stages.1.0.mixer.conv.conv.conv.weight",
        "model.semantic_connector.fc2.bias"}) {
    ChangedCheckpoint changed(kSmall);
    NamedTensor& tensor = changed.tensor(name);
    const std::vector<std::int64_t> right = tensor.shape;
    // As many values in another order of axes, or in one more axis.
    if (right.size() > 1 && right.front() != right.back()) {
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

TEST(VibeVoiceModel, ATensorOfNoFloatsIsNamed) {
  for (const char* name :
       {"model.language_model.layers.0.mlp.down_proj.weight", "model.language_model.norm.weight",
        "model.acoustic_tokenizer.encoder.head.conv.conv.weight"}) {
    ChangedCheckpoint changed(kSmall);
    changed.tensor(name).type = RawType::kI32;
    const std::string message = refusal(Code::kUnsupported, changed);
    EXPECT_TRUE(contains(message, name)) << message;
    EXPECT_TRUE(contains(message, "I32")) << message;
  }
}

TEST(VibeVoiceModel, ATiedHeadIsTheTableAndAStoredHeadIsUsedAnyway) {
  const std::unique_ptr<Model> tied = load_dry(kTied);
  ChangedCheckpoint stored(kTied);
  NamedTensor head = stored.tensor("model.language_model.embed_tokens.weight");
  head.name = "lm_head.weight";
  stored.tensors.push_back(head);
  EXPECT_EQ(load_dry(stored.write())->info().parameters,
            tied->info().parameters + head.shape[0] * head.shape[1]);

  ChangedCheckpoint neither(kTied);
  neither.set("config.json", "decoder_config.tie_word_embeddings", "false");
  const std::string message = refusal(Code::kNotFound, neither);
  EXPECT_TRUE(contains(message, "lm_head.weight")) << message;
}

TEST(VibeVoiceModel, ThirdPartyPrefixesGiveTheSameTokens) {
  const std::vector<float> pcm = noise_clip(9000);
  KeepTap wanted("token");
  ModelRun(kSmall, &wanted).run(pcm, {});
  ChangedCheckpoint changed(kSmall);
  constexpr std::string_view kOld = "model.language_model.";
  for (NamedTensor& each : changed.tensors) {
    if (each.name.starts_with(kOld)) each.name = "model." + each.name.substr(kOld.size());
  }
  KeepTap found("token");
  ModelRun(changed.write(), &found).run(pcm, {});
  EXPECT_FALSE(wanted.bytes.empty());
  EXPECT_EQ(found.bytes, wanted.bytes);
}

TEST(VibeVoiceModel, AFolderWithoutATokenizerAsksForOne) {
  ChangedCheckpoint changed(kSmall);
  changed.remove_file("tokenizer.json");
  std::string message = refusal(Code::kNotFound, changed);
  EXPECT_TRUE(contains(message, "tokenizer.json")) << message;
  EXPECT_TRUE(contains(message, "--tokenizer")) << message;

  // The bundled one belongs to a vocabulary of its own size.
  LoadOptions bundled;
  bundled.fallback_tokenizer = kQwenTokenizer;
  message = refusal(Code::kCorrupt, changed, bundled);
  EXPECT_TRUE(contains(message, kQwenTokenizer)) << message;
  EXPECT_TRUE(contains(message, "151665")) << message;
  EXPECT_TRUE(contains(message, "vocab_size")) << message;
  EXPECT_TRUE(contains(message, "--tokenizer")) << message;
}

TEST(VibeVoiceModel, TheBundledTokenizerIsNotUsedForAMuchLargerVocabulary) {
  ChangedCheckpoint changed(kSmall);
  changed.remove_file("tokenizer.json");
  changed.set("config.json", "decoder_config.vocab_size", "200064");
  LoadOptions bundled;
  bundled.fallback_tokenizer = kQwenTokenizer;
  const std::string message = refusal(Code::kNotFound, changed, bundled);
  EXPECT_TRUE(contains(message, "151665 tokens for vocab_size 200064")) << message;
  EXPECT_TRUE(contains(message, "--tokenizer")) << message;
}

TEST(VibeVoiceModel, TheBundledTokenizerIsUsedWhereTheSizesAgree) {
  LoadOptions bundled;
  bundled.fallback_tokenizer = kQwenTokenizer;
  const std::unique_ptr<Model> model = load_dry(std::string(kGolden) + "orig-qwen-bf16", bundled);
  EXPECT_EQ(model->info().tokenizer, kQwenTokenizer);
  EXPECT_EQ(model->info().tokenizer_size, 151665);
  EXPECT_EQ(model->tokenizer().special("<|box_start|>"), 151648);
}

TEST(VibeVoiceModel, TheFoldersOwnTokenizerGoesBeforeTheBundledOne) {
  LoadOptions bundled;
  bundled.fallback_tokenizer = kQwenTokenizer;
  EXPECT_EQ(load_dry(kNano, bundled)->info().tokenizer, std::string(kNano) + "/tokenizer.json");
}

TEST(VibeVoiceModel, AGivenTokenizerMustFit) {
  LoadOptions given;
  given.tokenizer = kQwenTokenizer;
  std::string message = message_of(Code::kCorrupt, [&] { load_dry(kNano, given); });
  EXPECT_TRUE(contains(message, kQwenTokenizer)) << message;
  EXPECT_TRUE(contains(message, "896")) << message;

  // transformers says which id speech has; another vocabulary has another.
  given.tokenizer = kSmall + "/tokenizer.json";
  message =
      message_of(Code::kCorrupt, [&] { load_dry(std::string(kGolden) + "hf-f32-taps", given); });
  EXPECT_TRUE(contains(message, "audio_token_id is 489")) << message;
  EXPECT_TRUE(contains(message, given.tokenizer)) << message;

  given.tokenizer = "no/such/tokenizer.json";
  message = message_of(Code::kNotFound, [&] { load_dry(kNano, given); });
  EXPECT_TRUE(contains(message, given.tokenizer)) << message;
}

TEST(VibeVoiceModel, InfoSaysWhatTheCheckpointIs) {
  const std::unique_ptr<Model> model = load_dry(std::string(kNano) + "/");
  const ModelInfo& info = model->info();
  EXPECT_EQ(info.family, "vibevoice");
  EXPECT_EQ(info.name, "vibevoice-asr-nano");
  EXPECT_EQ(info.layout, "original");
  EXPECT_EQ(info.sample_rate_hz, 24000);
  EXPECT_EQ(info.audio_tokens_per_s, 7.5);
  EXPECT_EQ(info.max_context, 4096);
  EXPECT_FALSE(info.live);
  EXPECT_EQ(info.kv.layers, 4);
  EXPECT_EQ(info.kv.kv_heads, 2);
  EXPECT_EQ(info.kv.head_dim, 32);
  EXPECT_EQ(info.vocab_size, 896);
  std::int64_t values = 0;
  for (const NamedTensor& each : ChangedCheckpoint(kNano).tensors)
    values += static_cast<std::int64_t>(each.bytes.size()) / raw_type_bytes(each.type);
  EXPECT_EQ(info.parameters, values);
}

TEST(VibeVoiceModel, NeedsCountThePromptTheFramesAndTheAnswer) {
  const std::unique_ptr<Model> model = load_dry(kNano);
  const SessionNeeds second = model->needs({}, 1.0);
  const SessionNeeds tenth = model->needs({}, 10.0);
  // 75 frames for ten seconds, 8 for one, and one digit more to spell.
  EXPECT_GE(tenth.prompt_rows, second.prompt_rows + 67);
  EXPECT_GT(tenth.output_rows, second.output_rows);
  SessionOptions ask;
  ask.max_output_tokens = 7;
  EXPECT_EQ(model->needs(ask, 10.0).output_rows, 7);
  ask.context = "some words about it";
  EXPECT_GT(model->needs(ask, 10.0).prompt_rows, tenth.prompt_rows);
  EXPECT_LE(model->needs({}, 36000.0).output_rows, 32768);
}

// What was reserved is what a session takes.
TEST(VibeVoiceModel, NeedsAreNeverBelowThePrompt) {
  ModelRun run(kNano);
  for (const std::int64_t samples : {1, 3199, 3200, 3201, 23999, 24000, 240000}) {
    SessionOptions ask;
    ask.context = "names";
    ask.max_output_tokens = 1;
    const std::vector<Event> events = run.run(noise_clip(samples), ask);
    EXPECT_LE(transcript_of(events).usage.prompt_tokens,
              run.model().needs(ask, static_cast<double>(samples) / 24000).prompt_rows)
        << samples;
  }
}

}  // namespace
}  // namespace verbatim::vibevoice
