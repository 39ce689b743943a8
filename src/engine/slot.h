// The room a session occupies while it runs.
#pragma once

#include <memory>
#include <vector>

#include "engine/mailbox.h"
#include "models/model.h"

namespace verbatim {

class Slot {
 public:
  Slot(std::shared_ptr<Mailbox> mailbox, const SessionOptions& options, std::int64_t positions)
      : mailbox_(std::move(mailbox)), options_(options), positions_(positions) {}

  const SessionOptions& options() const { return options_; }
  std::int64_t positions() const { return positions_; }  // of the KV cache it was promised
  Session* session() const { return session_.get(); }
  SlotResources& resources() { return resources_; }
  void set_session(std::unique_ptr<Session> session) { session_ = std::move(session); }

  bool is_cancelled() const;
  bool is_over() const { return is_over_; }
  // Hands the session what arrived; true when something did.
  bool deliver();
  // Moves the session's events to the mailbox.
  void post_events();
  void fail(Code code, const std::string& message);
  void count(double encode_s, double prefill_s, double decode_s, std::int64_t frames);

 private:
  void post(std::vector<Event> events);
  void take_pcm(std::size_t room);  // as many samples; the mailbox is locked

  std::shared_ptr<Mailbox> mailbox_;
  SessionOptions options_;
  std::int64_t positions_ = 0;
  SlotResources resources_;
  std::unique_ptr<Session> session_;  // after its resources: it goes first
  std::vector<float> pcm_;
  std::vector<Warning> warnings_;
  bool is_finished_ = false;
  bool is_over_ = false;
};

}  // namespace verbatim
