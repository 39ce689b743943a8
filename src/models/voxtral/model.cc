// Loading, and the two passes. Reference: transformers modular_voxtral_realtime.py.
#include "models/voxtral/model.h"

#include <algorithm>
#include <cmath>

#include "base/file.h"
#include "checkpoint/checkpoint.h"
#include "kv/pool.h"
#include "models/voxtral/conditioning.h"
#include "models/voxtral/session.h"

namespace verbatim::voxtral {
namespace {

constexpr std::size_t kTokenizerLimit = std::size_t{128} << 20;
constexpr std::int32_t kKernel = 3;            // of both convolutions of the stem
constexpr std::int32_t kMostDelayTokens = 30;  // 2400 ms, the longest delay the model was made for
constexpr std::int64_t kLengthSlackTokens = 16;  // a header's length may be a little off

// The id of a special token by its name, or the customary one where the file has no such name.
std::int32_t special_or(const Tokenizer& tokenizer, std::string_view name, std::int32_t customary) {
  for (std::int32_t id = 0; id < tokenizer.size() && tokenizer.is_special(id); ++id)
    if (tokenizer.bytes(id) == name) return id;
  return customary;
}

void check_equal(const std::string& tekken, const char* field, double found, double expected) {
  if (std::abs(found - expected) <= 1e-6 * std::abs(expected)) return;
  fail(Code::kCorrupt, "%s: audio.%s is %g, the checkpoint's config has %g", tekken.c_str(), field,
       found, expected);
}

std::unique_ptr<Tekken> load_tekken(const Checkpoint& checkpoint, const Config& config,
                                    const std::string& path) {
  if (!checkpoint.has_file("tekken.json") && path == checkpoint.path("tekken.json")) {
    fail(Code::kNotFound, "%s: holds no tekken.json; give one with --tokenizer",
         checkpoint.folder().c_str());
  }
  auto made = std::make_unique<Tekken>(
      read_tekken_json(read_file(path, kTokenizerLimit), path, config.vocab_size));
  const TekkenAudio& audio = made->audio;
  check_equal(path, "sampling_rate", audio.sampling_rate, config.mel.sampling_rate);
  check_equal(path, "frame_rate", audio.frame_rate, 1 / config.token_s());
  check_equal(path, "audio_encoding_config.num_mel_bins", audio.num_mel_bins,
              config.mel.num_mel_bins);
  check_equal(path, "audio_encoding_config.hop_length", audio.hop_length, config.mel.hop_length);
  check_equal(path, "audio_encoding_config.window_size", audio.window_size, config.mel.window_size);
  return made;
}

Schedule schedule_of(const Config& config, const Tekken& tekken) {
  const Tokenizer& tokenizer = tekken.tokenizer;
  Schedule made;
  made.bos = special_or(tokenizer, "<s>", made.bos);
  made.eos = special_or(tokenizer, "</s>", made.eos);
  made.pad = special_or(tokenizer, "[STREAMING_PAD]", made.pad);
  made.word = special_or(tokenizer, "[STREAMING_WORD]", made.word);
  made.first_text = 0;
  while (made.first_text < tokenizer.size() && tokenizer.is_special(made.first_text))
    ++made.first_text;
  made.left_pad = tekken.audio.streaming_n_left_pad_tokens;
  made.token_samples = config.token_samples();
  made.token_s = config.token_s();
  made.delay = config.default_num_delay_tokens;
  if (tekken.audio.transcription_delay_ms > 0) {
    made.delay = static_cast<std::int32_t>(
        std::lround(tekken.audio.transcription_delay_ms / 1000 / made.token_s));
  }
  return made;
}

void refuse(bool is_given, const char* flag) {
  if (is_given) {
    fail(Code::kInvalidArgument,
         "%s: Voxtral Realtime hears audio alone and has no such choice, VibeVoice has", flag);
  }
}

void check_options(const SessionOptions& options) {
  refuse(!options.context.empty(), "--context");
  refuse(!options.hotwords.empty(), "--hotwords");
  refuse(options.acoustic_sampling != AcousticSampling::kMode, "--acoustic-sampling");
  refuse(options.tail != Tail::kAsLayout, "--tail");
}

}  // namespace

Voxtral::Voxtral(const Checkpoint& checkpoint, std::span<const Stage> stages,
                 const LoadOptions& options)
    : config_(read_config(checkpoint)) {
  info_.tokenizer = options.tokenizer.empty() ? checkpoint.path("tekken.json") : options.tokenizer;
  tekken_ = load_tekken(checkpoint, config_, info_.tokenizer);
  schedule_ = schedule_of(config_, *tekken_);
  const Names names = names_of(checkpoint, config_);
  const Binder binder(checkpoint, *stages.front().device, store_, options.bind);
  load_encoder(names, binder.made_into(options.quant.encoder));
  load_decoder(names, binder, options.quant);
  if (!names.ignored.empty()) binder.ignore(names.ignored);
  binder.finish();
  fill_info(checkpoint, binder);
}

void Voxtral::load_encoder(const Names& names, const Binder& binder) {
  const std::int32_t width = config_.encoder.hidden_size;
  const std::int32_t hidden = config_.decoder.hidden_size;
  const bool interleaved = config_.layout == Layout::kMistral;
  conv1_ = binder.conv(names.conv1, width, config_.mel.num_mel_bins, kKernel, 1, 1, state_values_);
  conv2_ = binder.conv(names.conv2, width, width, kKernel, Config::kStemStride, 1, state_values_);
  encoder_ = std::make_unique<Transformer>(
      "enc", config_.encoder, binder.at(names.encoder),
      make_rope_table(config_.encoder.head_dim, config_.encoder_rope_theta, interleaved),
      names.encoder_layer);
  encoder_norm_ = binder.at(names.encoder_norm).vector("weight", width);
  linear1_ = binder.linear(names.linear1, hidden, width * config_.downsample_factor);
  linear2_ = binder.linear(names.linear2, hidden, hidden);
}

void Voxtral::load_decoder(const Names& names, const Binder& binder, const Quantization& quant) {
  const std::int32_t hidden = config_.decoder.hidden_size;
  const std::int32_t inner = config_.ada_rms_norm_t_cond_dim;
  const std::int32_t conditions = std::max(kMostDelayTokens, schedule_.delay);
  std::vector<std::vector<float>> embeddings;
  for (std::int32_t d = 1; d <= conditions; ++d) embeddings.push_back(time_embedding(d, hidden));
  // Only ExecuTorch's schemes quantise this network, so only their rounding reaches it.
  const bool rounds = quant.decoder && quant.decoder.recipe->reach == Reach::kLinears;
  const Activations activations =
      rounds ? quant.decoder.recipe->format->activations : Activations::kFloat;
  const auto conditioning = [&](const Binder& layer) {
    const std::vector<float> down = layer.linear_values(names.ada1, inner, hidden);
    const std::vector<float> up = layer.linear_values(names.ada2, hidden, inner);
    std::vector<float> scales;
    for (const std::vector<float>& embedding : embeddings) {
      const std::vector<float> scale = delay_scale(embedding, down, up, activations);
      scales.insert(scales.end(), scale.begin(), scale.end());
    }
    scales_.push_back(scales);
    return scales;
  };
  const bool shares_table = names.lm_head.empty();
  const bool tied = shares_table && !quant.head;
  const Binder layers = binder.made_into(quant.decoder);
  decoder_.embed_tokens =
      binder.table(names.embed_tokens, config_.vocab_size, hidden, tied ? Use::kBoth : Use::kTable);
  // Before the layers: a head takes its own size twice while it is read.
  if (tied) {
    decoder_.lm_head.weight = decoder_.embed_tokens;
  } else {
    const std::string& head = shares_table ? names.embed_tokens : names.lm_head;
    decoder_.lm_head =
        binder.made_into(quant.head).as_head().linear(head, config_.vocab_size, hidden);
  }
  decoder_.transformer = std::make_unique<Transformer>(
      "dec", config_.decoder, names.decoder.empty() ? layers : layers.at(names.decoder),
      make_rope_table(config_.decoder.head_dim, config_.rope_theta,
                      config_.layout == Layout::kMistral),
      names.decoder_layer, conditioning);
  decoder_.norm = binder.at(names.norm).vector("weight", hidden);
  decoder_.rms_norm_eps = config_.decoder.rms_norm_eps;
}

void Voxtral::fill_info(const Checkpoint& checkpoint, const Binder& binder) {
  const TransformerConfig& encoder = config_.encoder;
  const TransformerConfig& decoder = config_.decoder;
  info_.family = "voxtral";
  info_.name = checkpoint.name();
  info_.layout = config_.layout == Layout::kMistral ? "mistral" : "transformers";
  info_.sample_rate_hz = config_.mel.sampling_rate;
  info_.audio_tokens_per_s = 1 / config_.token_s();
  info_.live = true;
  info_.max_context = config_.model_max_length;
  info_.kv = {decoder.num_hidden_layers, decoder.num_key_value_heads, decoder.head_dim};
  info_.window = decoder.sliding_window;
  info_.encoder_kv = {encoder.num_hidden_layers, encoder.num_key_value_heads, encoder.head_dim};
  info_.parameters = binder.parameters();
  info_.formats = binder.formats();
  info_.vocab_size = config_.vocab_size;
  info_.tokenizer_size = tekken_->tokenizer.size();
  const auto size = [&](const char* name, std::int64_t value) {
    info_.sizes.emplace_back(name, std::to_string(value));
  };
  size("hidden_size", decoder.hidden_size);
  size("intermediate_size", decoder.intermediate_size);
  size("num_hidden_layers", decoder.num_hidden_layers);
  size("num_attention_heads", decoder.num_attention_heads);
  size("num_key_value_heads", decoder.num_key_value_heads);
  size("head_dim", decoder.head_dim);
  size("sliding_window", decoder.sliding_window);
  size("vocab_size", config_.vocab_size);
  size("encoder_hidden_size", encoder.hidden_size);
  size("encoder_intermediate_size", encoder.intermediate_size);
  size("encoder_num_hidden_layers", encoder.num_hidden_layers);
  size("encoder_num_attention_heads", encoder.num_attention_heads);
  size("encoder_head_dim", encoder.head_dim);
  size("encoder_sliding_window", encoder.sliding_window);
  size("downsample_factor", config_.downsample_factor);
  size("delay_ms", std::lround(schedule_.delay * 1000 * schedule_.token_s));
}

std::int32_t Voxtral::delay_tokens(const SessionOptions& options) const {
  if (options.delay_ms == 0) return schedule_.delay;
  const double tokens = options.delay_ms / 1000.0 / schedule_.token_s;
  const auto whole = static_cast<std::int32_t>(std::lround(tokens));
  if (whole >= 1 && whole <= kMostDelayTokens && std::abs(tokens - whole) < 1e-6) return whole;
  std::string allowed;
  for (std::int32_t d = 1; d <= kMostDelayTokens; ++d)
    append_listed(allowed, std::to_string(std::lround(d * 1000 * schedule_.token_s)));
  fail(Code::kInvalidArgument, "--delay-ms: expected one of %s, found %d", allowed.c_str(),
       options.delay_ms);
}

SessionNeeds Voxtral::needs(const SessionOptions& options, double audio_s) const {
  check_options(options);
  Schedule schedule = schedule_;
  schedule.delay = delay_tokens(options);
  const double seconds = std::clamp(audio_s, 0.0, 1e9);
  const auto samples = static_cast<std::int64_t>(std::ceil(seconds * config_.mel.sampling_rate));
  SessionNeeds needs;
  needs.prompt_rows = schedule.prompt_rows();
  needs.output_rows = schedule.tokens(samples) + kLengthSlackTokens - needs.prompt_rows;
  return needs;
}

std::vector<std::unique_ptr<ConvState>> Voxtral::conv_states(Device& dev) const {
  std::vector<std::unique_ptr<ConvState>> states;
  states.push_back(make_conv_state(dev, state_values_));
  return states;
}

std::unique_ptr<Session> Voxtral::open(const SessionOptions& options, SlotResources& slot,
                                       const Trace& trace) const {
  check_options(options);
  Schedule schedule = schedule_;
  schedule.delay = delay_tokens(options);
  const std::int32_t condition = schedule.delay - 1;
  if (trace.listens()) {
    const std::int32_t hidden = config_.decoder.hidden_size;
    trace.host("t_cond", host_rows(time_embedding(schedule.delay, hidden), 1), 0);
    for (std::size_t i = 0; i < scales_.size(); ++i) {
      const auto scale =
          std::span(scales_[i])
              .subspan(static_cast<std::size_t>(condition) * static_cast<std::size_t>(hidden),
                       static_cast<std::size_t>(hidden));
      trace.host(formatted("scale.%zu", i).c_str(), host_rows(scale, 1), 0);
    }
  }
  return std::make_unique<VoxtralSession>(config_, schedule, condition, tekken_->tokenizer, options,
                                          slot, trace);
}

std::int64_t Voxtral::encode_rows(double audio_s) const {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(audio_s / config_.token_s())) *
         config_.token_mel_frames();
}

std::int64_t Voxtral::encoder_positions(std::int64_t rows) const {
  return config_.encoder.sliding_window + rows / Config::kStemStride;
}

void Voxtral::encode(Device& dev, EncodeBatch& batch, const Trace& trace) const {
  const Spans rows = dev.spans(batch.spans());
  const Tensor mel = batch.upload(dev);
  const Trace stem = trace.at("stem");
  const Tensor c1 = dev.conv1d(mel, rows, conv1_, {.activation = Activation::kGelu});
  stem.on(dev, rows)("c1", c1);
  const Spans frames = dev.strided(rows, Config::kStemStride);
  Tensor x = dev.conv1d(c1, rows, conv2_, {.activation = Activation::kGelu});
  stem.on(dev, frames)("out", x);

  const Stage stage{&dev, 0, config_.encoder.num_hidden_layers};
  x = encoder_->forward(std::span<const Stage>(&stage, 1), x, frames.host, trace);
  const Tensor norm = dev.rms_norm(x, encoder_norm_, config_.encoder.rms_norm_eps);
  const Trace enc = trace.at("enc");
  enc.on(dev, frames)("norm", norm);
  for (const Span& span : frames.host) span.kv->advance(span.rows);

  // A token's frames lie side by side as they are.
  const Tensor in = norm.joined(config_.downsample_factor);
  const Spans tokens = dev.strided(rows, config_.token_mel_frames());
  const Trace proj = trace.at("proj");
  const Trace here = proj.on(dev, tokens);
  here("in", in);
  const Tensor h = dev.linear(in, linear1_, {.activation = Activation::kGelu});
  here("h", h);
  const Tensor out = dev.linear(h, linear2_);
  here("out", out);
  batch.answer(out, tokens);
}

void Voxtral::decode(std::span<const Stage> stages, DecodeBatch& batch, const Trace& trace) const {
  decoder_.decode(stages, batch, trace);
}

namespace {

std::unique_ptr<Model> load(const Checkpoint& checkpoint, std::span<const Stage> stages,
                            const LoadOptions& options) {
  return std::make_unique<Voxtral>(checkpoint, stages, options);
}

}  // namespace
}  // namespace verbatim::voxtral

namespace verbatim {

extern const Family kVoxtral;
const Family kVoxtral{"voxtral",
                      "model_type \"voxtral_realtime\"; in params.json ada_rms_norm_t_cond and "
                      "encoder_args.causal true",
                      voxtral::recognise, voxtral::load};

}  // namespace verbatim
