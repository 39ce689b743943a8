// The full vocabulary against what the reference made of it, and what is said about files that
// must not load.
#include "text/vocabulary_tekken.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "text/utf8_stream.h"

namespace verbatim {
namespace json = boost::json;
namespace {

using Ids = std::vector<std::int32_t>;

constexpr const char* kCompact = "tests/golden/tekken/tekken-240718-compact.json";
constexpr std::int32_t kFullRows = 131072;
constexpr std::int32_t kSmallRows = 1300;
constexpr std::size_t kSmallEntries = 310;  // ten more than the model has rows for

std::string text_of(const json::value& value) {
  const json::string& text = value.as_string();
  return std::string(text.data(), text.size());
}

Ids ids_of(const json::value& value) {
  Ids ids;
  for (const json::value& id : value.as_array())
    ids.push_back(static_cast<std::int32_t>(id.as_int64()));
  return ids;
}

json::array special_tokens() {
  json::array list;
  for (int rank = 0; rank < 35; ++rank) {
    std::string name = formatted("<SPECIAL_%d>", rank);
    if (rank < 3) name = rank == 0 ? "<unk>" : (rank == 1 ? "<s>" : "</s>");
    if (rank == 32) name = "[STREAMING_PAD]";
    if (rank == 33) name = "[STREAMING_WORD]";
    list.push_back({{"rank", rank}, {"token_str", name}, {"is_control", true}});
  }
  return list;
}

// A file of the published form with the first `entries` ranks of the real vocabulary.
json::value tekken_file(std::size_t entries) {
  const json::value compact = json::parse(read_file(kCompact, 1 << 21));
  json::value root = {{"config", compact.at("config")}, {"special_tokens", special_tokens()}};
  root.as_object()["audio"] = json::parse(R"({"sampling_rate": 16000, "frame_rate": 12.5,
      "audio_encoding_config": {"num_mel_bins": 128, "hop_length": 160, "window_size": 400},
      "chunk_length_s": null, "transcription_format": "streaming", "transcription_delay_ms": 480,
      "streaming_look_ahead_ms": 2.5, "streaming_look_back_ms": 52.5,
      "streaming_n_left_pad_tokens": 32})");
  const std::string ranks = text_of(compact.at("bpe_ranks"));
  json::array& vocab = root.as_object()["vocab"].emplace_array();
  std::size_t at = std::string_view("! 0 ").size();
  while (vocab.size() < entries && at < ranks.size()) {
    const std::size_t end = std::min(ranks.find(' ', at), ranks.size());
    vocab.push_back({{"rank", vocab.size()},
                     {"token_bytes", ranks.substr(at, end - at)},
                     {"token_str", nullptr}});
    at = end + 1;
  }
  return root;
}

Tekken read(const json::value& root, std::int32_t rows = kSmallRows) {
  return read_tekken_json(json::serialize(root), "folder/tekken.json", rows);
}

const json::value& small() {
  static const json::value root = tekken_file(kSmallEntries);
  return root;
}

const Tokenizer& full() {
  static const Tokenizer tokenizer =
      read(tekken_file(std::numeric_limits<std::size_t>::max()), kFullRows).tokenizer;
  return tokenizer;
}

json::value golden(const std::string& name) {
  return parse_json(read_file("tests/golden/tekken/" + name, 1 << 20), name);
}

// As the golden's text is: without the white space around it.
std::string stripped(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \n");
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(" \n") + 1 - first);
}

TEST(VocabularyTekken, IdsAreSpecialTokensThenRanks) {
  const Tokenizer tokenizer = read(small()).tokenizer;
  EXPECT_EQ(tokenizer.size(), kSmallRows);
  EXPECT_EQ(tokenizer.special("<s>"), 1);
  EXPECT_EQ(tokenizer.special("[STREAMING_PAD]"), 32);
  EXPECT_EQ(tokenizer.special("<SPECIAL_34>"), 34);
  EXPECT_EQ(tokenizer.special("<SPECIAL_999>"), 999);
  EXPECT_EQ(tokenizer.bytes(33), "[STREAMING_WORD]");
  EXPECT_TRUE(tokenizer.is_special(0));
  EXPECT_TRUE(tokenizer.is_special(999));
  EXPECT_FALSE(tokenizer.is_special(1000));
  for (int byte = 0; byte < 256; ++byte)
    ASSERT_EQ(tokenizer.bytes(1000 + byte), std::string(1, static_cast<char>(byte)));
  EXPECT_TRUE(tokenizer.bytes(kSmallRows).empty());
  EXPECT_EQ(tokenizer.decode(Ids{1, 32, 33, 1065, 999, 2}, true), "A");
  EXPECT_EQ(tokenizer.decode(Ids{1, 1065}, false), "<s>A");
}

TEST(VocabularyTekken, AudioBlockIsTheFiles) {
  const TekkenAudio audio = read(small()).audio;
  EXPECT_EQ(audio.sampling_rate, 16000);
  EXPECT_EQ(audio.frame_rate, 12.5);
  EXPECT_EQ(audio.num_mel_bins, 128);
  EXPECT_EQ(audio.hop_length, 160);
  EXPECT_EQ(audio.window_size, 400);
  EXPECT_EQ(audio.transcription_delay_ms, 480);
  EXPECT_EQ(audio.streaming_look_ahead_ms, 2.5);
  EXPECT_EQ(audio.streaming_look_back_ms, 52.5);
  EXPECT_EQ(audio.streaming_n_left_pad_tokens, 32);
}

TEST(VocabularyTekken, EntriesBeyondTheModelsRowsAreIgnored) {
  json::value root = small();
  json::array& vocab = root.as_object()["vocab"].as_array();
  vocab[300] = "nothing of the kind";
  vocab[301].as_object()["rank"] = 7;
  vocab[302] = vocab[17];
  EXPECT_EQ(read(root).tokenizer.size(), kSmallRows);
  EXPECT_THROW(read(root, kSmallRows + 1), Error);
  root.as_object()["version"] = 1;
  root.as_object()["image"] = json::object();
  root.as_object()["audio"].as_object()["voice_num_audio_tokens"] = json::object();
  root.as_object()["audio"].as_object().erase("chunk_length_s");
  EXPECT_EQ(read(root).tokenizer.size(), kSmallRows);
}

TEST(VocabularyTekken, DecodesAsTheGoldenInOnePieceAndIdById) {
  const json::value file = golden("expected.json");
  ASSERT_EQ(file.at("decode").as_array().size(), 13u);
  for (const json::value& row : file.at("decode").as_array()) {
    const Ids ids = ids_of(row.at("ids"));
    EXPECT_EQ(stripped(full().decode(ids, true)), text_of(row.at("text")));
    Utf8Stream stream;
    std::string whole;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      std::string released;
      if (!full().is_special(ids[i])) released = stream.feed(full().bytes(ids[i]));
      whole += released;
      if (row.at("released").is_null()) continue;
      EXPECT_EQ(released, text_of(row.at("released").at(i))) << text_of(row.at("what")) << i;
    }
    const std::string flushed = stream.finish();
    EXPECT_EQ(stripped(whole + flushed), text_of(row.at("text"))) << text_of(row.at("what"));
    if (row.at("released").is_null()) continue;
    EXPECT_EQ(flushed, text_of(row.at("flushed")));
  }
}

TEST(VocabularyTekken, IdsAreTheReferencesForEveryScript) {
  const auto expect_ids = [](const json::value& cases, std::size_t least) {
    ASSERT_GE(cases.as_array().size(), least);
    for (const json::value& row : cases.as_array()) {
      const std::string text = text_of(row.at("text"));
      const Ids expected = ids_of(row.at("ids"));
      ASSERT_EQ(full().encode(text, false), expected) << text;
      ASSERT_EQ(full().decode(expected, true), text);
    }
  };
  expect_ids(golden("expected.json").at("encode"), 20);
  expect_ids(golden("encode.json").at("cases"), 800);
}

TEST(VocabularyTekken, SpecialTokensAreNeverParsedFromText) {
  for (const std::string text : {"<s>", "[STREAMING_PAD]", "a</s>b<SPECIAL_999>"}) {
    const Ids ids = full().encode(text, true);
    EXPECT_EQ(ids, full().encode(text, false));
    for (const std::int32_t id : ids) EXPECT_FALSE(full().is_special(id)) << text;
    EXPECT_EQ(full().decode(ids, true), text);
  }
}

// As tiktoken has it: a piece is looked up before its bytes are joined.
TEST(VocabularyTekken, APieceThatIsATokenNeedsNoJoining) {
  json::value root = small();
  root.as_object()["vocab"].as_array()[299].as_object()["token_bytes"] = "IHF6eGo=";
  const Tokenizer tokenizer = read(root).tokenizer;
  ASSERT_EQ(tokenizer.bytes(1299), " qzxj");
  EXPECT_EQ(tokenizer.encode(" qzxj qzxj", false), (Ids{1299, 1299}));
  EXPECT_EQ(tokenizer.encode(" qzxjq", false).size(), 6u);
}

// Changes the small file and expects a refusal whose sentence has both parts in it.
void expect_refused(const std::function<void(json::object&)>& change, Code code, const char* where,
                    const char* what, std::int32_t rows = kSmallRows) {
  json::value root = small();
  change(root.as_object());
  try {
    read(root, rows);
    ADD_FAILURE() << "not refused: " << where << ' ' << what;
  } catch (const Error& error) {
    const std::string sentence = error.what();
    EXPECT_EQ(error.code(), code) << sentence;
    EXPECT_TRUE(sentence.starts_with("folder/tekken.json: ")) << sentence;
    EXPECT_NE(sentence.find(where), std::string::npos) << sentence;
    EXPECT_NE(sentence.find("expected"), std::string::npos) << sentence;
    EXPECT_NE(sentence.find(what), std::string::npos) << sentence;
  }
}

json::object& config(json::object& root) {
  return root["config"].as_object();
}
json::object& audio(json::object& root) {
  return root["audio"].as_object();
}
json::object& special(json::object& root, std::size_t index) {
  return root["special_tokens"].as_array().at(index).as_object();
}
json::object& entry(json::object& root, std::size_t index) {
  return root["vocab"].as_array().at(index).as_object();
}

TEST(VocabularyTekken, OtherKindsAreRefusedByName) {
  const auto refused = [](const std::function<void(json::object&)>& change, const char* where,
                          const char* what) {
    expect_refused(change, Code::kUnsupported, where, what);
  };
  refused([](auto& root) { config(root)["pattern"] = "\\p{N}{1,3}|\\s+"; }, "config.pattern",
          "\\p{N}{1,3}");
  refused([](auto& root) { audio(root)["transcription_format"] = "instruct"; },
          "audio.transcription_format", "'instruct'");
  refused([](auto& root) { audio(root).erase("transcription_format"); },
          "audio.transcription_format", "nothing");
  refused([](auto& root) { audio(root)["chunk_length_s"] = 30.0; }, "audio.chunk_length_s", "30");
  refused([](auto& root) { audio(root)["streaming_beams"] = 1; }, "audio", "'streaming_beams'");
  refused([](auto& root) { audio(root)["audio_encoding_config"].as_object()["dither"] = 1; },
          "audio.audio_encoding_config", "'dither'");
}

TEST(VocabularyTekken, HolesAndWrongEntriesAreRefusedByName) {
  const auto refused = [](const std::function<void(json::object&)>& change, const char* where,
                          const char* what) {
    expect_refused(change, Code::kCorrupt, where, what);
  };
  refused([](auto& root) { root.erase("config"); }, "config", "an object");
  refused([](auto& root) { config(root).erase("pattern"); }, "config.pattern", "nothing");
  refused([](auto& root) { config(root)["default_num_special_tokens"] = 0; },
          "config.default_num_special_tokens", "found 0");
  refused([](auto& root) { config(root)["default_num_special_tokens"] = 1045; },
          "config.default_num_special_tokens", "at most 1044");
  refused([](auto& root) { config(root)["default_num_special_tokens"] = 34; }, "special_tokens",
          "found 35");
  refused([](auto& root) { root.erase("special_tokens"); }, "special_tokens", "a list");
  refused([](auto& root) { special(root, 7)["rank"] = 8; }, "special_tokens[7]: rank", "found 8");
  refused([](auto& root) { special(root, 7).erase("rank"); }, "special_tokens[7]: rank", "nothing");
  refused([](auto& root) { root["special_tokens"].as_array()[3] = "x"; }, "special_tokens[3]",
          "an object");
  refused([](auto& root) { special(root, 7)["token_str"] = ""; }, "special_tokens[7]: token_str",
          "empty");
  refused([](auto& root) { special(root, 7)["token_str"] = "<s>"; }, "special_tokens",
          "'<s>' at 1 and at 7");
  refused([](auto& root) { special(root, 7)["token_str"] = "<SPECIAL_900>"; }, "special_tokens",
          "at 7 and at 900");
  refused([](auto& root) { root.erase("vocab"); }, "vocab", "a list");
  refused([](auto& root) { root["vocab"].as_array().resize(299); }, "vocab",
          "at least 300 entries");
  refused(
      [](auto& root) { root["vocab"].as_array().erase(root["vocab"].as_array().begin() + 270); },
      "vocab[270]: rank", "expected 270, its place in the list, found 271");
  refused([](auto& root) { entry(root, 280)["rank"] = -1; }, "vocab[280]: rank", "found -1");
  refused([](auto& root) { entry(root, 280)["rank"] = "280"; }, "vocab[280]: rank", "\"280\"");
  refused([](auto& root) { root["vocab"].as_array()[280] = nullptr; }, "vocab[280]", "null");
  refused([](auto& root) { entry(root, 65)["token_bytes"] = "Qg=="; }, "vocab[65]: token_bytes",
          "0x41, found 'Qg=='");
  refused([](auto& root) { entry(root, 65)["token_bytes"] = "QUE="; }, "vocab[65]: token_bytes",
          "0x41, found 'QUE='");
  for (const char* bad :
       {"", "QUF", "QU!B", "QUI===", "====", "Q===", "Q=E=", "QUJ=", "QR==", " QUI="})
    refused([bad](auto& root) { entry(root, 299)["token_bytes"] = bad; }, "vocab[299]: token_bytes",
            bad);
  refused([](auto& root) { entry(root, 299)["token_bytes"] = entry(root, 270)["token_bytes"]; },
          "vocab[299]: token_bytes", "those of vocab[270]");
  refused([](auto& root) { entry(root, 299)["token_bytes"] = nullptr; }, "vocab[299]",
          "token_bytes");
  refused([](auto& root) { entry(root, 299).erase("token_str"); }, "vocab[299]", "token_str");
  refused([](auto& root) { entry(root, 299)["score"] = 1; }, "vocab[299]", "score");
}

TEST(VocabularyTekken, AModelWithOtherRowsIsRefused) {
  const auto unchanged = [](json::object&) {};
  expect_refused(unchanged, Code::kCorrupt, "vocab", "at least 130072 entries", kFullRows);
  expect_refused(unchanged, Code::kCorrupt, "config.default_num_special_tokens", "1255 rows", 1255);
  expect_refused(unchanged, Code::kCorrupt, "config.default_num_special_tokens", "at most 0", 0);
  EXPECT_EQ(read(small(), 1256).tokenizer.size(), 1256);
}

TEST(VocabularyTekken, AudioBlocksThatSayTooLittleOrTooMuchAreRefused) {
  const auto refused = [](const std::function<void(json::object&)>& change, const char* where,
                          const char* what) {
    expect_refused(change, Code::kCorrupt, where, what);
  };
  refused([](auto& root) { root.erase("audio"); }, "audio", "an object");
  for (const char* field :
       {"sampling_rate", "frame_rate", "audio_encoding_config", "transcription_delay_ms",
        "streaming_look_ahead_ms", "streaming_look_back_ms", "streaming_n_left_pad_tokens"})
    refused([field](auto& root) { audio(root)[field] = nullptr; }, field, "nothing");
  for (const char* field : {"num_mel_bins", "hop_length", "window_size"}) {
    refused([field](auto& root) { audio(root)["audio_encoding_config"].as_object()[field] = 0; },
            field, "found 0");
  }
  for (const char* field : {"sampling_rate", "frame_rate", "transcription_delay_ms"})
    refused([field](auto& root) { audio(root)[field] = 0; }, field, "found 0");
  for (const char* field :
       {"streaming_look_ahead_ms", "streaming_look_back_ms", "streaming_n_left_pad_tokens"})
    refused([field](auto& root) { audio(root)[field] = -1; }, field, "found -1");
  for (const json::value& delay : {json::value(40), json::value(500), json::value(480.5)})
    refused([&delay](auto& root) { audio(root)["transcription_delay_ms"] = delay; },
            "audio.transcription_delay_ms", "a multiple of 80 ms");
}

TEST(VocabularyTekken, TextThatIsNoTekkenIsRefused) {
  for (const char* text : {"", "{", "[]", "null", "{}", "{\"config\":", "\xFF"}) {
    try {
      read_tekken_json(text, "tekken.json", kSmallRows);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kCorrupt) << error.what();
    }
  }
}

TEST(VocabularyTekken, TruncatedFilesAreRefused) {
  const std::string text = json::serialize(small());
  for (std::size_t size = 0; size < text.size(); size += 97)
    EXPECT_THROW(read_tekken_json(text.substr(0, size), "tekken.json", kSmallRows), Error) << size;
}

}  // namespace
}  // namespace verbatim
