// One transcription as a single-threaded state machine. A session never calls a forward pass: it
// plans rows for a batch that the replica runs, and takes its results.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/device.h"
#include "transcript/event.h"

namespace verbatim {

class KvSequence;

enum class Want : std::uint8_t { kNothing, kToken, kLogits };

// Rows of one stream for an encode pass.
struct EncodeInput {
  Tensor rows;                // what the family encodes, in host memory that outlives the pass
  double audio_s = 0;         // what they cover
  std::int64_t position = 0;  // of the first row
  bool last = false;          // no more rows will follow
  ConvState* conv = nullptr;  // null: starts from zeros and keeps nothing
  KvSequence* kv = nullptr;   // of an encoder with attention
  Tensor noise = {};          // [frames, latent], added to the acoustic mean, or empty
};

// Input rows of several sessions for one encode pass, and what came out of it.
class EncodeBatch {
 public:
  struct Item {
    Tensor rows;   // what the family encodes, in host memory that outlives the pass
    Tensor noise;  // [frames, latent], added to the acoustic mean, or empty for the mean
    Tensor audio;  // the result: [frames, hidden], in the device's arena until the next pass
  };
  explicit EncodeBatch(double room_s) : room_s_(room_s) {}
  // Audio that the session which plans now may add. It adds no more, but one frame always, so that
  // nobody's clip stands still.
  double room_s() const { return room_s_; }
  int add(const EncodeInput& input);  // the ticket finds the result
  Tensor audio(int ticket) const { return items_[static_cast<std::size_t>(ticket)].audio; }
  bool empty() const { return items_.empty(); }
  void clear(double room_s);
  void grant(double room_s) { room_s_ = room_s; }  // the share of the session that plans next
  // For the family's encode(): items and their spans, one for one; the rows of all of them, on the
  // device; and each item's part of the result, whose spans are one for one as well.
  std::vector<Item>& items() { return items_; }
  std::span<const Span> spans() const { return spans_; }
  Tensor upload(Device& dev) const;
  void answer(const Tensor& audio, const Spans& spans);

 private:
  double room_s_;
  std::vector<Item> items_;
  std::vector<Span> spans_;
};

// Rows of several sessions for one decoder pass, and the tokens or logits that came out of it.
class DecodeBatch {
 public:
  struct Item {
    Want want = Want::kNothing;
    std::int32_t token = -1;
    std::span<const float> logits;  // in host memory, until the next pass
  };
  explicit DecodeBatch(std::int32_t room_rows) : room_(room_rows) {}
  // Rows of its prompt that the session which plans now may add. Its one next row always fits, so
  // that no prompt holds up another's step.
  std::int32_t room() const { return room_; }
  int add(KvSequence& kv, std::span<const RowInput> rows, std::int64_t position, Want want,
          std::int32_t condition = 0, const char* phase = "");
  std::int32_t token(int ticket) const { return items_[static_cast<std::size_t>(ticket)].token; }
  std::span<const float> logits(int ticket) const {
    return items_[static_cast<std::size_t>(ticket)].logits;
  }
  bool empty() const { return items_.empty(); }
  void clear(std::int32_t room_rows);
  void grant(std::int32_t rows) { room_ = rows; }  // the share of the session that plans next

  // For the family's decode(): items and their spans, one for one, and the rows of all of them.
  std::vector<Item>& items() { return items_; }
  std::span<const Span> spans() const { return spans_; }
  std::span<const RowInput> rows() const { return rows_; }
  // The last row of each item that wants something, and whose it is; filled by seek().
  std::span<const std::int32_t> sought() const { return sought_; }
  std::span<const Span> sought_spans() const { return sought_spans_; }
  void seek();
  std::vector<std::int32_t>& tokens() { return tokens_; }
  std::vector<float>& logits_storage() { return logits_storage_; }

 private:
  std::int32_t room_;
  std::vector<Item> items_;
  std::vector<Span> spans_;
  std::vector<RowInput> rows_;
  std::vector<std::int32_t> sought_;
  std::vector<Span> sought_spans_;
  std::vector<std::int32_t> tokens_;
  std::vector<float> logits_storage_;
};

// One thread at a time, the replica's. push and finish only store; the work is in plan and take.
class Session {
 public:
  virtual ~Session() = default;
  virtual void push(std::span<const float> pcm) = 0;  // mono, at ModelInfo::sample_rate_hz
  virtual void finish() = 0;                          // no more audio will come
  virtual void stop() = 0;  // interrupted: Done with what is there, and a warning
  virtual bool done() const = 0;
  // Samples it takes now; the rest waits with whoever pushes. A session that spools takes all.
  virtual std::size_t room() const { return ~std::size_t{0}; }

  // Adds what can be encoded now, if anything; take copies its rows out of the arena.
  virtual void plan(EncodeBatch& batch) = 0;
  virtual void take(const EncodeBatch& batch) = 0;
  // Adds the rows that can run now, if any; take advances and posts events.
  virtual void plan(DecodeBatch& batch) = 0;
  virtual void take(const DecodeBatch& batch) = 0;

  // Moves the events posted since the last call behind `to`.
  void drain(std::vector<Event>& to);

 protected:
  void post(Event event) { events_.push_back(std::move(event)); }

 private:
  std::vector<Event> events_;
};

}  // namespace verbatim
