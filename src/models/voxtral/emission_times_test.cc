// Word times of the nano model's samples against the truth that comes with them: the errors that
// docs/models/voxtral.md states are printed and bounded.
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <cstdio>
#include <utility>

#include "models/voxtral/emission_heard.h"

namespace verbatim::voxtral {
namespace {

namespace json = boost::json;

constexpr const char* kNano = "models/voxtral-realtime-nano/";

// Errors of one kind of time, in seconds, positive where ours is late.
struct Errors {
  std::vector<double> signed_s;

  void print(const char* what) const {
    std::printf("%-22s %4zu words: mean %.3f median %.3f p95 %.3f, signed mean %+.3f s\n", what,
                signed_s.size(), mean(), quantile(0.5), quantile(0.95), signed_mean());
  }
  double mean() const {
    double sum = 0;
    for (const double error : signed_s) sum += std::abs(error);
    return sum / static_cast<double>(signed_s.size());
  }
  double signed_mean() const {
    double sum = 0;
    for (const double error : signed_s) sum += error;
    return sum / static_cast<double>(signed_s.size());
  }
  double quantile(double part) const {
    std::vector<double> sorted;
    for (const double error : signed_s) sorted.push_back(std::abs(error));
    std::sort(sorted.begin(), sorted.end());
    const auto last = static_cast<double>(sorted.size() - 1);
    return sorted[static_cast<std::size_t>(std::lround(part * last))];
  }
};

// Which of our words are those of the truth: the longest common subsequence.
std::vector<std::pair<std::size_t, std::size_t>> aligned(const std::vector<Word>& truth,
                                                         const std::vector<Word>& ours) {
  const std::size_t width = ours.size() + 1;
  std::vector<std::size_t> common((truth.size() + 1) * width);
  for (std::size_t t = truth.size(); t-- > 0;) {
    for (std::size_t o = ours.size(); o-- > 0;) {
      common[t * width + o] = truth[t].text == ours[o].text ? common[(t + 1) * width + o + 1] + 1
                                                            : std::max(common[(t + 1) * width + o],
                                                                       common[t * width + o + 1]);
    }
  }
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t t = 0, o = 0; t < truth.size() && o < ours.size();) {
    if (truth[t].text == ours[o].text) {
      pairs.emplace_back(t++, o++);
    } else if (common[(t + 1) * width + o] >= common[t * width + o + 1]) {
      ++t;
    } else {
      ++o;
    }
  }
  return pairs;
}

std::vector<Word> true_words(const std::string& recording) {
  const std::string name = recording.substr(0, recording.size() - 4);
  std::vector<Word> words;
  const json::value sample = read_json(kNano + ("samples/" + name + ".json"));
  for (const json::value& row : sample.at("words").as_array()) {
    words.push_back({row.at("start").to_number<double>(), row.at("end").to_number<double>(),
                     std::string(row.at("word").as_string())});
  }
  return words;
}

// The limits are what was measured, a hundredth of a second added.
TEST(EmissionTimes, WordTimesOfTheNanoSamplesAreAsExactAsDocumented) {
  const Tokenizer tokenizer = read_tokenizer(kNano, 1536);
  const json::value reference = read_json(kNano + std::string("reference.json"));
  for (const std::int64_t delay : {3, 6, 12}) {
    Errors ends;
    Errors starts;
    for (const json::value& row : reference.at("results").as_array()) {
      if (row.at("delay_tokens").as_int64() != delay) continue;
      SCOPED_TRACE(row.at("file").as_string().c_str());
      const std::vector<std::int32_t> ids = ids_of(row.at("ids"));
      const double audio_s = row.at("samples").to_number<double>() / 16000;
      const Heard result = hear(tokenizer, ids, audio_s);
      EXPECT_EQ(result.transcript.text, row.at("text").as_string());
      expect_consistent(result, ids);
      const std::vector<Word> truth = true_words(std::string(row.at("file").as_string()));
      const std::vector<Word> ours = result.words();
      for (const auto& [t, o] : aligned(truth, ours)) {
        ends.signed_s.push_back(ours[o].end_s - truth[t].end_s);
        starts.signed_s.push_back(ours[o].start_s - truth[t].start_s);
      }
    }
    std::printf("delay %lld ms\n", static_cast<long long>(delay * 80));
    ends.print("  word ends");
    starts.print("  word starts");
    EXPECT_GE(ends.signed_s.size(), 180u);
    EXPECT_LT(ends.mean(), 0.053);
    EXPECT_LT(ends.quantile(0.95), 0.093);
    EXPECT_LT(starts.mean(), 0.081);
    EXPECT_LT(starts.quantile(0.95), 0.232);
  }
}

}  // namespace
}  // namespace verbatim::voxtral
