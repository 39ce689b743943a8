// What a batch is made of, and the events of a session.
#include "models/session.h"

#include <iterator>
#include <utility>

namespace verbatim {

int EncodeBatch::add(const Tensor& rows, double audio_s, ConvState* conv, std::int64_t position,
                     bool last, const Tensor& noise, const char* phase) {
  Item item;
  item.rows = rows;
  item.noise = noise;
  item.span.rows = static_cast<std::int32_t>(rows.rows);
  item.span.position = position;
  item.span.phase = phase;
  item.span.last = last;
  item.span.conv = conv;
  if (!items_.empty()) {
    item.span.first_row = items_.back().span.first_row + items_.back().span.rows;
  }
  items_.push_back(item);
  room_s_ -= audio_s;
  return static_cast<int>(items_.size()) - 1;
}

void EncodeBatch::clear(double room_s) {
  items_.clear();
  room_s_ = room_s;
}

int DecodeBatch::add(KvSequence& kv, std::span<const RowInput> rows, std::int64_t position, Want want,
                     std::int32_t condition, const char* phase) {
  Item item;
  item.span.first_row = static_cast<std::int32_t>(rows_.size());
  item.span.rows = static_cast<std::int32_t>(rows.size());
  item.span.position = position;
  item.span.condition = condition;
  item.span.phase = phase;
  item.span.kv = &kv;
  item.want = want;
  items_.push_back(item);
  rows_.insert(rows_.end(), rows.begin(), rows.end());
  room_ -= static_cast<std::int32_t>(rows.size());
  return static_cast<int>(items_.size()) - 1;
}

void DecodeBatch::clear(std::int32_t room_rows) {
  items_.clear();
  rows_.clear();
  room_ = room_rows;
}

void Session::drain(std::vector<Event>& to) {
  to.insert(to.end(), std::make_move_iterator(events_.begin()), std::make_move_iterator(events_.end()));
  events_.clear();
}

}  // namespace verbatim
