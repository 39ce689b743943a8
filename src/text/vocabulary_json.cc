// Reads tokenizer.json: first that the file is of the kind we implement, then its tables.
// Reference: tokenizers (Rust), models/bpe/serialization.rs and tokenizer/added_vocabulary.rs.
#include "text/vocabulary_json.h"

#include <array>
#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/utf8.h"
#include "text/pretokenizer.h"

namespace verbatim {
namespace json = boost::json;
namespace {

std::string_view view(const json::string& text) {
  return {text.data(), text.size()};
}

// A name from the file as a message shows it.
std::string quoted(std::string_view name) {
  return "'" + shown_name(name, 60) + "'";
}

// The alphabet that spells bytes as printable characters: printable Latin-1 stands for itself, the
// other bytes are U+0100 and up, in order. Reference: pre_tokenizers/byte_level.rs, bytes_char.
std::array<char32_t, 256> byte_alphabet() {
  std::array<char32_t, 256> alphabet{};
  char32_t next = 0x100;
  for (char32_t byte = 0; byte < 256; ++byte) {
    const bool is_itself =
        (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || (byte >= 174 && byte <= 255);
    alphabet[byte] = is_itself ? byte : next++;
  }
  return alphabet;
}

class Reader {
 public:
  Reader(const json::value& root, std::string_view source)
      : source_(source), root_(root, source_), model_(root_.object("model")) {
    for (std::size_t byte = 0; byte < alphabet_.size(); ++byte) {
      if (alphabet_[byte] >= byte_of_.size()) byte_of_.resize(alphabet_[byte] + 1, -1);
      byte_of_[alphabet_[byte]] = static_cast<std::int16_t>(byte);
    }
  }

  Vocabulary read() {
    check_model();
    check_pre_tokenizer();
    check_output();
    read_normalizer();
    read_added();
    read_tokens();
    read_byte_tokens();
    read_merges();
    return std::move(vocabulary_);
  }

 private:
  void check_model() const;
  void check_split(const JsonObject& step) const;
  void check_pre_tokenizer() const;
  void check_output() const;
  void read_normalizer();
  void read_added();
  AddedToken added_token(const JsonObject& entry) const;
  void read_tokens();
  void place(std::int32_t token, std::string_view name, std::string bytes);
  void read_byte_tokens();
  void read_merges();
  std::pair<std::string_view, std::string_view> merge_names(const json::value& rule,
                                                            std::size_t rank) const;
  std::int32_t merge_token(std::string_view name, std::size_t rank) const;

  const json::object& tokens() const;
  // The token of a name in model.vocab; -1 for none or no valid id.
  std::int32_t token_of(std::string_view name) const;
  // The bytes that a name in the alphabet spells; false when it uses other characters.
  bool spell(std::string_view name, std::string& bytes) const;
  // Refuses what is not `expected` in a string field.
  void expect(const JsonObject& object, std::string_view field, std::string_view expected) const;
  void expect_false(const JsonObject& object, std::string_view field) const;

  std::string source_;
  JsonObject root_;
  JsonObject model_;
  std::array<char32_t, 256> alphabet_ = byte_alphabet();
  std::vector<std::int16_t> byte_of_;  // by code point; -1: not in the alphabet
  std::unordered_map<std::string_view, std::int32_t> added_;
  std::vector<std::string_view> names_;  // by token; of the bytes in vocabulary_, where placed
  Vocabulary vocabulary_;
};

void Reader::expect(const JsonObject& object, std::string_view field,
                    std::string_view expected) const {
  const std::string found = object.string_or(field, "");
  if (found == expected) return;
  fail(Code::kUnsupported, "%s: expected %s, found %s", object.name(field).c_str(),
       quoted(expected).c_str(), found.empty() ? "nothing" : quoted(found).c_str());
}

void Reader::expect_false(const JsonObject& object, std::string_view field) const {
  if (!object.boolean_or(field, false)) return;
  fail(Code::kUnsupported, "%s: expected false, found true", object.name(field).c_str());
}

// unk_token and fuse_unk are not looked at: all 256 bytes are tokens, so nothing is unknown.
void Reader::check_model() const {
  if (root_.has("version")) expect(root_, "version", "1.0");
  expect(model_, "type", "BPE");
  if (model_.number_or("dropout", 0) != 0) {
    fail(Code::kUnsupported, "%s: expected none, found %g", model_.name("dropout").c_str(),
         model_.number("dropout"));
  }
  if (model_.has("continuing_subword_prefix")) expect(model_, "continuing_subword_prefix", "");
  if (model_.has("end_of_word_suffix")) expect(model_, "end_of_word_suffix", "");
  expect_false(model_, "byte_fallback");
  expect_false(model_, "ignore_merges");
}

void Reader::check_split(const JsonObject& step) const {
  expect(step, "type", "Split");
  expect(step.object("pattern"), "Regex", kSplitRule);
  expect(step, "behavior", "Isolated");
  expect_false(step, "invert");
}

void Reader::check_pre_tokenizer() const {
  const JsonObject sequence = root_.object("pre_tokenizer");
  expect(sequence, "type", "Sequence");
  const json::value* const steps = sequence.find("pretokenizers");
  const std::string name = sequence.name("pretokenizers");
  if (steps == nullptr || !steps->is_array() || steps->get_array().size() != 2) {
    fail(Code::kUnsupported, "%s: expected two steps, Split and ByteLevel", name.c_str());
  }
  check_split(JsonObject(steps->get_array()[0], name + "[0]"));
  const JsonObject bytes(steps->get_array()[1], name + "[1]");
  expect(bytes, "type", "ByteLevel");
  // Both are true where the file does not say.
  for (const std::string_view field : {"add_prefix_space", "use_regex"}) {
    if (bytes.boolean_or(field, true)) {
      fail(Code::kUnsupported, "%s: expected false, found true", bytes.name(field).c_str());
    }
  }
}

// Truncation and padding are not looked at: they are the caller's wishes, not the vocabulary's.
void Reader::check_output() const {
  expect(root_.object("decoder"), "type", "ByteLevel");
  // A ByteLevel post-processor moves offsets only; others add tokens.
  if (root_.has("post_processor")) expect(root_.object("post_processor"), "type", "ByteLevel");
}

void Reader::read_normalizer() {
  if (!root_.has("normalizer")) return;
  expect(root_.object("normalizer"), "type", "NFC");
  vocabulary_.is_nfc = true;
}

AddedToken Reader::added_token(const JsonObject& entry) const {
  constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
  for (const std::string_view field : {"single_word", "lstrip", "rstrip"})
    expect_false(entry, field);
  AddedToken added;
  added.text = entry.string("content");
  if (added.text.empty()) {
    fail(Code::kCorrupt, "%s: expected a text, found an empty one", entry.name("content").c_str());
  }
  added.token = static_cast<std::int32_t>(entry.integer("id", 0, kMost));
  added.is_special = entry.boolean_or("special", false);
  added.is_normalized = entry.boolean_or("normalized", !added.is_special);
  return added;
}

void Reader::read_added() {
  const json::value* const list = root_.find("added_tokens");
  if (list == nullptr) return;
  if (!list->is_array()) {
    fail(Code::kCorrupt, "%s: expected a list", root_.name("added_tokens").c_str());
  }
  const json::array& entries = list->get_array();
  vocabulary_.added.reserve(entries.size());  // added_ refers to the texts in place
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::string name = root_.name("added_tokens") + "[" + std::to_string(i) + "]";
    const JsonObject entry(entries[i], name);
    const AddedToken& added = vocabulary_.added.emplace_back(added_token(entry));
    if (!added_.emplace(added.text, added.token).second) {
      fail(Code::kCorrupt, "%s: expected a text of its own, found %s a second time",
           entry.name("content").c_str(), quoted(added.text).c_str());
    }
  }
}

const json::object& Reader::tokens() const {
  const json::value* const found = model_.find("vocab");
  if (found == nullptr || !found->is_object()) {
    fail(Code::kCorrupt, "%s: expected an object of names and ids", model_.name("vocab").c_str());
  }
  return found->get_object();
}

std::int32_t Reader::token_of(std::string_view name) const {
  const json::value* const found = tokens().if_contains(name);
  if (found == nullptr || !found->is_int64()) return -1;
  const std::int64_t id = found->get_int64();
  return id >= 0 && id < static_cast<std::int64_t>(names_.size()) ? static_cast<std::int32_t>(id)
                                                                  : -1;
}

bool Reader::spell(std::string_view name, std::string& bytes) const {
  bytes.clear();
  while (!name.empty()) {
    const Utf8Character character = next_character(name);
    if (character.code >= byte_of_.size() || byte_of_[character.code] < 0) return false;
    bytes.push_back(static_cast<char>(byte_of_[character.code]));
    name.remove_prefix(character.length);
  }
  return true;
}

void Reader::place(std::int32_t token, std::string_view name, std::string bytes) {
  const auto index = static_cast<std::size_t>(token);
  if (names_[index].data() != nullptr) {
    fail(Code::kCorrupt, "%s: expected every id once, found %d for both %s and %s", source_.c_str(),
         token, quoted(names_[index]).c_str(), quoted(name).c_str());
  }
  names_[index] = name;
  vocabulary_.bytes[index] = std::move(bytes);
}

// As many ids as there are tokens: with no id twice and none too large there is no hole.
void Reader::read_tokens() {
  std::size_t count = tokens().size();
  for (const AddedToken& added : vocabulary_.added) {
    if (!tokens().contains(added.text)) ++count;
  }
  names_.resize(count);
  vocabulary_.bytes.resize(count);
  std::string bytes;
  for (const json::key_value_pair& entry : tokens()) {
    const std::string_view name(entry.key().data(), entry.key().size());
    const std::int32_t token = token_of(name);
    if (token < 0) {
      fail(Code::kCorrupt,
           "%s: %s: expected an id below %zu, the number of tokens, for ids have no holes",
           model_.name("vocab").c_str(), quoted(name).c_str(), count);
    }
    const auto added = added_.find(name);
    if (added != added_.end()) {
      if (added->second != token) {
        fail(Code::kCorrupt, "%s: %s: expected id %d as in added_tokens, found %d",
             model_.name("vocab").c_str(), quoted(name).c_str(), added->second, token);
      }
      if (spell(name, bytes) && bytes != name) {
        fail(Code::kCorrupt, "%s: %s: expected a text in added_tokens, found the spelling of bytes",
             model_.name("vocab").c_str(), quoted(name).c_str());
      }
      continue;
    }
    if (!spell(name, bytes)) {
      fail(Code::kCorrupt, "%s: %s: expected characters that spell bytes, found others",
           model_.name("vocab").c_str(), quoted(name).c_str());
    }
    place(token, name, bytes);
  }
  for (const AddedToken& added : vocabulary_.added) {
    if (static_cast<std::size_t>(added.token) >= count) {
      fail(
          Code::kCorrupt,
          "%s: %s: expected an id below %zu, the number of tokens, for ids have no holes; found %d",
          root_.name("added_tokens").c_str(), quoted(added.text).c_str(), count, added.token);
    }
    place(added.token, added.text, added.text);
  }
}

void Reader::read_byte_tokens() {
  for (std::size_t byte = 0; byte < alphabet_.size(); ++byte) {
    std::string name;
    append_utf8(name, alphabet_[byte]);
    const std::int32_t token = token_of(name);
    if (token < 0) {
      fail(Code::kCorrupt, "%s: expected all 256 bytes, found none for byte 0x%02zX, %s",
           model_.name("vocab").c_str(), byte, quoted(name).c_str());
    }
    vocabulary_.byte_tokens[byte] = token;
  }
}

// The two names of a rule, which is "a b" or ["a", "b"].
std::pair<std::string_view, std::string_view> Reader::merge_names(const json::value& rule,
                                                                  std::size_t rank) const {
  if (const json::string* const text = rule.if_string()) {
    const std::string_view both = view(*text);
    const std::size_t space = both.find(' ');
    if (space != std::string_view::npos && both.find(' ', space + 1) == std::string_view::npos)
      return {both.substr(0, space), both.substr(space + 1)};
  }
  if (const json::array* const names = rule.if_array()) {
    if (names->size() == 2 && (*names)[0].is_string() && (*names)[1].is_string())
      return {view((*names)[0].get_string()), view((*names)[1].get_string())};
  }
  fail(Code::kCorrupt, "%s[%zu]: expected two names, as \"a b\" or as a list",
       model_.name("merges").c_str(), rank);
}

std::int32_t Reader::merge_token(std::string_view name, std::size_t rank) const {
  const std::int32_t token = token_of(name);
  if (token >= 0) return token;
  fail(Code::kCorrupt, "%s[%zu]: expected tokens of model.vocab, found %s",
       model_.name("merges").c_str(), rank, quoted(name).c_str());
}

void Reader::read_merges() {
  const json::value* const list = model_.find("merges");
  if (list == nullptr || !list->is_array()) {
    fail(Code::kCorrupt, "%s: expected a list", model_.name("merges").c_str());
  }
  const json::array& rules = list->get_array();
  vocabulary_.merges = MergeTable(rules.size());
  std::string joined;
  for (std::size_t rank = 0; rank < rules.size(); ++rank) {
    const auto [left, right] = merge_names(rules[rank], rank);
    joined.assign(left).append(right);
    const Merge merge = {.rank = static_cast<std::int32_t>(rank),
                         .merged = merge_token(joined, rank)};
    if (!vocabulary_.merges.insert(merge_token(left, rank), merge_token(right, rank), merge)) {
      fail(Code::kCorrupt, "%s[%zu]: expected each rule once, found %s and %s again",
           model_.name("merges").c_str(), rank, quoted(left).c_str(), quoted(right).c_str());
    }
  }
}

}  // namespace

Tokenizer read_tokenizer_json(std::string_view text, std::string_view source) {
  const json::value root = parse_json(text, source);
  return Tokenizer(Reader(root, source).read());
}

}  // namespace verbatim
