// Reading golden files and comparing against them.
#include "tests/parity/golden.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/json.h"
#include "engine/dump.h"

namespace verbatim {
namespace {

template <typename From, typename To>
std::vector<To> values_of(const RawTensor& raw, To scale) {
  std::vector<To> values(raw.bytes.size() / sizeof(From));
  for (std::size_t i = 0; i < values.size(); ++i) {
    From value{};
    std::memcpy(&value, raw.bytes.data() + i * sizeof(From), sizeof(From));
    values[i] = static_cast<To>(value) * scale;
  }
  return values;
}

}  // namespace

GoldenFile::GoldenFile(const std::string& path)
    : file_(path), tensors_(containers().front()->parse(file_.bytes(), path)) {}

const RawTensor* GoldenFile::find(std::string_view name) const {
  for (const RawTensor& raw : tensors_) {
    if (raw.name == name) return &raw;
  }
  return nullptr;
}

std::vector<float> golden_floats(const RawTensor& raw) {
  check(raw.type == RawType::kF32, "a golden tensor of floats");
  return values_of<float, float>(raw, 1);
}

std::vector<std::int64_t> golden_integers(const RawTensor& raw) {
  if (raw.type == RawType::kI32) return values_of<std::int32_t, std::int64_t>(raw, 1);
  check(raw.type == RawType::kI64, "a golden tensor of integers");
  return values_of<std::int64_t, std::int64_t>(raw, 1);
}

std::vector<float> golden_samples(const RawTensor& raw) {
  check(raw.type == RawType::kI16, "a golden tensor of samples");
  return values_of<std::int16_t, float>(raw, 1.0F / 32768.0F);
}

boost::json::value golden_json(const std::string& path) {
  return parse_json(read_file(path, std::size_t{64} << 20), path);
}

CompareTap::CompareTap(const GoldenFile& expected, std::map<std::string, double> allowed,
                       const std::map<std::string, GoldenStart>& first) {
  for (const auto& [name, limit] : allowed) {
    const RawTensor* raw = expected.find(name);
    check(raw != nullptr, "every tolerance has its tensor");
    std::vector<float> values = golden_floats(*raw);
    std::int64_t position = -1;
    if (const auto start = first.find(name); start != first.end()) {
      position = start->second.position;
      values.erase(values.begin(),
                   values.begin() + static_cast<std::ptrdiff_t>(start->second.row * raw->shape[1]));
    }
    expected_[name] = {std::move(values), limit, position, 0};
  }
}

bool CompareTap::wants(std::string_view name) const {
  return name == "token" || expected_.find(name) != expected_.end() ||
         expected_.find(dump_name(name, "step")) != expected_.end();
}

void CompareTap::see(std::string_view name, const Tensor& rows, const Spans& spans) {
  for (const Span& span : spans.host) {
    const Tensor part = rows.slice(span.first_row, span.rows);
    if (name == "token") {
      for (std::int64_t r = 0; r < part.rows; ++r) tokens_.push_back(part.row<std::int32_t>(r)[0]);
      continue;
    }
    const auto found = expected_.find(dump_name(name, span.phase));
    if (found != expected_.end()) compare(found->first, found->second, part, span.position);
  }
}

void CompareTap::compare(const std::string& name, Expected& expected, const Tensor& rows,
                         std::int64_t position) {
  if (expected.first_position < 0) expected.first_position = position;
  const std::int64_t before = std::max<std::int64_t>(0, expected.first_position - position);
  for (std::int64_t r = before; r < rows.rows; ++r) {
    const std::span<const float> row = rows.row<const float>(r);
    const auto at = static_cast<std::size_t>(position + r - expected.first_position) * row.size();
    for (std::size_t c = 0; c < row.size(); ++c) {
      const bool inside = at + c < expected.values.size();
      const double wanted = inside ? static_cast<double>(expected.values[at + c]) : 0;
      const double off = std::abs(static_cast<double>(row[c]) - wanted);
      if (inside && off <= expected.allowed) {
        worst_share_ = std::max(worst_share_, expected.allowed > 0 ? off / expected.allowed : 0);
        continue;
      }
      if (first_divergence_.empty()) {
        first_divergence_ = formatted(
            "%s: row %lld, column %zu is %.9g, expected %.9g within %.3g", name.c_str(),
            static_cast<long long>(position + r - expected.first_position), c,
            static_cast<double>(row[c]), inside ? wanted : std::nan(""), expected.allowed);
      }
      return;
    }
    expected.seen += row.size();
  }
}

std::vector<std::string> CompareTap::missing() const {
  std::vector<std::string> names;
  for (const auto& [name, expected] : expected_) {
    if (expected.seen != expected.values.size()) names.push_back(name);
  }
  return names;
}

Transcript transcribe(Engine& engine, const SessionOptions& options, std::span<const float> pcm) {
  const double seconds = static_cast<double>(pcm.size()) / engine.sample_rate_hz();
  const std::unique_ptr<Stream> stream = engine.open("", options, seconds);
  constexpr std::size_t kBlock = 1 << 15;
  for (std::size_t at = 0; at < pcm.size(); at += kBlock) {
    stream->push_live(pcm.subspan(at, std::min(kBlock, pcm.size() - at)));
    engine.tick();
  }
  stream->finish();
  while (true) {
    engine.tick();
    while (std::optional<Event> event = stream->next(std::chrono::milliseconds(0))) {
      if (Done* done = std::get_if<Done>(&*event)) return std::move(done->transcript);
      if (Failed* failed = std::get_if<Failed>(&*event)) throw Error(failed->code, failed->message);
    }
  }
}

}  // namespace verbatim
