// Files that must load, and what is said about those that must not.
#include "text/vocabulary_json.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <functional>
#include <limits>
#include <string>

#include "base/error.h"
#include "base/file.h"

namespace verbatim {
namespace json = boost::json;
namespace {

constexpr const char* kSmall = "tests/golden/tokenizers/merges_as_lists.json";

json::value small() {
  return json::parse(read_file(kSmall, 1 << 20));
}

Tokenizer read(const json::value& root) {
  return read_tokenizer_json(json::serialize(root), "folder/tokenizer.json");
}

// Changes the small tokenizer and expects a refusal whose sentence has both parts in it.
void expect_refused(const std::function<void(json::object&)>& change, Code code, const char* where,
                    const char* what) {
  json::value root = small();
  change(root.as_object());
  try {
    read(root);
    ADD_FAILURE() << "not refused: " << where << ' ' << what;
  } catch (const Error& error) {
    const std::string sentence = error.what();
    EXPECT_EQ(error.code(), code) << sentence;
    EXPECT_TRUE(sentence.starts_with("folder/tokenizer.json")) << sentence;
    EXPECT_NE(sentence.find(where), std::string::npos) << sentence;
    EXPECT_NE(sentence.find(what), std::string::npos) << sentence;
  }
}

json::object& model(json::object& root) {
  return root["model"].as_object();
}
json::object& vocab(json::object& root) {
  return model(root)["vocab"].as_object();
}
json::array& merges(json::object& root) {
  return model(root)["merges"].as_array();
}
json::object& added(json::object& root, std::size_t index) {
  return root["added_tokens"].as_array().at(index).as_object();
}
json::object& step(json::object& root, std::size_t index) {
  return root["pre_tokenizer"].as_object()["pretokenizers"].as_array().at(index).as_object();
}

TEST(VocabularyJson, MergesMayBeListsOrStrings) {
  json::value root = small();
  const Tokenizer lists = read(root);
  for (json::value& rule : merges(root.as_object())) {
    json::string both = rule.at(0).as_string();
    both += " ";
    both += rule.at(1).as_string();
    rule = both;
  }
  const Tokenizer strings = read(root);
  const std::string text = "This is a 1.25 seconds audio, please transcribe it<|im_end|>\n";
  EXPECT_EQ(lists.encode(text, true), strings.encode(text, true));
  EXPECT_LT(lists.encode(text, true).size(), text.size() / 2);
}

TEST(VocabularyJson, NormalFormIsTheFilesChoice) {
  json::value root = small();
  root.as_object()["normalizer"] = nullptr;
  const std::string text = "e\xCC\x81";
  EXPECT_EQ(read(root).decode(read(root).encode(text, false), false), text);
  EXPECT_EQ(read(small()).decode(read(small()).encode(text, false), false), "\xC3\xA9");
}

TEST(VocabularyJson, AddedTokensMayStandInTheVocabularyToo) {
  json::value root = small();
  const json::value id = added(root.as_object(), 0)["id"];
  vocab(root.as_object())["<|endoftext|>"] = id;
  EXPECT_EQ(read(root).special("<|endoftext|>"), id.as_int64());
  EXPECT_EQ(read(root).size(), read(small()).size());
}

TEST(VocabularyJson, AbsentPartsAreAsTheReferenceHasThem) {
  json::value root = small();
  for (const char* part : {"version", "truncation", "padding", "post_processor"})
    root.as_object().erase(part);
  for (const char* part : {"dropout", "unk_token", "fuse_unk", "byte_fallback", "ignore_merges"})
    model(root.as_object()).erase(part);
  EXPECT_EQ(read(root).size(), read(small()).size());
  root.as_object()["added_tokens"] = nullptr;
  EXPECT_LT(read(root).size(), read(small()).size());
}

TEST(VocabularyJson, OtherKindsAreRefusedByName) {
  const auto refused = [](const std::function<void(json::object&)>& change, const char* where,
                          const char* what) {
    expect_refused(change, Code::kUnsupported, where, what);
  };
  refused([](auto& root) { root["version"] = "2.0"; }, "version", "'2.0'");
  refused([](auto& root) { model(root)["type"] = "Unigram"; }, "model.type", "'Unigram'");
  refused([](auto& root) { model(root)["type"] = nullptr; }, "model.type", "nothing");
  refused([](auto& root) { model(root)["dropout"] = 0.1; }, "model.dropout", "0.1");
  refused([](auto& root) { model(root)["byte_fallback"] = true; }, "model.byte_fallback", "true");
  refused([](auto& root) { model(root)["ignore_merges"] = true; }, "model.ignore_merges", "true");
  refused([](auto& root) { model(root)["continuing_subword_prefix"] = "##"; },
          "model.continuing_subword_prefix", "'##'");
  refused([](auto& root) { model(root)["end_of_word_suffix"] = "</w>"; },
          "model.end_of_word_suffix", "'</w>'");
  refused([](auto& root) { root["normalizer"] = {{"type", "NFKC"}}; }, "normalizer.type", "'NFKC'");
  refused(
      [](auto& root) {
        root["pre_tokenizer"] = {{"type", "Metaspace"}};
      },
      "pre_tokenizer.type", "'Metaspace'");
  refused(
      [](auto& root) { root["pre_tokenizer"].as_object()["pretokenizers"].as_array().pop_back(); },
      "pre_tokenizer.pretokenizers", "two steps");
  refused(
      [](auto& root) {
        step(root, 0)["pattern"] = {{"Regex", "\\p{N}{1,3}|\\s+"}};
      },
      "pretokenizers[0]: pattern.Regex", "\\p{N}{1,3}");
  refused(
      [](auto& root) {
        step(root, 0)["pattern"] = {{"String", " "}};
      },
      "pretokenizers[0]: pattern.Regex", "nothing");
  refused([](auto& root) { step(root, 0)["behavior"] = "Removed"; }, "behavior", "'Removed'");
  refused([](auto& root) { step(root, 0)["invert"] = true; }, "invert", "true");
  refused([](auto& root) { step(root, 1)["add_prefix_space"] = true; }, "add_prefix_space", "true");
  refused([](auto& root) { step(root, 1).erase("use_regex"); }, "use_regex", "true");
  refused(
      [](auto& root) {
        root["post_processor"] = {{"type", "TemplateProcessing"}};
      },
      "post_processor.type", "'TemplateProcessing'");
  refused(
      [](auto& root) {
        root["decoder"] = {{"type", "Metaspace"}};
      },
      "decoder.type", "'Metaspace'");
  for (const char* flag : {"single_word", "lstrip", "rstrip"})
    refused([flag](auto& root) { added(root, 3)[flag] = true; }, "added_tokens[3]", flag);
}

TEST(VocabularyJson, ContradictionsAreRefusedByName) {
  const auto refused = [](const std::function<void(json::object&)>& change, const char* where,
                          const char* what) {
    expect_refused(change, Code::kCorrupt, where, what);
  };
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  refused([](auto& root) { root.erase("model"); }, "model", "an object");
  refused([](auto& root) { root.erase("pre_tokenizer"); }, "pre_tokenizer", "an object");
  refused([](auto& root) { root.erase("decoder"); }, "decoder", "an object");
  refused([](auto& root) { model(root)["vocab"] = json::array(); }, "model.vocab", "an object");
  refused([](auto& root) { model(root).erase("merges"); }, "model.merges", "a list");
  refused([](auto& root) { root["added_tokens"] = 1; }, "added_tokens", "a list");
  for (const json::value& id : {json::value(-1), json::value(kHuge), json::value(506),
                                json::value(1.5), json::value("7"), json::value(nullptr)})
    refused([&id](auto& root) { vocab(root)["in"] = id; }, "model.vocab", "'in'");
  // A hole shows as an id that is too large for the number of tokens.
  refused([](auto& root) { vocab(root).erase("in"), merges(root).clear(); }, "added_tokens",
          "no holes");
  refused([](auto& root) { vocab(root)["in"] = 300; }, "once", "300");
  refused([](auto& root) { added(root, 1)["id"] = 484; }, "484", "'<|im_start|>'");
  refused([](auto& root) { added(root, 1)["id"] = 65; }, "65", "'<|im_start|>'");
  refused([](auto& root) { added(root, 21)["id"] = 1000000; }, "added_tokens", "1000000");
  refused([](auto& root) { added(root, 1)["id"] = -1; }, "added_tokens[1]", "-1");
  refused([](auto& root) { added(root, 1)["content"] = ""; }, "added_tokens[1]", "empty");
  refused([](auto& root) { added(root, 1)["content"] = "<|endoftext|>"; }, "added_tokens[1]",
          "a second time");
  refused([](auto& root) { vocab(root)["<|im_end|>"] = 300; }, "'<|im_end|>'", "486");
  refused(
      [](auto& root) {
        added(root, 1)["content"] = "\xC3\xA9";
        added(root, 1)["id"] = vocab(root)["\xC3\xA9"];
        root["added_tokens"].as_array().resize(2);
      },
      "'\xC3\xA9'", "spelling of bytes");
  refused([](auto& root) { vocab(root)["a b"] = 506; }, "'a b'", "spell bytes");
  refused([](auto& root) { vocab(root)["\xE2\x96\x81the"] = 506; }, "model.vocab", "spell bytes");
  refused(
      [](auto& root) {
        const json::value id = vocab(root)["!"];
        vocab(root).erase("!");
        vocab(root)["!!!!"] = id;
      },
      "byte 0x21", "'!'");
  refused([](auto& root) { merges(root)[2] = json::array{"t", "qq"}; }, "model.merges[2]", "'tqq'");
  refused([](auto& root) { merges(root)[2] = "th"; }, "model.merges[2]", "two names");
  refused([](auto& root) { merges(root)[2] = "t h e"; }, "model.merges[2]", "two names");
  refused([](auto& root) { merges(root)[2] = json::array{"t"}; }, "model.merges[2]", "two names");
  refused([](auto& root) { merges(root)[2] = json::array{"", "t"}; }, "model.merges[2]", "''");
  refused([](auto& root) { merges(root)[2] = 7; }, "model.merges[2]", "two names");
  refused([](auto& root) { merges(root).push_back(merges(root)[0]); }, "model.merges[228]",
          "again");
}

TEST(VocabularyJson, TextThatIsNoJsonIsRefused) {
  for (const char* text : {"", "{", "[]", "null", "{\"model\":", "\xFF"}) {
    try {
      read_tokenizer_json(text, "tokenizer.json");
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kCorrupt) << error.what();
    }
  }
}

TEST(VocabularyJson, TruncatedFilesAreRefused) {
  const std::string text = read_file(kSmall, 1 << 20);
  for (std::size_t size = 0; size + 1 < text.size(); size += 97)
    EXPECT_THROW(read_tokenizer_json(text.substr(0, size), "tokenizer.json"), Error) << size;
}

}  // namespace
}  // namespace verbatim
