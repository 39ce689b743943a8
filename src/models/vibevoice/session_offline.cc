// Collect, then encode and prefill in turns, then decode.
#include "models/vibevoice/session_offline.h"

#include <algorithm>
#include <cstring>

#include "kv/pool.h"

namespace verbatim::vibevoice {
namespace {

constexpr std::size_t kPcmInMemory = std::size_t{1} << 20;
constexpr std::int64_t kPrefillRows = 256;       // fewer wait for more, unless no more will come
constexpr std::int64_t kEncodeAheadRows = 1024;  // frames that may wait for the prompt

std::string limit_message(std::int64_t limit) {
  return formatted("decoding stopped at the limit of %lld tokens; the transcript may end early",
                   static_cast<long long>(limit));
}

}  // namespace

OfflineSession::OfflineSession(const Config& config, const Tokenizer& tokenizer,
                               const SessionOptions& options, SlotResources& slot,
                               const Trace& trace)
    : config_(config),
      tokenizer_(tokenizer),
      options_(options),
      slot_(slot),
      trace_(trace),
      pads_waveform_(options.tail == Tail::kHf ||
                     (options.tail == Tail::kAsLayout && config.layout == Layout::kTransformers)),
      pcm_(kPcmInMemory, slot.spool_folder),
      speech_(config.sample_rate_hz),
      random_(options.seed),
      end_token_(tokenizer.special("<|endoftext|>")),
      transcriber_(tokenizer) {
  if (options.temperature > 0) {
    sampler_ = std::make_unique<Sampler>(options.temperature, options.top_p, options.seed);
  }
  // Reference: modular_vibevoice_tokenizer.py, VibeVoiceTokenizerEncoderOutput.sample. The wide
  // draw has one signed width a clip, drawn before the noise.
  if (options.acoustic_sampling == AcousticSampling::kFix) noise_width_ = config.acoustic.fix_std;
  if (options.acoustic_sampling == AcousticSampling::kGaussian) {
    noise_width_ = static_cast<float>(random_.normal()) * (config.acoustic.fix_std / 0.8F);
  }
}

void OfflineSession::push(std::span<const float> pcm) {
  pcm_.append(std::as_bytes(pcm));
  loudness_.push(pcm);
  speech_.push(pcm);
  samples_ += static_cast<std::int64_t>(pcm.size());
}

void OfflineSession::finish() {
  if (phase_ != Phase::kCollect) return;
  if (samples_ == 0) fail(Code::kInvalidArgument, "the recording holds no audio");
  speech_.finish();
  if (config_.normalize_audio) gain_ = loudness_.gain();
  prompt_ = make_prompt(tokenizer_, context_text(options_, config_.layout),
                        duration_text(samples_, config_.sample_rate_hz));
  const std::int64_t rows =
      static_cast<std::int64_t>(prompt_.before.size() + prompt_.after.size()) + frames();
  output_limit_ = slot_.max_positions - rows;
  if (options_.max_output_tokens > 0)
    output_limit_ = std::min(output_limit_, options_.max_output_tokens);
  if (output_limit_ <= 0) {
    fail(Code::kExhausted, "%.2f s of audio need %lld positions of context, and %lld are there",
         static_cast<double>(samples_) / config_.sample_rate_hz, static_cast<long long>(rows),
         static_cast<long long>(slot_.max_positions));
  }
  phase_ = Phase::kPrompt;
  report_encoded();
}

void OfflineSession::stop() {
  if (phase_ == Phase::kDone) return;
  end("interrupted", "the transcription was interrupted; it holds what was recognised until then");
}

std::int64_t OfflineSession::frames() const {
  return (samples_ + config_.acoustic.hop() - 1) / config_.acoustic.hop();
}

void OfflineSession::make_noise(std::int64_t frames) {
  noise_.clear();
  if (options_.acoustic_sampling == AcousticSampling::kMode) return;
  noise_.resize(static_cast<std::size_t>(frames * config_.acoustic.vae_dim));
  for (float& value : noise_) value = noise_width_ * static_cast<float>(random_.normal());
}

void OfflineSession::plan(EncodeBatch& batch) {
  encode_ticket_ = -1;
  const std::int64_t hop = config_.acoustic.hop();
  const std::int64_t left = frames() - encoded_frames_;
  const std::int64_t waiting = encoded_frames_ - speech_first_;
  if (phase_ != Phase::kPrompt || left == 0 || waiting >= kEncodeAheadRows) return;
  const double frame_s = static_cast<double>(hop) / config_.sample_rate_hz;
  const auto room = static_cast<std::int64_t>(batch.room_s() / frame_s);
  const std::int64_t count = std::min({std::max<std::int64_t>(room, 1), left, kEncodeAheadRows});

  const std::int64_t real = std::min(count * hop, samples_ - encoded_samples_);
  const bool last = count == left;
  block_.assign(static_cast<std::size_t>(pads_waveform_ ? count * hop : real), 0.0F);
  pcm_.read(static_cast<std::uint64_t>(encoded_samples_) * sizeof(float),
            std::as_writable_bytes(std::span(block_))
                .first(static_cast<std::size_t>(real) * sizeof(float)));
  for (float& sample : block_) sample = gain_(sample);
  const Tensor rows = host_rows(block_, static_cast<std::int64_t>(block_.size()));
  trace_.host("pcm", rows.slice(0, real), encoded_samples_);
  make_noise(count);
  const Tensor noise = noise_.empty() ? Tensor{} : host_rows(noise_, count);
  encode_ticket_ = batch.add({.rows = rows,
                              .audio_s = static_cast<double>(count) * frame_s,
                              .position = encoded_samples_,
                              .last = last,
                              .conv = slot_.conv[0].get(),
                              .noise = noise});
  encoded_samples_ += real;
}

void OfflineSession::take(const EncodeBatch& batch) {
  if (encode_ticket_ < 0 || phase_ != Phase::kPrompt) return;
  const Tensor audio = batch.audio(encode_ticket_);
  encode_ticket_ = -1;
  const auto width = static_cast<std::size_t>(audio.cols);
  const std::size_t old = speech_rows_.size();
  speech_rows_.resize(old + static_cast<std::size_t>(audio.rows) * width);
  for (std::int64_t r = 0; r < audio.rows; ++r) {
    std::memcpy(speech_rows_.data() + old + static_cast<std::size_t>(r) * width,
                audio.row<float>(r).data(), width * sizeof(float));
  }
  encoded_frames_ += audio.rows;
  report_encoded();
}

void OfflineSession::report_encoded() {
  const double total = static_cast<double>(samples_) / config_.sample_rate_hz;
  const double done =
      static_cast<double>(encoded_frames_) * config_.acoustic.hop() / config_.sample_rate_hz;
  post(
      Progress{encoded_frames_ < frames() ? "encode" : "prefill", std::min(done, total), total, 0});
}

std::int64_t OfflineSession::known_rows() const {
  const auto before = static_cast<std::int64_t>(prompt_.before.size());
  if (encoded_frames_ < frames()) return before + encoded_frames_;
  return before + encoded_frames_ + static_cast<std::int64_t>(prompt_.after.size());
}

RowInput OfflineSession::prompt_row(std::int64_t row) const {
  const auto before = static_cast<std::int64_t>(prompt_.before.size());
  RowInput made;
  if (row < before) {
    made.token = prompt_.before[static_cast<std::size_t>(row)];
  } else if (row < before + frames()) {
    const std::int64_t width = config_.decoder.hidden_size;
    const std::int64_t at = (row - before - speech_first_) * width;
    made.audio =
        host_rows(std::span(speech_rows_)
                      .subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(width)),
                  1);
  } else {
    made.token = prompt_.after[static_cast<std::size_t>(row - before - frames())];
  }
  return made;
}

void OfflineSession::plan(DecodeBatch& batch) {
  decode_ticket_ = -1;
  if (phase_ != Phase::kPrompt && phase_ != Phase::kDecode) return;
  KvSequence& kv = *slot_.kv[0];
  const Want want = sampler_ != nullptr ? Want::kLogits : Want::kToken;
  rows_.clear();
  if (phase_ == Phase::kDecode) {
    rows_.push_back({next_token_, {}});
    planned_rows_ = 1;
    check(kv.reserve(kv.length() + 1), "the slot's pages were taken at admission");
    decode_ticket_ = batch.add(kv, rows_, kv.length(), want, 0, "step");
    return;
  }
  const std::int64_t ready = known_rows() - prefilled_;
  const bool complete = encoded_frames_ == frames();
  if (ready == 0 || batch.room() <= 0 || (!complete && ready < kPrefillRows)) return;
  planned_rows_ = std::min<std::int64_t>(ready, batch.room());
  for (std::int64_t i = 0; i < planned_rows_; ++i) rows_.push_back(prompt_row(prefilled_ + i));
  const bool last = complete && planned_rows_ == ready;
  check(kv.reserve(kv.length() + planned_rows_), "the slot's pages were taken at admission");
  decode_ticket_ = batch.add(kv, rows_, prefilled_, last ? want : Want::kNothing);
}

void OfflineSession::take(const DecodeBatch& batch) {
  if (decode_ticket_ < 0 || phase_ == Phase::kDone) return;
  const int ticket = decode_ticket_;
  decode_ticket_ = -1;
  if (phase_ == Phase::kPrompt) {
    prefilled_ += planned_rows_;
    // Speech rows that are in the cache are not needed again.
    const std::int64_t passed =
        std::clamp<std::int64_t>(prefilled_ - static_cast<std::int64_t>(prompt_.before.size()),
                                 speech_first_, encoded_frames_);
    const auto drop =
        static_cast<std::size_t>((passed - speech_first_) * config_.decoder.hidden_size);
    speech_rows_.erase(speech_rows_.begin(),
                       speech_rows_.begin() + static_cast<std::ptrdiff_t>(drop));
    speech_first_ = passed;
    if (encoded_frames_ < frames() || prefilled_ < known_rows()) return;
    phase_ = Phase::kDecode;
    speech_rows_ = {};
    rows_.reserve(1);
  }
  decided(sampler_ != nullptr ? sampler_->draw(batch.logits(ticket)) : batch.token(ticket));
}

void OfflineSession::decided(std::int32_t token) {
  const auto at = static_cast<std::int64_t>(transcriber_.tokens().size());
  trace_.host("token", host_rows(std::span(&token, 1)), at);
  const double total = static_cast<double>(samples_) / config_.sample_rate_hz;
  for (Segment& segment : transcriber_.push(token)) {
    segment.start_s = std::clamp(segment.start_s, 0.0, total);
    segment.end_s = std::clamp(segment.end_s, segment.start_s, total);
    const double done = segment.end_s;
    post(SegmentDone{std::move(segment)});
    post(Progress{"decode", done, total, at + 1});
  }
  if (token == end_token_) return end("", "");
  if (transcriber_.is_looping()) {
    return end("loop", "the model began to repeat itself; decoding ended there");
  }
  if (at + 1 >= output_limit_) return end("truncated", limit_message(output_limit_));
  next_token_ = token;
}

void OfflineSession::end(const char* code, const std::string& message) {
  const double total = static_cast<double>(samples_) / config_.sample_rate_hz;
  std::vector<Warning> warnings;
  // An interrupted recording says nothing about what was not listened to yet.
  const bool interrupted = std::string_view(code) == "interrupted";
  if (code[0] != '\0') warnings.push_back({code, message, 0, total});
  Transcript transcript =
      transcriber_.finish(total, interrupted ? std::vector<Interval>{} : speech_.take(),
                          std::move(warnings), code[0] == '\0');
  transcript.language = options_.language;
  transcript.usage.prompt_tokens = prefilled_;
  for (const Warning& warning : transcript.warnings) post(warning);
  phase_ = Phase::kDone;
  post(Done{std::move(transcript)});
}

}  // namespace verbatim::vibevoice
