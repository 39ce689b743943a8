#include "cli/flags.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "base/error.h"

namespace verbatim {
namespace {

struct Given {
  bool loud = false;
  std::string name = "preset";
  std::string kind = "a";
  std::int64_t count = 0;
  double share = 1;
  double start_s = 0;
  std::size_t limit_bytes = 0;
  std::vector<std::string> words;
  std::vector<std::string> rest;
};

Flags declared(Given& given, bool has_rest = true) {
  Flags flags("program [FLAGS] FILE...", "Does something.");
  flags.section("First");
  flags.toggle(given.loud, "--loud", "Is loud.");
  flags.text(given.name, "--name", "TEXT", "Names it.");
  flags.choice(given.kind, "--kind", {"a", "b"}, "Which.");
  flags.section("Second");
  flags.integer(given.count, "--max-count", "N", {1, 10}, "How many.");
  flags.number(given.share, "--share", "P", {0, 1, true}, "How much.");
  flags.seconds(given.start_s, "--start", "From when.");
  flags.bytes(given.limit_bytes, "--limit", "How large.");
  flags.list(given.words, "--words", "A,B", "Which words.");
  if (has_rest) flags.rest(given.rest);
  return flags;
}

Given read(const std::vector<const char*>& arguments) {
  Given given;
  Flags flags = declared(given);
  EXPECT_TRUE(flags.read(arguments));
  return given;
}

std::string refusal(const std::vector<const char*>& arguments, bool has_rest = true) {
  Given given;
  Flags flags = declared(given, has_rest);
  try {
    flags.read(arguments);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    return error.what();
  }
  return "accepted";
}

// Sets a variable for as long as it lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

TEST(Flags, EveryKindReadsItsValue) {
  const Given given = read({"--loud", "--name", "x y", "--kind=b", "--max-count", "10", "--share",
                            "0.25", "--start", "1:30", "--limit=1.5K", "--words", "a, b"});
  EXPECT_TRUE(given.loud);
  EXPECT_EQ(given.name, "x y");
  EXPECT_EQ(given.kind, "b");
  EXPECT_EQ(given.count, 10);
  EXPECT_EQ(given.share, 0.25);
  EXPECT_EQ(given.start_s, 90);
  EXPECT_EQ(given.limit_bytes, 1536u);
  EXPECT_EQ(given.words, (std::vector<std::string>{"a", "b"}));
}

TEST(Flags, WhatIsAbsentKeepsItsDefault) {
  const Given given = read({});
  EXPECT_FALSE(given.loud);
  EXPECT_EQ(given.name, "preset");
  EXPECT_EQ(given.share, 1);
  EXPECT_TRUE(given.rest.empty());
}

TEST(Flags, ArgumentsMayStandBetweenFlagsAndKeepTheirBytes) {
  const Given given =
      read({"[a,b]", "--loud", "-", "", "--kind", "b", "x.wav", "--", "--loud", "--"});
  EXPECT_EQ(given.rest, (std::vector<std::string>{"[a,b]", "-", "", "x.wav", "--loud", "--"}));
}

TEST(Flags, AValueMayLookLikeAFlag) {
  EXPECT_EQ(read({"--name", "--loud"}).name, "--loud");
  EXPECT_EQ(read({"--name=[1,2]"}).name, "[1,2]");
  EXPECT_EQ(read({"--name", "-3"}).name, "-3");
}

TEST(Flags, ListsJoinTheirRepetitionsAndDropTheSame) {
  EXPECT_EQ(read({"--words", "a,,b", "--words= b ,c\nd "}).words,
            (std::vector<std::string>{"a", "b", "c", "d"}));
  EXPECT_NE(refusal({"--words", " , "}), "accepted");
}

TEST(Flags, RefusalsNameTheFlagTheValueAndWhatIsAllowed) {
  EXPECT_EQ(refusal({"--kind", "c"}), "--kind: expected one of a, b, found 'c'");
  EXPECT_EQ(refusal({"--max-count", "0"}),
            "--max-count: expected a whole number from 1 to 10, found '0'");
  EXPECT_EQ(refusal({"--max-count", "2.5"}),
            "--max-count: expected a whole number from 1 to 10, found '2.5'");
  EXPECT_EQ(refusal({"--share", "0"}), "--share: expected a number above 0 and up to 1, found '0'");
  EXPECT_EQ(refusal({"--share", "nan"}),
            "--share: expected a number above 0 and up to 1, found 'nan'");
  EXPECT_EQ(refusal({"--name", ""}), "--name: expected a value, found nothing");
  EXPECT_EQ(refusal({"--kind", "a", "--kind", "b"}), "--kind: expected once, found 2 times");
  EXPECT_EQ(refusal({"file"}, false), "'file': expected no arguments but flags");
}

TEST(Flags, AnUnknownFlagIsRefusedWithTheNearestOne) {
  EXPECT_EQ(refusal({"--max-cuont", "3"}), "--max-cuont: no such flag; the nearest is --max-count");
  EXPECT_EQ(refusal({"--entirely-else=3"}), "--entirely-else: no such flag");
  EXPECT_EQ(refusal({"-x"}), "-x: no such flag");
}

TEST(Flags, AFlagWithoutItsValueIsRefused) {
  EXPECT_NE(refusal({"--name"}).find("--name"), std::string::npos);
  EXPECT_NE(refusal({"--name"}), "accepted");
}

TEST(Flags, TheEnvironmentStandsInForAnAbsentFlagOnly) {
  const Variable count("VERBATIM_MAX_COUNT", "3");
  const Variable loud("VERBATIM_LOUD", "1");
  EXPECT_EQ(read({}).count, 3);
  EXPECT_TRUE(read({}).loud);
  EXPECT_EQ(read({"--max-count", "4"}).count, 4);
}

TEST(Flags, AnEmptyVariableIsAbsent) {
  const Variable count("VERBATIM_MAX_COUNT", "");
  EXPECT_EQ(read({}).count, 0);
}

TEST(Flags, ARefusedVariableIsNamed) {
  const Variable count("VERBATIM_MAX_COUNT", "many");
  EXPECT_EQ(refusal({}), "VERBATIM_MAX_COUNT: expected a whole number from 1 to 10, found 'many'");
  const Variable loud("VERBATIM_LOUD", "perhaps");
  EXPECT_EQ(refusal({"--max-count", "1"}), "VERBATIM_LOUD: expected 1 or 0, found 'perhaps'");
}

TEST(Flags, TheOriginTellsWhereAValueCameFrom) {
  const Variable count("VERBATIM_MAX_COUNT", "3");
  Given given;
  Flags flags = declared(given);
  const char* const arguments[] = {"--kind", "b"};
  ASSERT_TRUE(flags.read(arguments));
  EXPECT_EQ(flags.origin("--kind"), "--kind");
  EXPECT_EQ(flags.origin("--max-count"), "VERBATIM_MAX_COUNT");
  EXPECT_EQ(flags.origin("--name"), "");
}

TEST(Flags, HelpIsAskedForAnywhereAndBeatsMistakes) {
  Given given;
  Flags flags = declared(given);
  const char* const arguments[] = {"--max-count", "99", "-h"};
  EXPECT_FALSE(flags.read(arguments));
}

TEST(Flags, HelpShowsSectionsDefaultsAndChoicesInEightyColumns) {
  Given given;
  const std::string help = declared(given).help();
  EXPECT_NE(help.find("usage: program [FLAGS] FILE...\n"), std::string::npos);
  EXPECT_NE(help.find("\nFirst:\n  --loud\n"), std::string::npos);
  EXPECT_NE(help.find("  --kind a|b\n      Which. (default a)\n"), std::string::npos);
  EXPECT_NE(help.find("\nSecond:\n  --max-count N\n      How many.\n"), std::string::npos);
  for (std::size_t at = 0; at < help.size();) {
    const std::size_t end = help.find('\n', at);
    EXPECT_LE(end - at, 80u) << help.substr(at, end - at);
    at = end + 1;
  }
}

TEST(ParseSeconds, ClocksAndPlainSecondsAreRead) {
  EXPECT_EQ(parse_seconds("--start", "90.5"), 90.5);
  EXPECT_EQ(parse_seconds("--start", "0"), 0);
  EXPECT_EQ(parse_seconds("--start", "1:30"), 90);
  EXPECT_EQ(parse_seconds("--start", "01:02:03.5"), 3723.5);
  EXPECT_EQ(parse_seconds("--start", "100:00"), 6000);
}

TEST(ParseSeconds, WhatIsNoTimeIsRefused) {
  for (const char* const text : {"", "-1", "1e3", "1:60", "1:-2", "1:2:3:4", ":", "1:", "abc",
                                 "nan", "1.5:00", "1 ", "99999999999"}) {
    EXPECT_THROW(parse_seconds("--start", text), Error) << text;
  }
}

TEST(Flags, AFlagWithoutItsValueIsNamed) {
  EXPECT_EQ(refusal({"--name"}), "--name: expected a value, found nothing");
  EXPECT_EQ(refusal({"--loud", "--max-count"}), "--max-count: expected a value, found nothing");
}

TEST(ParseBytes, UnitsArePowersOf1024) {
  EXPECT_EQ(parse_bytes("--limit", "123"), 123u);
  EXPECT_EQ(parse_bytes("--limit", "4G"), std::size_t{4} << 30);
  EXPECT_EQ(parse_bytes("--limit", "500M"), std::size_t{500} << 20);
  EXPECT_EQ(parse_bytes("--limit", "1.5GiB"), std::size_t{3} << 29);
  EXPECT_EQ(parse_bytes("--limit", "2kb"), 0u + 2048) << "upper and lower case";
}

TEST(ParseBytes, WhatIsNoSizeIsRefused) {
  for (const char* const text : {"", "G", "-1G", "0", "0.1", "4Q", "4 G", "1e30T", "B", "iB"})
    EXPECT_THROW(parse_bytes("--limit", text), Error) << text;
}

TEST(FfmpegProgram, OffIsNoneAndAPathMustRun) {
  EXPECT_EQ(ffmpeg_program("off"), "");
  EXPECT_EQ(ffmpeg_program("/bin/sh"), "/bin/sh");
  EXPECT_THROW(ffmpeg_program("/no/such/program"), Error);
  EXPECT_THROW(ffmpeg_program("/bin"), Error) << "a folder";
  EXPECT_EQ(ffmpeg_program("./test"), std::filesystem::current_path() / "./test")
      << "it will run elsewhere";
  const std::string path = getenv("PATH");
  const Variable variable("PATH", "/no/such/folder");
  EXPECT_EQ(ffmpeg_program("auto"), "");
  setenv("PATH", path.c_str(), 1);
}

}  // namespace
}  // namespace verbatim
