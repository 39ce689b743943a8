// What a batch is made of, and the events of a session.
#include "models/session.h"

#include <iterator>

#include "models/model.h"

namespace verbatim {

int EncodeBatch::add(const EncodeInput& input) {
  Span span;
  span.rows = static_cast<std::int32_t>(input.rows.rows);
  span.position = input.position;
  span.last = input.last;
  span.conv = input.conv;
  span.kv = input.kv;
  if (!spans_.empty()) span.first_row = spans_.back().first_row + spans_.back().rows;
  spans_.push_back(span);
  items_.push_back({input.rows, input.noise, {}});
  room_s_ -= input.audio_s;
  return static_cast<int>(items_.size()) - 1;
}

Tensor EncodeBatch::upload(Device& dev) const {
  const Span& end = spans_.back();
  const Tensor rows =
      dev.arena().take(end.first_row + end.rows, items_.front().rows.cols, DType::kF32);
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const Tensor& from = items_[i].rows;
    dev.upload(rows.slice(spans_[i].first_row, spans_[i].rows),
               {from.data, static_cast<std::size_t>(from.rows * from.cols) * sizeof(float)});
  }
  return rows;
}

void EncodeBatch::answer(const Tensor& audio, const Spans& spans) {
  for (std::size_t i = 0; i < items_.size(); ++i)
    items_[i].audio = audio.slice(spans.host[i].first_row, spans.host[i].rows);
}

void EncodeBatch::clear(double room_s) {
  items_.clear();
  spans_.clear();
  room_s_ = room_s;
}

int DecodeBatch::add(KvSequence& kv, std::span<const RowInput> rows, std::int64_t position,
                     Want want, std::int32_t condition, const char* phase) {
  Span span;
  span.first_row = static_cast<std::int32_t>(rows_.size());
  span.rows = static_cast<std::int32_t>(rows.size());
  span.position = position;
  span.condition = condition;
  span.phase = phase;
  span.kv = &kv;
  spans_.push_back(span);
  items_.push_back({want, -1, {}});
  rows_.insert(rows_.end(), rows.begin(), rows.end());
  room_ -= span.rows;
  return static_cast<int>(items_.size()) - 1;
}

void DecodeBatch::clear(std::int32_t room_rows) {
  items_.clear();
  spans_.clear();
  rows_.clear();
  room_ = room_rows;
}

void DecodeBatch::seek() {
  sought_.clear();
  sought_spans_.clear();
  for (std::size_t i = 0; i < items_.size(); ++i) {
    if (items_[i].want == Want::kNothing) continue;
    Span span = spans_[i];
    sought_.push_back(span.first_row + span.rows - 1);
    span.position += span.rows - 1;
    span.first_row = static_cast<std::int32_t>(sought_.size()) - 1;
    span.rows = 1;
    sought_spans_.push_back(span);
  }
}

std::unique_ptr<ConvState> make_conv_state(Device& dev, std::int64_t values) {
  return std::make_unique<ConvState>(dev.allocate(static_cast<std::size_t>(values) * sizeof(float)),
                                     values);
}

void Session::drain(std::vector<Event>& to) {
  to.insert(to.end(), std::make_move_iterator(events_.begin()),
            std::make_move_iterator(events_.end()));
  events_.clear();
}

}  // namespace verbatim
