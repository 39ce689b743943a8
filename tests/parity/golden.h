// Golden checkpoints: the tensors a folder expects, and a tap that compares what it is shown.
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "audio/test_clip.h"
#include "base/file.h"
#include "checkpoint/checkpoint.h"
#include "device/trace.h"
#include "engine/engine.h"

namespace verbatim {

// The tensors of one safetensors file, in memory.
class GoldenFile {
 public:
  explicit GoldenFile(const std::string& path);
  const RawTensor* find(std::string_view name) const;
  const std::vector<RawTensor>& tensors() const { return tensors_; }

 private:
  MappedFile file_;
  std::vector<RawTensor> tensors_;
};

std::vector<float> golden_floats(const RawTensor& raw);           // F32
std::vector<std::int64_t> golden_integers(const RawTensor& raw);  // I64 or I32
std::vector<float> golden_samples(const RawTensor& raw);          // I16 / 32768

boost::json::value golden_json(const std::string& path);

struct GoldenStart {
  std::int64_t row = 0;       // of the golden tensor
  std::int64_t position = 0;  // of what is shown; what comes before it is not looked at
};

// Compares rows as they arrive and remembers the first tensor that diverges, in the order of the
// computation. Names without an expectation are not looked at.
class CompareTap final : public Tap {
 public:
  // allowed: the largest absolute difference per name.
  // first: where a golden tensor and what is shown begin to overlap; else both begin together.
  CompareTap(const GoldenFile& expected, std::map<std::string, double> allowed,
             const std::map<std::string, GoldenStart>& first = {});
  bool wants(std::string_view name) const override;
  void see(std::string_view name, const Tensor& rows, const Spans& spans) override;

  const std::string& first_divergence() const { return first_divergence_; }  // empty: none
  // Names whose rows did not all arrive.
  std::vector<std::string> missing() const;
  // The largest difference seen as a share of what is allowed, over all names.
  double worst_share() const { return worst_share_; }
  const std::vector<std::int64_t>& tokens() const { return tokens_; }

 private:
  struct Expected {
    std::vector<float> values;
    double allowed = 0;
    std::int64_t first_position = -1;
    std::size_t seen = 0;
  };
  void compare(const std::string& name, Expected& expected, const Tensor& rows,
               std::int64_t position);

  std::map<std::string, Expected, std::less<>> expected_;
  std::vector<std::int64_t> tokens_;
  std::string first_divergence_;
  double worst_share_ = 0;
};

// Runs a clip through an engine and returns its transcript; throws what the session failed with.
Transcript transcribe(Engine& engine, const SessionOptions& options, std::span<const float> pcm);

}  // namespace verbatim
