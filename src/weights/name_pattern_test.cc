// Patterns of layer names mean what Python's re.match takes them to mean.
#include "weights/name_pattern.h"

#include <gtest/gtest.h>

#include "base/scratch_folder.h"

namespace verbatim {
namespace {

constexpr const char* kModule = "model.layers.12.mlp.down_proj";

bool matches(const std::string& pattern, const std::string& module = kModule) {
  return matches_module(pattern, module, "config.json: ignore");
}

TEST(NamePattern, APlainNameMeansAModuleAndAllInsideIt) {
  for (const char* name : {"down_proj", "mlp.down_proj", "mlp", "model", kModule})
    EXPECT_TRUE(matches(name)) << name;
  for (const char* name : {"own_proj", "down", "lm_head", "", "layers.1"})
    EXPECT_FALSE(matches(name)) << name;
}

TEST(NamePattern, AnExpressionMatchesFromTheFirstByteOn) {
  for (const char* pattern :
       {"re:.*down_proj", "re:model", "re:", "re:.*mlp.*", "re:^model\\.layers\\.\\d+\\.mlp",
        "re:.*(up|down)_proj$", "re:model.layers.[0-9][^a-z].*", "re:.*\\.(?:1[0-9]|2)\\..*",
        "re:(.*\\.)?mlp", "re:.*?mlp", "re:x*model", "re:(a|b|)model", "re:.*[a\\-_]proj$",
        "re:.*[]_]proj"})
    EXPECT_TRUE(matches(pattern)) << pattern;
  for (const char* pattern : {"re:down_proj", "re:.*lm_head", "re:.*mlp$", "re:mode$l",
                              "re:.*\\.(1|2)\\..*", "re:x+model", "re:.*[^_]proj"})
    EXPECT_FALSE(matches(pattern)) << pattern;
}

TEST(NamePattern, WhatIsNotReadIsNamed) {
  for (const char* pattern : {"re:(", "re:)", "re:a{2}", "re:*", "re:[a", "re:\\", "re:(?!x)",
                              "re:\\b", "re:((((((((((a))))))))))"}) {
    const std::string message = message_of(Code::kUnsupported, [&] { matches(pattern); });
    EXPECT_TRUE(contains(message, std::string("config.json: ignore: '") + pattern)) << message;
  }
}

TEST(NamePattern, RepeatsOfRepeatsEnd) {
  EXPECT_FALSE(matches("re:(a*)*b", std::string(60, 'a')));
  EXPECT_FALSE(matches("re:(a|aa)+$", std::string(60, 'a') + "b"));
  EXPECT_TRUE(matches("re:(((a*)*)*)*b", std::string(60, 'a') + "b"));
}

}  // namespace
}  // namespace verbatim
