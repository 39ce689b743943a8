// Encode ahead in large pieces when the audio is there, one token at a time when it is not; the
// decoder takes its prompt in few passes and then one row a tick.
// Reference: transformers modular_voxtral_realtime.py, generate and the streaming processor.
#include "models/voxtral/session.h"

#include <algorithm>
#include <cstring>

#include "kv/pool.h"

namespace verbatim::voxtral {
namespace {

// Fewer rows of a prompt wait for more, unless they are its last.
constexpr std::int64_t kPrefillRows = 16;
// A restart hears this much before the stretch, so that its first word is whole; never more than
// the delay, behind which the last text was decided.
constexpr std::int64_t kLeadTokens = 4;
// How much of the audio behind the decoder a restart may go back, as a multiple of the guard's
// patience.
constexpr double kKept = 4;
// Rows behind the decoder are forgotten so many at a time.
constexpr std::int64_t kForgetRows = 64;

}  // namespace

VoxtralSession::VoxtralSession(const Config& config, const Schedule& schedule,
                               std::int32_t condition, const Tokenizer& tokenizer,
                               const SessionOptions& options, SlotResources& slot,
                               const Trace& trace)
    : config_(config),
      schedule_(schedule),
      condition_(condition),
      options_(options),
      slot_(slot),
      trace_(trace),
      front_(config, schedule),
      emission_(tokenizer, {schedule.pad, schedule.word, schedule.first_text}, schedule.token_s),
      guard_(options.blank_rut_s, schedule.token_s),
      kept_rows_(static_cast<std::int64_t>(kKept * options.blank_rut_s / schedule.token_s)) {
  if (options.temperature > 0)
    sampler_ = std::make_unique<Sampler>(options.temperature, options.top_p, options.seed);
}

double VoxtralSession::audio_s() const {
  return static_cast<double>(front_.samples()) / config_.mel.sampling_rate;
}

double VoxtralSession::clipped_s(std::int64_t tokens) const {
  return std::clamp(static_cast<double>(tokens) * schedule_.token_s, 0.0, audio_s());
}

void VoxtralSession::plan(EncodeBatch& batch) {
  encode_ticket_ = -1;
  if (is_done_) return;
  front_.advance(trace_);
  const std::int64_t there = front_.tokens();
  const std::int64_t wanted =
      std::max<std::int64_t>(1, schedule_.prompt_rows() - position_);  // rows of the next pass
  if (there == 0 || waiting_rows() >= wanted) return;
  const auto room = static_cast<std::int64_t>(batch.room_s() / schedule_.token_s);
  planned_tokens_ = std::min(there, std::max<std::int64_t>(1, room));
  const std::int64_t frames = planned_tokens_ * config_.downsample_factor;
  KvSequence& kv = *slot_.kv[1];
  kv.drop_before(kv.length() - config_.encoder.sliding_window + 1);
  check(kv.reserve(kv.length() + frames), "the slot's encoder pages were taken at admission");
  const std::int64_t rows = planned_tokens_ * config_.token_mel_frames();
  encode_ticket_ = batch.add({.rows = host_rows(front_.rows(planned_tokens_), rows),
                              .audio_s = static_cast<double>(planned_tokens_) * schedule_.token_s,
                              .position = encoded_tokens_ * config_.token_mel_frames(),
                              .conv = slot_.conv[0].get(),
                              .kv = &kv});
}

void VoxtralSession::take(const EncodeBatch& batch) {
  if (encode_ticket_ < 0 || is_done_) return;
  const Tensor audio = batch.audio(encode_ticket_);
  encode_ticket_ = -1;
  const auto width = static_cast<std::size_t>(audio.cols);
  for (std::int64_t r = 0; r < audio.rows; ++r) {
    const std::span<const float> row = audio.row<const float>(r);
    audio_.insert(audio_.end(), row.begin(), row.end());
    if (silence_.size() < static_cast<std::size_t>(schedule_.left_pad) * width)
      silence_.insert(silence_.end(), row.begin(), row.end());
  }
  audio_count_ += audio.rows;
  encoded_tokens_ += planned_tokens_;
  front_.drop(planned_tokens_);
}

Tensor VoxtralSession::audio_row(std::int64_t row) const {
  // Behind a restart the silence comes first again.
  const bool is_silence = base_ > 0 && row - base_ < schedule_.left_pad;
  const std::vector<float>& from = is_silence ? silence_ : audio_;
  const std::int64_t index = is_silence ? row - base_ : row - audio_first_;
  const auto width = static_cast<std::size_t>(audio_width());
  return host_rows(std::span(from).subspan(static_cast<std::size_t>(index) * width, width), 1);
}

void VoxtralSession::plan(DecodeBatch& batch) {
  decode_ticket_ = -1;
  if (is_done_) return;
  const std::int64_t prompt_left = schedule_.prompt_rows() - position_;
  const std::int64_t there = waiting_rows();
  std::int64_t count = 1;
  if (prompt_left > 0) {
    if (there < std::min(prompt_left, kPrefillRows)) return;
    count = std::min<std::int64_t>({there, prompt_left, batch.room()});
  }
  if (there < count || count <= 0) return;
  rows_.clear();
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t p = position_ + i;
    RowInput row;
    row.token = p == 0 ? schedule_.bos : prompt_left > 0 ? schedule_.pad : next_token_;
    row.audio = audio_row(base_ + p);
    rows_.push_back(row);
  }
  is_deciding_ = prompt_left <= count;
  Want want = Want::kNothing;
  if (is_deciding_) want = sampler_ != nullptr ? Want::kLogits : Want::kToken;
  KvSequence& kv = *slot_.kv[0];
  kv.drop_before(position_ - config_.decoder.sliding_window + 1);
  if (!kv.reserve(position_ + count)) {
    fail(Code::kExhausted, "the audio is longer than the %lld positions that were reserved for it",
         static_cast<long long>(slot_.max_positions));
  }
  decode_ticket_ = batch.add(kv, rows_, position_, want, condition_);
}

void VoxtralSession::take(const DecodeBatch& batch) {
  if (decode_ticket_ < 0 || is_done_) return;
  const int ticket = decode_ticket_;
  decode_ticket_ = -1;
  position_ += static_cast<std::int64_t>(rows_.size());
  forget_audio();
  if (!is_deciding_) return;
  decided(sampler_ != nullptr ? sampler_->draw(batch.logits(ticket)) : batch.token(ticket));
}

void VoxtralSession::forget_audio() {
  const std::int64_t passed = next_row() - kept_rows_ - audio_first_;
  if (passed < kForgetRows) return;
  audio_.erase(audio_.begin(),
               audio_.begin() + static_cast<std::ptrdiff_t>(passed * audio_width()));
  audio_first_ += passed;
  audio_count_ -= passed;
}

void VoxtralSession::decided(std::int32_t token) {
  next_token_ = token;
  ++decisions_;
  const std::int64_t slot = next_row() - schedule_.prompt_rows();
  trace_.host("token", host_rows(std::span(&token, 1)), slot);

  emission_.push(token, slot, events_);
  for (Event& event : events_) post(std::move(event));
  events_.clear();
  const bool is_text = emission_.is_text(token);
  if (is_text && loop_.push(token) && !is_looping_) {
    is_looping_ = true;
    warn("loop", "the model began to repeat itself; decoding went on", clipped_s(slot),
         clipped_s(slot + 1));
  }
  const bool has_all = front_.is_finished();
  if (has_all && next_row() >= schedule_.tokens(front_.samples())) return end();
  if (token == schedule_.eos && options_.stop_at_eos) {
    const double heard = clipped_s(slot + 1);
    warn("eos",
         formatted("the model ended at %.2f s, as --eos stop asks; what follows was not heard",
                   heard),
         heard, audio_s());
    return end();
  }
  if (options_.max_output_tokens > 0 && decisions_ >= options_.max_output_tokens) {
    warn("truncated",
         formatted("decoding stopped at the limit of %lld tokens; the transcript may end early",
                   static_cast<long long>(options_.max_output_tokens)),
         clipped_s(slot + 1), audio_s());
    return end();
  }
  report(slot);
  guard(slot, is_text);
}

void VoxtralSession::report(std::int64_t slot) {
  const auto second = static_cast<std::int64_t>(1 / schedule_.token_s);
  if (slot % second != 0) return;
  post(Progress{"decode", clipped_s(slot + 1 + schedule_.delay),
                front_.is_finished() ? audio_s() : 0, decisions_});
}

void VoxtralSession::guard(std::int64_t slot, bool is_text) {
  const std::int64_t heard = slot + schedule_.delay;
  const std::int64_t first = guard_.hear(heard, front_.is_speech(heard), is_text);
  if (first < 0) return;
  const std::int64_t lead = std::min<std::int64_t>(kLeadTokens, schedule_.delay);
  const std::int64_t row =
      std::max(schedule_.left_pad + std::max<std::int64_t>(0, first - lead), audio_first_);
  warn("blank_rut",
       formatted("somebody spoke for more than %g s and nothing was written; the decoder heard it "
                 "again from a fresh context",
                 options_.blank_rut_s),
       clipped_s(row - schedule_.left_pad), clipped_s(heard + 1));
  base_ = row - schedule_.left_pad;
  position_ = 0;
  slot_.kv[0]->clear();
}

void VoxtralSession::warn(const char* code, const std::string& message, double start_s,
                          double end_s) {
  warnings_.push_back({code, message, start_s, end_s});
  post(warnings_.back());
}

void VoxtralSession::stop() {
  if (is_done_) return;
  const std::int64_t slots = std::max<std::int64_t>(0, next_row() - schedule_.prompt_rows() + 1);
  warn("interrupted", "the transcription was interrupted; it holds what was recognised until then",
       clipped_s(slots), audio_s());
  end();
}

void VoxtralSession::end() {
  Transcript transcript = emission_.finish(audio_s(), events_);
  for (Event& event : events_) post(std::move(event));
  events_.clear();
  transcript.language = options_.language;
  transcript.warnings = warnings_;
  transcript.usage = {audio_s(), schedule_.prompt_rows(), decisions_};
  is_done_ = true;
  post(Done{std::move(transcript)});
}

}  // namespace verbatim::voxtral
