// Loading, and the two passes. Reference: vibevoice/modular/modeling_vibevoice_asr.py.
#include "models/vibevoice/model.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/file.h"
#include "checkpoint/checkpoint.h"
#include "models/vibevoice/prompt.h"
#include "models/vibevoice/session_offline.h"
#include "text/vocabulary_json.h"

namespace verbatim::vibevoice {
namespace {

constexpr std::size_t kTokenizerLimit = std::size_t{64} << 20;

// Tokens that speech can make: ten a second is above the fastest speech with its JSON, and the
// reference stops at 32768.
constexpr double kTokensPerSecond = 10;
constexpr std::int64_t kTokensAtLeast = 512;
constexpr std::int64_t kTokensAtMost = 32768;

std::unique_ptr<Tokenizer> load_tokenizer(const Checkpoint& checkpoint, const Config& config,
                                          const LoadOptions& options, std::string& path) {
  path = options.tokenizer;
  bool bundled = false;
  if (path.empty() && checkpoint.has_file("tokenizer.json"))
    path = checkpoint.path("tokenizer.json");
  if (path.empty()) {
    path = options.fallback_tokenizer;
    bundled = true;
  }
  if (path.empty()) {
    fail(Code::kNotFound, "%s: holds no tokenizer.json; give one with --tokenizer",
         checkpoint.folder().c_str());
  }
  auto made =
      std::make_unique<Tokenizer>(read_tokenizer_json(read_file(path, kTokenizerLimit), path));
  if (made->size() > config.vocab_size) {
    fail(Code::kCorrupt, "%s: %d tokens do not fit the checkpoint's vocab_size %d%s", path.c_str(),
         made->size(), config.vocab_size,
         bundled ? "; the folder holds no tokenizer.json of its own, give one with --tokenizer"
                 : "");
  }
  // The bundled one belongs to Qwen2.5, whose checkpoints pad its 151,665 tokens by a few hundred.
  if (bundled && made->size() + 2048 < config.vocab_size) {
    fail(
        Code::kNotFound,
        "%s: holds no tokenizer.json, and the bundled Qwen2.5 one has %d tokens for vocab_size %d; "
        "give one with --tokenizer",
        checkpoint.folder().c_str(), made->size(), config.vocab_size);
  }
  const std::int32_t slot = made->special("<|box_start|>");
  made->special("<|endoftext|>");
  if (config.audio_token >= 0 && config.audio_token != slot) {
    fail(Code::kCorrupt, "config.json: audio_token_id is %d, %s has <|box_start|> at %d",
         config.audio_token, path.c_str(), slot);
  }
  return made;
}

}  // namespace

VibeVoice::VibeVoice(const Checkpoint& checkpoint, std::span<const Stage> stages,
                     const LoadOptions& options)
    : config_(read_config(checkpoint)) {
  const Names names(checkpoint);
  tokenizer_ = load_tokenizer(checkpoint, config_, options, info_.tokenizer);
  Device& first = *stages.front().device;
  const Binder binder(checkpoint, first, store_, options.bind);
  const Binder encoder = binder.made_into(options.quant.encoder);
  const std::int32_t hidden = config_.decoder.hidden_size;
  acoustic_ = std::make_unique<ConvEncoder>("a", config_.acoustic, names, Which::kAcoustic, encoder,
                                            state_values_);
  semantic_ = std::make_unique<ConvEncoder>("s", config_.semantic, names, Which::kSemantic, encoder,
                                            state_values_);
  acoustic_connector_ = std::make_unique<Connector>("a", names, Which::kAcoustic,
                                                    config_.acoustic.vae_dim, hidden, binder);
  semantic_connector_ = std::make_unique<Connector>("s", names, Which::kSemantic,
                                                    config_.semantic.vae_dim, hidden, binder);
  const Binder lm = binder.at(names.decoder());
  const bool shares_table = names.lm_head().empty() && config_.tie_word_embeddings;
  const bool tied = shares_table && !options.quant.head;
  decoder_.embed_tokens =
      lm.table("embed_tokens", config_.vocab_size, hidden, tied ? Use::kBoth : Use::kTable);
  // Before the layers: a head takes its own size twice while it is read.
  if (tied) {
    decoder_.lm_head.weight = decoder_.embed_tokens;
  } else if (shares_table) {
    decoder_.lm_head =
        lm.made_into(options.quant.head).linear("embed_tokens", config_.vocab_size, hidden);
  } else {
    const std::string head = names.lm_head().empty() ? "lm_head" : names.lm_head();
    decoder_.lm_head =
        binder.made_into(options.quant.head).as_head().linear(head, config_.vocab_size, hidden);
  }
  decoder_.transformer =
      std::make_unique<Transformer>("dec", config_.decoder, lm.made_into(options.quant.decoder),
                                    make_rope_table(config_.decoder.head_dim, config_.rope_theta));
  decoder_.norm = lm.vector("norm.weight", hidden);
  decoder_.rms_norm_eps = config_.decoder.rms_norm_eps;
  binder.ignore(names.ignored());
  binder.finish();
  fill_info(checkpoint, binder);
}

void VibeVoice::fill_info(const Checkpoint& checkpoint, const Binder& binder) {
  const TransformerConfig& decoder = config_.decoder;
  info_.family = "vibevoice";
  info_.name = checkpoint.name();
  info_.layout = config_.layout == Layout::kOriginal ? "original" : "transformers";
  info_.sample_rate_hz = config_.sample_rate_hz;
  info_.audio_tokens_per_s =
      static_cast<double>(config_.sample_rate_hz) / static_cast<double>(config_.acoustic.hop());
  info_.max_context = config_.max_position_embeddings;
  info_.kv = {decoder.num_hidden_layers, decoder.num_key_value_heads, decoder.head_dim};
  info_.parameters = binder.parameters();
  info_.formats = binder.formats();
  info_.vocab_size = config_.vocab_size;
  info_.tokenizer_size = tokenizer_->size();
  const auto size = [&](const char* name, std::int64_t value) {
    info_.sizes.emplace_back(name, std::to_string(value));
  };
  size("hidden_size", decoder.hidden_size);
  size("intermediate_size", decoder.intermediate_size);
  size("num_hidden_layers", decoder.num_hidden_layers);
  size("num_attention_heads", decoder.num_attention_heads);
  size("num_key_value_heads", decoder.num_key_value_heads);
  size("head_dim", decoder.head_dim);
  size("vocab_size", config_.vocab_size);
  size("acoustic_vae_dim", config_.acoustic.vae_dim);
  size("semantic_vae_dim", config_.semantic.vae_dim);
  size("encoder_n_filters", config_.acoustic.n_filters);
  size("frame_samples", config_.acoustic.hop());
}

SessionNeeds VibeVoice::needs(const SessionOptions& options, double audio_s) const {
  for (const auto& [flag, is_given] : {std::pair("--delay-ms", options.delay_ms != 0),
                                       std::pair("--eos stop", options.stop_at_eos)}) {
    if (is_given)
      fail(Code::kInvalidArgument, "%s: VibeVoice has no such choice, Voxtral Realtime has", flag);
  }
  // A header may promise any length; this one fits no context.
  const double seconds = std::clamp(audio_s, 0.0, 1e9);
  const auto samples = static_cast<std::int64_t>(std::ceil(seconds * config_.sample_rate_hz));
  const std::int64_t frames = (samples + config_.acoustic.hop() - 1) / config_.acoustic.hop();
  const Prompt prompt = make_prompt(*tokenizer_, context_text(options, config_.layout),
                                    duration_text(samples, config_.sample_rate_hz));
  SessionNeeds needs;
  // One digit more than the estimate's duration may come.
  needs.prompt_rows =
      static_cast<std::int64_t>(prompt.before.size() + prompt.after.size()) + frames + 1;
  needs.output_rows =
      options.max_output_tokens > 0
          ? options.max_output_tokens
          : std::min(kTokensAtMost,
                     kTokensAtLeast + static_cast<std::int64_t>(seconds * kTokensPerSecond));
  return needs;
}

std::vector<std::unique_ptr<ConvState>> VibeVoice::conv_states(Device& dev) const {
  std::vector<std::unique_ptr<ConvState>> states;
  states.push_back(make_conv_state(dev, state_values_));
  return states;
}

std::unique_ptr<Session> VibeVoice::open(const SessionOptions& options, SlotResources& slot,
                                         const Trace& trace) const {
  return std::make_unique<OfflineSession>(config_, *tokenizer_, options, slot, trace);
}

std::int64_t VibeVoice::encode_rows(double audio_s) const {
  const std::int64_t hop = config_.acoustic.hop();
  return std::max<std::int64_t>(1,
                                static_cast<std::int64_t>(audio_s * config_.sample_rate_hz) / hop) *
         hop;
}

void VibeVoice::encode(Device& dev, EncodeBatch& batch, const Trace& trace) const {
  const Spans spans = dev.spans(batch.spans());
  const Tensor pcm = batch.upload(dev);
  const Tensor mean_a = acoustic_->forward(dev, pcm, spans, trace);
  const Tensor mean_s = semantic_->forward(dev, pcm, spans, trace);
  const Spans frames = dev.strided(spans, config_.acoustic.hop());
  for (std::size_t i = 0; i < batch.items().size(); ++i) {
    const Tensor& noise = batch.items()[i].noise;
    if (noise.empty()) continue;
    const Span& span = frames.host[i];
    const ArenaScope scratch(dev.arena());
    const Tensor here = dev.arena().take(span.rows, mean_a.cols, DType::kF32);
    dev.upload(here,
               {noise.data, static_cast<std::size_t>(noise.rows * noise.cols) * sizeof(float)});
    dev.add(mean_a.slice(span.first_row, span.rows), here);
  }
  const Trace here = trace.on(dev, frames);
  const Tensor from_acoustic = acoustic_connector_->forward(dev, mean_a, {}, here);
  const Tensor speech = semantic_connector_->forward(dev, mean_s, from_acoustic, here);
  here("speech", speech);
  batch.answer(speech, frames);
}

void VibeVoice::decode(std::span<const Stage> stages, DecodeBatch& batch,
                       const Trace& trace) const {
  decoder_.decode(stages, batch, trace);
}

namespace {

std::unique_ptr<Model> load(const Checkpoint& checkpoint, std::span<const Stage> stages,
                            const LoadOptions& options) {
  return std::make_unique<VibeVoice>(checkpoint, stages, options);
}

}  // namespace
}  // namespace verbatim::vibevoice

namespace verbatim {

extern const Family kVibeVoice;
const Family kVibeVoice{"vibevoice", "model_type \"vibevoice\" or \"vibevoice_asr\"",
                        vibevoice::recognise, vibevoice::load};

}  // namespace verbatim
