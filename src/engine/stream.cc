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

namespace {

bool has_left(const Mailbox& mailbox) {
  return mailbox.is_over || mailbox.is_stopped || mailbox.is_cancelled;
}

void store(Mailbox& mailbox, std::span<const float> pcm) {
  if (mailbox.failure) throw Error(mailbox.failure->code, mailbox.failure->message);
  if (!has_left(mailbox)) mailbox.pcm.insert(mailbox.pcm.end(), pcm.begin(), pcm.end());
}

}  // namespace

void Stream::push(std::span<const float> pcm) {
  {
    std::unique_lock lock(mailbox_->mutex);
    mailbox_->changed.wait(
        lock, [&] { return mailbox_->pcm.size() < Mailbox::kPcmSamples || has_left(*mailbox_); });
    store(*mailbox_, pcm);
  }
  mailbox_->bell->ring();
}

void Stream::push_live(std::span<const float> pcm) {
  {
    const std::lock_guard lock(mailbox_->mutex);
    store(*mailbox_, pcm);
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
