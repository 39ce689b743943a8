// What a checkpoint says once its weights were made into another format, and how far its decisions
// are from those of the weights as they are stored.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/word_errors.h"
#include "engine/placement.h"
#include "kv/pool.h"

namespace verbatim {

// A token that was decided, and the likeliest ones with the logarithms of their probabilities.
struct Decision {
  static constexpr std::size_t kLikeliest = 8;
  std::int32_t token = -1;
  std::int32_t count = 0;  // less than kLikeliest in a tiny vocabulary
  std::array<std::int32_t, kLikeliest> tokens{};
  std::array<double, kLikeliest> log_shares{};
};

struct Spoken {
  std::vector<Decision> decisions;
  std::vector<std::string> words;
};

// Decisions beside those of another run, of which every next row was made, so that one that differs
// changes none behind it.
struct Agreement {
  std::int64_t decisions = 0;
  std::int64_t same = 0;
  // Sum of the divergences (Kullback and Leibler, in nats) of the eight likeliest tokens and all
  // others as one: zero where both are equally sure, and finer than `same`.
  double divergence = 0;

  double share() const;
  double mean_divergence() const;
  void append(const Agreement& more);
};

class QualityModel {
 public:
  // expected_audio_s must be that of the longest clip. Throws what an Engine would.
  explicit QualityModel(const EngineOptions& options);
  ~QualityModel();

  std::int32_t sample_rate_hz() const { return model_->info().sample_rate_hz; }
  std::size_t weights_bytes() const { return placement_.memory.weights; }
  Spoken speak(std::span<const float> pcm);
  Agreement follow(std::span<const float> pcm, const std::vector<Decision>& dense);

 private:
  class Judge;
  // The whole clip; the judge sees every decision and may put another in its place.
  std::string run(std::span<const float> pcm, Judge& judge);
  void decode(Session& session, Judge& judge);
  std::unique_ptr<KvPool> make_pool(const KvLayout& layout, std::int32_t pages);

  EngineOptions options_;
  std::unique_ptr<Device> device_;
  Placement placement_;
  std::vector<Stage> stages_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<KvPool> pool_;
  std::unique_ptr<KvPool> encoder_pool_;
};

}  // namespace verbatim
