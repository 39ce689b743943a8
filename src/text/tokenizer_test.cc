// Against ids of the reference's library (tests/golden/tokenizer.json) and of the model's own
// fixtures.
#include "text/tokenizer.h"

#include <gtest/gtest.h>

#include <boost/json/value.hpp>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "text/unicode.h"
#include "text/vocabulary_json.h"

namespace verbatim {
namespace {

using Ids = std::vector<std::int32_t>;

constexpr const char* kQwen = "models/qwen2.5-tokenizer/tokenizer.json";

Tokenizer open(const std::string& path) {
  return read_tokenizer_json(read_file(path, std::size_t{16} << 20), path);
}

const Tokenizer& qwen() {
  static const Tokenizer tokenizer = open(kQwen);
  return tokenizer;
}

std::string text_of(const boost::json::value& value) {
  const boost::json::string& text = value.as_string();
  return std::string(text.data(), text.size());
}

Ids ids_of(const boost::json::value& value) {
  Ids ids;
  for (const boost::json::value& id : value.as_array())
    ids.push_back(static_cast<std::int32_t>(id.as_int64()));
  return ids;
}

TEST(Tokenizer, IdsAreTheReferencesForEveryScript) {
  const boost::json::value golden =
      parse_json(read_file("tests/golden/tokenizer.json", 1 << 20), "tokenizer.json");
  for (const boost::json::value& file : golden.at("files").as_array()) {
    const Tokenizer tokenizer = open(text_of(file.at("tokenizer")));
    ASSERT_GT(file.at("cases").as_array().size(), 100u);
    for (const boost::json::value& row : file.at("cases").as_array()) {
      const std::string text = text_of(row.at("text"));
      const Ids expected = ids_of(row.at("ids"));
      ASSERT_EQ(tokenizer.encode(text, row.at("special").as_bool()), expected) << text;
      const boost::json::value* const decoded = row.as_object().if_contains("decoded");
      ASSERT_EQ(tokenizer.decode(expected, true), decoded ? text_of(*decoded) : nfc(text));
    }
  }
}

// Reference: transformers, tests/fixtures/vibevoice_asr; a clip of 5.86 s makes 44 slots.
TEST(Tokenizer, PromptIsTheFixturesPrompt) {
  std::string slots;
  for (int slot = 0; slot < 44; ++slot) slots += "<|box_start|>";
  const std::string text =
      "<|im_start|>system\nYou are a helpful assistant that transcribes audio input into text "
      "output in JSON format.<|im_end|>\n<|im_start|>user\n<|object_ref_start|>" +
      slots +
      "<|object_ref_end|>\nThis is a 5.86 seconds audio, please transcribe it with these keys: "
      "Start time, End time, Speaker ID, Content<|im_end|>\n";
  Ids expected = {151644, 8948,  198,    2610, 525,    264,  10950, 17847, 429,
                  1356,   55136, 7699,   1946, 1119,   1467, 2550,  304,   4718,
                  3561,   13,    151645, 198,  151644, 872,  198,   151646};
  expected.insert(expected.end(), 44, 151648);
  const Ids suffix = {151647, 198, 1986, 374,  264,  220,   20,   13,   23,   21,     6486,
                      7699,   11,  4486, 1356, 3114, 432,   448,  1493, 6894, 25,     5145,
                      882,    11,  3972, 882,  11,   29073, 3034, 11,   8883, 151645, 198};
  expected.insert(expected.end(), suffix.begin(), suffix.end());
  EXPECT_EQ(qwen().encode(text, true), expected);
}

TEST(Tokenizer, PromptWithContextIsTheFixturesPrompt) {
  const Ids expected = {151647, 198,  1986, 374,   264,  220,  22,   13,     20,    21,    6486,
                        7699,   11,   448,  4960,  3546, 25,   9975, 647,    23549, 51167, 271,
                        5501,   1356, 3114, 432,   448,  1493, 6894, 25,     5145,  882,   11,
                        3972,   882,  11,   29073, 3034, 11,   8883, 151645, 198};
  EXPECT_EQ(
      qwen().encode("<|object_ref_end|>\nThis is a 7.56 seconds audio, with extra info: About "
                    "VibeVoice\n\nPlease transcribe it with these keys: Start time, End time, "
                    "Speaker ID, Content<|im_end|>\n",
                    true),
      expected);
}

TEST(Tokenizer, AnswerDecodesWithoutItsSpecialTokens) {
  const Ids answer = {151644, 77091, 198, 58,  4913,  3479,  788,  15, 1335,   3727, 788,
                      16,     13,    17,  20,  1335,  82036, 788,  15, 1335,   2762, 3252,
                      3036,   773,   11,  847, 12357, 8877,  9207, 60, 151645, 198,  151643};
  EXPECT_EQ(qwen().decode(answer, true),
            "assistant\n[{\"Start\":0,\"End\":1.25,\"Speaker\":0,\"Content\":\"And so, my fellow "
            "Americans\"}]\n");
  EXPECT_TRUE(qwen().decode(answer, false).starts_with("<|im_start|>assistant\n"));
}

TEST(Tokenizer, NormalisedAddedTokensAreFoundInTheNormalForm) {
  Vocabulary vocabulary;
  for (int byte = 0; byte < 256; ++byte) {
    vocabulary.bytes.emplace_back(1, static_cast<char>(byte));
    vocabulary.byte_tokens[static_cast<std::size_t>(byte)] = byte;
  }
  vocabulary.bytes.insert(vocabulary.bytes.end(), {"\xC3\xA9!", "e"});
  vocabulary.added = {{.text = "\xC3\xA9!", .token = 256, .is_normalized = true},
                      {.text = "e", .token = 257}};
  vocabulary.is_nfc = true;
  const Tokenizer tokenizer(std::move(vocabulary));
  EXPECT_EQ(tokenizer.encode("\xC3\xA9!x", false), (Ids{256, 'x'}));
  // Given ones come first, and what they leave is normalised on its own.
  EXPECT_EQ(tokenizer.encode("e\xCC\x81!", false), (Ids{257, 0xCC, 0x81, '!'}));
}

TEST(Tokenizer, SpecialSpellingsAreTextUnlessAskedFor) {
  EXPECT_EQ(qwen().encode("<|im_end|>", true), (Ids{151645}));
  const Ids plain = qwen().encode("<|im_end|>", false);
  EXPECT_GT(plain.size(), 1u);
  for (const std::int32_t token : plain) EXPECT_FALSE(qwen().is_special(token));
  EXPECT_EQ(qwen().decode(plain, true), "<|im_end|>");
  EXPECT_EQ(qwen().encode("<tool_call>", false), (Ids{151657}));
}

TEST(Tokenizer, SpecialTokensHaveNames) {
  EXPECT_EQ(qwen().special("<|box_start|>"), 151648);
  EXPECT_EQ(qwen().special("<tool_call>"), 151657);
  EXPECT_TRUE(qwen().is_special(151648));
  EXPECT_FALSE(qwen().is_special(151657));
  EXPECT_FALSE(qwen().is_special(0));
  try {
    qwen().special("<|AUDIO|>");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kNotFound);
    EXPECT_NE(std::string(error.what()).find("<|AUDIO|>"), std::string::npos);
  }
}

TEST(Tokenizer, IdsWithoutAStringAreEmptyAndNoError) {
  EXPECT_EQ(qwen().size(), 151665);
  EXPECT_EQ(qwen().bytes(151664), "<|file_sep|>");
  for (const std::int32_t token : {151665, 152063, -1, 2147483647, -2147483647 - 1}) {
    EXPECT_EQ(qwen().bytes(token), "");
    EXPECT_FALSE(qwen().is_special(token));
  }
  EXPECT_EQ(qwen().decode(Ids{9707, 152063, 1879}, true), "Hello world");
}

TEST(Tokenizer, InvalidInputCountsAsReplacementCharacters) {
  EXPECT_EQ(qwen().encode("a\xE4\xBD"
                          "b\x80",
                          true),
            qwen().encode("a\xEF\xBF\xBD"
                          "b\xEF\xBF\xBD",
                          true));
  // Half of a special token's first byte sequence hides nothing: the replacement comes first.
  EXPECT_EQ(qwen().encode("\xE4\xBD<|im_end|>", true).back(), 151645);
}

TEST(Tokenizer, HalfCharactersDecodeToReplacements) {
  const Ids half = {qwen().encode("\xE1\xAA\xBF", false).front()};
  EXPECT_EQ(qwen().decode(half, true), "\xEF\xBF\xBD");
}

TEST(Tokenizer, LongPiecesAreMergedWithoutDelay) {
  // A scan for the best pair after every join would need some 10^11 steps.
  const std::size_t count = 400000;
  const Ids letters = qwen().encode(std::string(count, 'a'), false);
  EXPECT_LT(letters.size(), count / 4);
  EXPECT_EQ(qwen().decode(letters, false), std::string(count, 'a'));
  std::string spaces(count, ' ');
  EXPECT_EQ(qwen().decode(qwen().encode(spaces, false), false), spaces);
  std::string beginnings;
  for (std::size_t i = 0; i < count; i += 4) beginnings += "<|im";
  EXPECT_EQ(qwen().decode(qwen().encode(beginnings, true), false), beginnings);
}

TEST(Tokenizer, ThreadsShareOneTokenizer) {
  const std::string text = "Wie geht's? \xE4\xBD\xA0\xE5\xA5\xBD e\xCC\x81 <|im_end|> 1234";
  const Ids expected = qwen().encode(text, true);
  std::vector<Ids> found(4);
  std::vector<std::thread> threads;
  for (Ids& ids : found) {
    threads.emplace_back([&ids, &text] {
      for (int round = 0; round < 50; ++round) ids = qwen().encode(text, true);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Ids& ids : found) EXPECT_EQ(ids, expected);
}

}  // namespace
}  // namespace verbatim
