// The near end of the mailbox.
#include "engine/stream.h"

#include <utility>

#include "engine/mailbox.h"

namespace verbatim {

Stream::Stream(std::shared_ptr<Mailbox> mailbox) : mailbox_(std::move(mailbox)) {}

Stream::~Stream() {
  {
    const std::lock_guard lock(mailbox_->mutex);
    mailbox_->is_cancelled = true;
  }
  on_ready(nullptr);
  mailbox_->changed.notify_all();
  mailbox_->bell->ring();
}

void Stream::push(std::span<const float> pcm) {
  {
    std::unique_lock lock(mailbox_->mutex);
    mailbox_->changed.wait(lock, [&] {
      return mailbox_->pcm.size() < Mailbox::kPcmSamples || mailbox_->is_over ||
             mailbox_->is_stopped || mailbox_->is_cancelled;
    });
    if (mailbox_->failure) throw Error(mailbox_->failure->code, mailbox_->failure->message);
    if (mailbox_->is_over || mailbox_->is_stopped || mailbox_->is_cancelled) return;
    mailbox_->pcm.insert(mailbox_->pcm.end(), pcm.begin(), pcm.end());
  }
  mailbox_->bell->ring();
}

void Stream::finish() {
  {
    const std::lock_guard lock(mailbox_->mutex);
    mailbox_->is_finished = true;
  }
  mailbox_->bell->ring();
}

void Stream::stop() {
  {
    const std::lock_guard lock(mailbox_->mutex);
    mailbox_->is_stopped = true;
  }
  mailbox_->changed.notify_all();
  mailbox_->bell->ring();
}

void Stream::fail_with(Code code, const std::string& message) {
  {
    const std::lock_guard lock(mailbox_->mutex);
    mailbox_->failed_source = Failed{code, message};
  }
  mailbox_->bell->ring();
}

void Stream::warn(const Warning& warning) {
  const std::lock_guard lock(mailbox_->mutex);
  mailbox_->warnings.push_back(warning);
}

std::optional<Event> Stream::next(std::chrono::milliseconds wait) {
  std::unique_lock lock(mailbox_->mutex);
  mailbox_->changed.wait_for(lock, wait,
                             [&] { return !mailbox_->events.empty() || mailbox_->is_over; });
  if (mailbox_->events.empty()) return std::nullopt;
  Event event = std::move(mailbox_->events.front());
  mailbox_->events.pop_front();
  return event;
}

void Stream::on_ready(std::function<void()> wake) {
  const std::lock_guard lock(mailbox_->wake_mutex);
  mailbox_->wake = std::move(wake);
}

SessionStats Stream::stats() const {
  const std::lock_guard lock(mailbox_->mutex);
  return mailbox_->stats;
}

}  // namespace verbatim
