// A stream gives what decoding at once gives, wherever the bytes are cut.
#include "text/utf8_stream.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "base/utf8.h"

namespace verbatim {
namespace {

std::string streamed(std::string_view bytes, std::size_t first_cut, std::size_t second_cut) {
  Utf8Stream stream;
  std::string text = stream.feed(bytes.substr(0, first_cut));
  text += stream.feed(bytes.substr(first_cut, second_cut - first_cut));
  text += stream.feed(bytes.substr(second_cut));
  return text + stream.finish();
}

TEST(Utf8Stream, CutsDoNotChangeText) {
  const std::string_view cases[] = {
      "plain",
      "caf\xC3\xA9 \xE4\xBD\xA0\xE5\xA5\xBD \xF0\x9F\x91\x8D",
      "\xE1\x80\xE2\xF0\x91\x92\xF1\xBF"
      "A",
      "\xF0\x9F\x91 \xED\xA0\x80 \xC0\xAF \xF4\x90\x80\x80",
      "\xF0\x9F\x91",
      "\xE0\xA0\xF0",
  };
  for (const std::string_view bytes : cases) {
    for (std::size_t first = 0; first <= bytes.size(); ++first) {
      for (std::size_t second = first; second <= bytes.size(); ++second)
        ASSERT_EQ(streamed(bytes, first, second), to_valid_utf8(bytes)) << first << ' ' << second;
    }
  }
}

TEST(Utf8Stream, SingleBytesOfNoiseDoNotChangeText) {
  std::mt19937 random(7);
  constexpr std::string_view kBytes =
      "a\xC3\xA9\xE4\xBD\xA0\xF0\x9F\x91\x8D\xED\xA0\x80\xF4\xC0\xFF";
  for (int round = 0; round < 3000; ++round) {
    std::string bytes;
    for (int i = 0; i < 12; ++i) bytes.push_back(kBytes[random() % kBytes.size()]);
    Utf8Stream stream;
    std::string text;
    for (const char byte : bytes) text += stream.feed(std::string_view(&byte, 1));
    ASSERT_EQ(text + stream.finish(), to_valid_utf8(bytes));
  }
}

TEST(Utf8Stream, CharactersComeWholeAndAtOnce) {
  Utf8Stream stream;
  EXPECT_EQ(stream.feed("a\xE4\xBD"), "a");
  EXPECT_EQ(stream.feed("\xA0"), "\xE4\xBD\xA0");
  EXPECT_EQ(stream.feed("\xE4"), "");
  EXPECT_EQ(stream.feed("b"),
            "\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(stream.finish(), "");
}

TEST(Utf8Stream, FinishEndsTheTextAndTheStreamStartsAnew) {
  Utf8Stream stream;
  EXPECT_EQ(stream.feed("\xF0\x9F\x91"), "");
  EXPECT_EQ(stream.finish(), "\xEF\xBF\xBD");
  EXPECT_EQ(stream.feed("\x8D"), "\xEF\xBF\xBD");
}

}  // namespace
}  // namespace verbatim
