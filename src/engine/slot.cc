// The far end of the mailbox.
#include "engine/slot.h"

#include <utility>

namespace verbatim {

bool Slot::is_cancelled() const {
  const std::lock_guard lock(mailbox_->mutex);
  return mailbox_->is_cancelled;
}

void Slot::take_pcm(std::size_t room) {
  std::vector<float>& waiting = mailbox_->pcm;
  pcm_.clear();
  if (waiting.size() <= room) {
    std::swap(pcm_, waiting);
    return;
  }
  const auto end = waiting.begin() + static_cast<std::ptrdiff_t>(room);
  pcm_.assign(waiting.begin(), end);
  waiting.erase(waiting.begin(), end);
}

bool Slot::deliver() {
  bool stopped = false;
  bool finished = false;
  std::optional<Failed> failed;
  std::vector<Warning> warnings;
  {
    const std::lock_guard lock(mailbox_->mutex);
    take_pcm(session_->room());
    warnings.swap(mailbox_->warnings);
    stopped = mailbox_->is_stopped;
    finished = mailbox_->is_finished && mailbox_->pcm.empty();
    failed = mailbox_->failed_source;
  }
  mailbox_->changed.notify_all();
  std::vector<Event> said(warnings.begin(), warnings.end());
  warnings_.insert(warnings_.end(), warnings.begin(), warnings.end());
  if (!said.empty()) post(std::move(said));
  if (failed) {
    fail(failed->code, failed->message);
    return true;
  }
  if (!pcm_.empty()) session_->push(pcm_);
  if (stopped) {
    session_->stop();
    return true;
  }
  if (finished && !is_finished_) {
    is_finished_ = true;
    session_->finish();
    return true;
  }
  return !pcm_.empty();
}

void Slot::post_events() {
  if (session_ == nullptr) return;  // it could not be opened
  std::vector<Event> events;
  session_->drain(events);
  for (Event& event : events) {
    if (Done* done = std::get_if<Done>(&event)) {
      std::vector<Warning>& all = done->transcript.warnings;
      all.insert(all.begin(), warnings_.begin(), warnings_.end());
    }
  }
  if (!events.empty()) post(std::move(events));
}

void Slot::fail(Code code, const std::string& message) {
  post({Failed{code, message}});
}

void Slot::post(std::vector<Event> events) {
  {
    const std::lock_guard lock(mailbox_->mutex);
    for (Event& event : events) {
      if (is_over_) break;
      is_over_ = std::holds_alternative<Done>(event) || std::holds_alternative<Failed>(event);
      if (const Failed* failed = std::get_if<Failed>(&event)) mailbox_->failure = *failed;
      if (const Done* done = std::get_if<Done>(&event)) {
        mailbox_->stats.prompt_tokens = done->transcript.usage.prompt_tokens;
        mailbox_->stats.output_tokens = done->transcript.usage.output_tokens;
      }
      mailbox_->is_over = is_over_;
      mailbox_->events.push_back(std::move(event));
    }
  }
  mailbox_->changed.notify_all();
  const std::lock_guard lock(mailbox_->wake_mutex);
  if (mailbox_->wake) mailbox_->wake();
}

void Slot::count(double encode_s, double prefill_s, double decode_s, std::int64_t frames) {
  const std::lock_guard lock(mailbox_->mutex);
  mailbox_->stats.encode_s += encode_s;
  mailbox_->stats.prefill_s += prefill_s;
  mailbox_->stats.decode_s += decode_s;
  mailbox_->stats.audio_frames += frames;
}

}  // namespace verbatim
