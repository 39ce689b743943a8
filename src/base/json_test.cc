// JSON in: exact numbers and errors that point at the place. JSON out: what other readers read
// back.
#include "base/json.h"

#include <gtest/gtest.h>

#include <bit>
#include <boost/json.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <string_view>

#include "base/scratch_folder.h"

namespace verbatim {
namespace {

std::string parse_error(std::string_view text) {
  return message_of(Code::kCorrupt, [&] { parse_json(text, "config.json"); });
}

TEST(ParseJson, ErrorsNameSourceLineAndColumn) {
  EXPECT_TRUE(
      parse_error("{\n  \"a\": 1,\n  \"b\": x}").starts_with("config.json: line 3, column 8: "));
  EXPECT_TRUE(parse_error("[1] 2").starts_with("config.json: line 1, column 5: "));
  EXPECT_TRUE(parse_error("").starts_with("config.json: line 1, column 1: "));
  EXPECT_TRUE(parse_error("{\"a\": ").starts_with("config.json: line 1, column 7: "));
  EXPECT_TRUE(parse_error("\"\xC3\x28\"").starts_with("config.json: line 1, column "));
  EXPECT_TRUE(parse_error("\xEF\xBB\xBF{}").starts_with("config.json: line 1, column 1: "));
}

TEST(ParseJson, NestingIsLimited) {
  EXPECT_NO_THROW(parse_json(std::string(64, '[') + std::string(64, ']'), "config.json"));
  EXPECT_NE(parse_error(std::string(65, '[') + std::string(65, ']')), "");
  EXPECT_NE(parse_error(std::string(1000000, '[')), "");
}

TEST(ParseJson, KeepsEveryKindOfValue) {
  const auto value = parse_json(
      R"({"null":null,"yes":true,"text":"a\u00e9\ud83d\ude00\n","list":[1,-2,18446744073709551615],"key\n":{}})",
      "x");
  const auto& object = value.as_object();
  EXPECT_TRUE(object.at("null").is_null());
  EXPECT_TRUE(object.at("yes").as_bool());
  EXPECT_EQ(object.at("text").as_string(), "a\xC3\xA9\xF0\x9F\x98\x80\n");
  EXPECT_EQ(object.at("list").at(0).as_int64(), 1);
  EXPECT_EQ(object.at("list").at(1).as_int64(), -2);
  EXPECT_EQ(object.at("list").at(2).as_uint64(), 18446744073709551615u);
  EXPECT_TRUE(object.contains("key\n"));
}

TEST(ParseJson, DecimalsBecomeTheNearestDouble) {
  for (const double value : {0.1, 1e-6, 2.2250738585072014e-308, 1.7976931348623157e308,
                             9007199254740993.0, 5e-324, 123456.789e-20, 0.3333333333333333}) {
    EXPECT_EQ(parse_json(formatted("%.17g", value), "x").to_number<double>(), value);
  }
  // Just above the middle of two doubles: digits far behind decide.
  EXPECT_EQ(parse_json("1.00000000000000011102230246251565404236316680908203126", "x").as_double(),
            1.0000000000000002);
}

TEST(JsonNumber, ReadsBackAsTheSameBits) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 20000; ++round) {
    const auto value = std::bit_cast<double>(static_cast<std::uint64_t>(random()));
    if (!std::isfinite(value)) continue;
    const std::string text = json_number(value);
    const auto again = parse_json(text, "x");
    ASSERT_TRUE(again.is_double()) << text;
    ASSERT_EQ(std::bit_cast<std::uint64_t>(again.get_double()), std::bit_cast<std::uint64_t>(value))
        << text;
  }
}

TEST(JsonNumber, IsShortAndPlainWithAFraction) {
  EXPECT_EQ(json_number(0), "0.0");
  EXPECT_EQ(json_number(-0.0), "-0.0");
  EXPECT_EQ(json_number(0.1), "0.1");
  EXPECT_EQ(json_number(12), "12.0");
  EXPECT_EQ(json_number(1e-6), "0.000001");
  EXPECT_EQ(json_number(123456789012345), "123456789012345.0");
  EXPECT_EQ(json_number(-1e15), "-1.0e+15");
  EXPECT_EQ(json_number(2.5e-7), "2.5e-07");
  EXPECT_EQ(json_number(std::numeric_limits<double>::quiet_NaN()), "null");
  EXPECT_EQ(json_number(-std::numeric_limits<double>::infinity()), "null");
}

TEST(JsonString, EscapesNoMoreThanItMust) {
  EXPECT_EQ(json_string("a/b \"c\" \\ \x7F \xC3\xA9"), "\"a/b \\\"c\\\" \\\\ \x7F \xC3\xA9\"");
  EXPECT_EQ(json_string(std::string_view("\0\b\t\n\f\r\x1F", 7)),
            "\"\\u0000\\b\\t\\n\\f\\r\\u001f\"");
}

TEST(JsonString, BrokenUtf8BecomesReplacementCharacters) {
  constexpr const char* kReplaced = "\xEF\xBF\xBD";
  const std::string one = kReplaced;
  EXPECT_EQ(json_string("a\x80z"), "\"a" + one + "z\"");
  EXPECT_EQ(json_string("a\xC3"), "\"a" + one + "\"");
  EXPECT_EQ(json_string("\xC3("), "\"" + one + "(\"");
  EXPECT_EQ(json_string("\xF0\x9F\x98z"), "\"" + one + "z\"");  // one character that broke off
  EXPECT_EQ(json_string("\xC0\xAF"), "\"" + one + one + "\"");  // overlong
  EXPECT_EQ(json_string("\xED\xA0\x80"), "\"" + one + one + one + "\"");  // a surrogate
  EXPECT_EQ(json_string("\xF4\x90\x80\x80"), "\"" + one + one + one + one + "\"");
  EXPECT_EQ(json_string("\xF4\x8F\xBF\xBF"), "\"\xF4\x8F\xBF\xBF\"");
}

TEST(JsonString, AnyBytesParse) {
  std::mt19937 random(2);
  for (int round = 0; round < 2000; ++round) {
    std::string text(random() % 40, '\0');
    for (char& byte : text) byte = static_cast<char>(random());
    ASSERT_NO_THROW(parse_json(json_string(text), "it"));
  }
}

class JsonObjectTest : public testing::Test {
 protected:
  const boost::json::value value_ = parse_json(
      R"({"size": 12.0, "half": 12.5, "big": 18446744073709551615, "huge": 1e300, "never": 1e999, "text": "t",
          "none": null, "flag": true, "rate": 0.5, "list": [], "deep": {"er": {"size": "wide"}}})",
      "config.json");
  const JsonObject object_{value_, "config.json"};
};

TEST_F(JsonObjectTest, ReadsWhatIsThere) {
  EXPECT_EQ(object_.integer("size", 1, 12), 12);
  EXPECT_EQ(object_.integer_or("none", 5, 1, 12), 5);
  EXPECT_EQ(object_.integer_or("size", 5, 1, 12), 12);
  EXPECT_EQ(object_.number("size"), 12.0);
  EXPECT_EQ(object_.number("big"), 18446744073709551615.0);
  EXPECT_EQ(object_.number_or("rate", 2), 0.5);
  EXPECT_EQ(object_.number_or("absent", 2), 2);
  EXPECT_TRUE(object_.boolean_or("flag", false));
  EXPECT_TRUE(object_.boolean_or("absent", true));
  EXPECT_EQ(object_.string("text"), "t");
  EXPECT_EQ(object_.string_or("none", "f"), "f");
  EXPECT_EQ(object_.object("deep").object("er").string("size"), "wide");
}

TEST_F(JsonObjectTest, NullCountsAsAbsent) {
  EXPECT_FALSE(object_.has("none"));
  EXPECT_FALSE(object_.has("absent"));
  EXPECT_TRUE(object_.has("flag"));
  EXPECT_EQ(object_.find("none"), nullptr);
}

TEST_F(JsonObjectTest, ErrorsNamePathFieldFoundAndExpected) {
  EXPECT_EQ(message_of(Code::kCorrupt,
                       [&] { object_.object("deep").object("er").integer("size", 1, 9); }),
            "config.json: deep.er.size: expected a whole number from 1 to 9, found \"wide\"");
  EXPECT_EQ(message_of(Code::kCorrupt, [&] { object_.integer("size", 1, 9); }),
            "config.json: size: expected a whole number from 1 to 9, found 12.0");
  EXPECT_EQ(message_of(Code::kCorrupt, [&] { object_.integer("none", 1, 9); }),
            "config.json: none: expected a whole number, found nothing");
  EXPECT_EQ(message_of(Code::kCorrupt, [&] { object_.object("list"); }),
            "config.json: list: expected an object, found a list");
  EXPECT_EQ(message_of(Code::kCorrupt, [&] { object_.number("text"); }),
            "config.json: text: expected a finite number, found \"t\"");
  EXPECT_EQ(message_of(Code::kCorrupt, [&] { object_.boolean_or("size", true); }),
            "config.json: size: expected true or false, found 12.0");
  EXPECT_EQ(message_of(Code::kCorrupt, [&] { object_.string_or("deep", ""); }),
            "config.json: deep: expected a string, found an object");
  EXPECT_EQ(message_of(Code::kCorrupt, [&] { JsonObject(value_.at("list"), "a.json"); }),
            "a.json: expected an object, found a list");
}

TEST_F(JsonObjectTest, NumbersThatAreNoneOfTheKindAreRefused) {
  constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();
  for (const char* const field : {"half", "big", "huge", "never", "flag"}) {
    EXPECT_NE(message_of(Code::kCorrupt, [&] { object_.integer(field, kLowest, kHighest); }), "")
        << field;
  }
  EXPECT_NE(message_of(Code::kCorrupt, [&] { object_.number("never"); }), "");
  EXPECT_NE(message_of(Code::kCorrupt, [&] { object_.number("flag"); }), "");
}

}  // namespace
}  // namespace verbatim
