#include "cli/stats.h"

#include <gtest/gtest.h>

#include <boost/json/value.hpp>

#include "base/json.h"

namespace verbatim {
namespace {

RunStats run() {
  RunStats stats;
  stats.model = "nano";
  stats.family = "vibevoice";
  stats.device = "cpu \"x\"";
  stats.threads = 2;
  stats.memory = {10 << 20, 2048, 3 << 20, 5};
  stats.peak_memory_bytes = std::size_t{3} << 30;
  FileStats file;
  file.file = "a\n.wav";
  file.outcome = "whole";
  file.audio_s = 10;
  file.wall_s = 2;
  file.session = {0.5, 0.25, 1, 75, 130, 50};
  stats.files = {file, FileStats{"b.wav", "failed", 0, 0, 0, {}}};
  return stats;
}

TEST(Stats, TheJsonKeepsItsKeysForFilesThatFailed) {
  const boost::json::value json = parse_json(stats_json(run()), "stats");
  const auto& files = json.at("files").as_array();
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[0].at("real_time_factor").as_double(), 0.2);
  EXPECT_EQ(files[1].at("real_time_factor").as_double(), 0.0);
  for (const auto& file : files) {
    ASSERT_EQ(file.at("stages").as_array().size(), 4u);
    for (const auto& stage : file.at("stages").as_array()) EXPECT_EQ(stage.as_object().size(), 5u);
  }
  EXPECT_EQ(files[0].at("stages").as_array()[3].at("tokens_per_s").as_double(), 50.0);
  EXPECT_EQ(json.at("memory").at("kv_bytes").as_int64(), 2048);
  EXPECT_EQ(json.at("device").as_string(), "cpu \"x\"");
}

TEST(Stats, TheTextHasTheStagesThatHadWork) {
  const std::string text = stats_text(run());
  EXPECT_NE(text.find("real-time factor 0.200"), std::string::npos);
  EXPECT_NE(text.find("50 tokens, 50.0 tokens/s"), std::string::npos);
  EXPECT_EQ(text.find("read "), std::string::npos);
  EXPECT_NE(text.find("peak of the process 3.0 GiB"), std::string::npos);
}

TEST(Profile, TheSlowestComesFirstWithItsShare) {
  const std::vector<ProfileRow> rows = {{"add", "", 4, 1}, {"linear", "layers.*.q", 2, 3}};
  const std::string text = profile_text(rows);
  EXPECT_LT(text.find("linear layers.*.q"), text.find("add"));
  EXPECT_NE(text.find(" 75.0 %"), std::string::npos);
}

TEST(SizeText, UnitsChangeAt1024) {
  EXPECT_EQ(size_text(0), "0.0 B");
  EXPECT_EQ(size_text(1023), "1023 B");
  EXPECT_EQ(size_text(1536), "1.5 KiB");
  EXPECT_EQ(size_text(12.0 * (1 << 20)), "12 MiB");
}

}  // namespace
}  // namespace verbatim
