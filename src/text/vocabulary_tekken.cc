// Reads tekken.json: special tokens first, then the bytes of every rank, then the audio block.
// Reference: mistral_common, tokens/tokenizers/tekken.py and tokens/tokenizers/audio.py.
#include "text/vocabulary_tekken.h"

#include <algorithm>
#include <array>
#include <boost/json/value.hpp>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "base/utf8.h"
#include "text/pretokenizer.h"

namespace verbatim {
namespace json = boost::json;
namespace {

constexpr std::int32_t kByteTokens = 256;
// Far above what a file has: one thousand special tokens, and the values of the audio block.
constexpr std::int32_t kMostSpecial = 1 << 16;
constexpr std::int32_t kMostAudio = 1 << 20;

std::string quoted(std::string_view name, std::size_t most_bytes = 60) {
  return "'" + shown_name(name, most_bytes) + "'";
}

// The six bits of a character of base64; -1 for others.
int sextet(char character) {
  if (character >= 'A' && character <= 'Z') return character - 'A';
  if (character >= 'a' && character <= 'z') return character - 'a' + 26;
  if (character >= '0' && character <= '9') return character - '0' + 52;
  if (character == '+') return 62;
  return character == '/' ? 63 : -1;
}

// False for what is not the base64 of RFC 4648, padded, with zeros in the bits that are left over.
bool decode_base64(std::string_view text, std::string& bytes) {
  bytes.clear();
  if (text.size() % 4 != 0) return false;
  std::size_t count = text.size();
  while (count + 2 > text.size() && count > 0 && text[count - 1] == '=') --count;
  std::uint32_t bits = 0;
  int filled = 0;
  for (const char character : text.substr(0, count)) {
    const int value = sextet(character);
    if (value < 0) return false;
    bits = (bits << 6 | static_cast<std::uint32_t>(value)) & 0xFFFF;
    filled += 6;
    if (filled < 8) continue;
    filled -= 8;
    bytes.push_back(static_cast<char>(bits >> filled & 0xFF));
  }
  return (bits & ((1u << filled) - 1)) == 0;
}

class Reader {
 public:
  Reader(const json::value& root, std::string_view source, std::int32_t vocab_size)
      : source_(source), root_(root, source_), vocab_size_(vocab_size) {}

  Tekken read() {
    read_config();
    const TekkenAudio audio = read_audio();
    read_special();
    read_tokens();
    return {.tokenizer = Tokenizer(std::move(vocabulary_)), .audio = audio};
  }

 private:
  void read_config();
  void read_special();
  void read_tokens();
  void check_rank(const json::value& entry, const char* list, std::size_t place) const;
  const json::string& token_bytes(const json::value& entry, std::size_t rank) const;
  TekkenAudio read_audio() const;
  void check_streaming(const JsonObject& audio) const;
  void check_delay(const JsonObject& audio, const TekkenAudio& found) const;
  void refuse_unknown(const JsonObject& parent, std::string_view field,
                      std::span<const std::string_view> known) const;

  const json::array& list(std::string_view field) const;
  // "tekken.json: vocab[17]"
  std::string entry_name(std::string_view list, std::size_t place) const {
    return root_.name(list) + "[" + std::to_string(place) + "]";
  }

  std::string source_;
  JsonObject root_;
  std::int32_t vocab_size_;
  std::int32_t num_special_ = 0;
  Vocabulary vocabulary_;
};

const json::array& Reader::list(std::string_view field) const {
  const json::value* const found = root_.find(field);
  if (found == nullptr || !found->is_array()) {
    fail(Code::kCorrupt, "%s: expected a list, found %s", root_.name(field).c_str(),
         found == nullptr ? "nothing" : "something else");
  }
  return found->get_array();
}

// config.version, config.num_vocab_tokens and config.default_vocab_size are not looked at: the
// lists say what there is, and the model's embedding how much of it counts.
void Reader::read_config() {
  const JsonObject config = root_.object("config");
  const std::string pattern = config.string("pattern");
  if (pattern != kTekkenSplitRule) {
    fail(Code::kUnsupported, "%s: expected %s, found %s", config.name("pattern").c_str(),
         quoted(kTekkenSplitRule, kTekkenSplitRule.size()).c_str(), quoted(pattern, 300).c_str());
  }
  num_special_ =
      static_cast<std::int32_t>(config.integer("default_num_special_tokens", 1, kMostSpecial));
  if (num_special_ > vocab_size_ - kByteTokens) {
    fail(Code::kCorrupt,
         "%s: expected at most %d, for the model's embedding has %d rows and %d of them are single "
         "bytes, found %d",
         config.name("default_num_special_tokens").c_str(), std::max(0, vocab_size_ - kByteTokens),
         vocab_size_, kByteTokens, num_special_);
  }
  vocabulary_.split = SplitRule::kTekken;
  vocabulary_.is_added_in_text = false;
}

// An entry's rank is its place in the list: what is looked up by either is the same.
void Reader::check_rank(const json::value& entry, const char* list, std::size_t place) const {
  const json::object* const fields = entry.if_object();
  const json::value* const rank = fields == nullptr ? nullptr : fields->if_contains("rank");
  if (rank != nullptr && rank->is_int64() && rank->get_int64() == static_cast<std::int64_t>(place))
    return;
  const JsonObject named(entry, entry_name(list, place));
  const std::int64_t found = named.integer("rank", std::numeric_limits<std::int32_t>::min(),
                                           std::numeric_limits<std::int32_t>::max());
  if (found == static_cast<std::int64_t>(place)) return;
  fail(Code::kCorrupt, "%s: expected %zu, its place in the list, found %lld",
       named.name("rank").c_str(), place, static_cast<long long>(found));
}

void Reader::read_special() {
  const json::array& entries = list("special_tokens");
  if (entries.size() > static_cast<std::size_t>(num_special_)) {
    fail(Code::kCorrupt,
         "%s: expected at most %d entries, as config.default_num_special_tokens says, found %zu",
         root_.name("special_tokens").c_str(), num_special_, entries.size());
  }
  vocabulary_.added.reserve(static_cast<std::size_t>(num_special_));
  std::unordered_map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < static_cast<std::size_t>(num_special_); ++i) {
    std::string name = "<SPECIAL_" + std::to_string(i) + ">";
    if (i < entries.size()) {
      check_rank(entries[i], "special_tokens", i);
      const JsonObject entry(entries[i], entry_name("special_tokens", i));
      name = entry.string("token_str");
      if (name.empty()) {
        fail(Code::kCorrupt, "%s: expected a name, found an empty one",
             entry.name("token_str").c_str());
      }
    }
    const auto [other, is_new] = places.emplace(name, i);
    if (!is_new) {
      fail(Code::kCorrupt, "%s: expected every name once, found %s at %zu and at %zu",
           root_.name("special_tokens").c_str(), quoted(name).c_str(), other->second, i);
    }
    vocabulary_.bytes.push_back(name);
    vocabulary_.added.push_back(
        {.text = std::move(name), .token = static_cast<std::int32_t>(i), .is_special = true});
  }
}

const json::string& Reader::token_bytes(const json::value& entry, std::size_t rank) const {
  check_rank(entry, "vocab", rank);
  const json::object& fields = entry.get_object();
  const json::value* const bytes = fields.if_contains("token_bytes");
  if (fields.size() != 3 || bytes == nullptr || !bytes->is_string() ||
      !fields.contains("token_str")) {
    std::string found;
    for (const json::key_value_pair& field : fields) {
      const std::string_view key(field.key().data(), field.key().size());
      append_listed(found, shown_name(key, 20));
      if (found.size() > 100) break;
    }
    fail(Code::kCorrupt,
         "%s: expected rank, token_bytes (a string) and token_str, found the fields %s",
         entry_name("vocab", rank).c_str(), found.c_str());
  }
  return bytes->get_string();
}

// What lies beyond the model's rows is not even looked at, as in the reference.
void Reader::read_tokens() {
  const json::array& entries = list("vocab");
  const auto first = static_cast<std::size_t>(num_special_);
  const std::size_t count = static_cast<std::size_t>(vocab_size_) - first;
  if (entries.size() < count) {
    fail(Code::kCorrupt,
         "%s: expected at least %zu entries, for the model's embedding has %d rows and %d of them "
         "are special tokens, found %zu",
         root_.name("vocab").c_str(), count, vocab_size_, num_special_, entries.size());
  }
  vocabulary_.bytes.reserve(first + count);
  vocabulary_.ranked = TokenTable(count);
  std::string bytes;
  for (std::size_t rank = 0; rank < count; ++rank) {
    const json::string& text = token_bytes(entries[rank], rank);
    const std::string_view base64(text.data(), text.size());
    const auto refuse = [&](const std::string& expected, const std::string& found) {
      fail(Code::kCorrupt, "%s: token_bytes: expected %s, found %s",
           entry_name("vocab", rank).c_str(), expected.c_str(), found.c_str());
    };
    if (!decode_base64(base64, bytes) || bytes.empty())
      refuse("one or more bytes in base64", quoted(base64));
    if (rank < kByteTokens) {
      if (bytes.size() != 1 || static_cast<std::uint8_t>(bytes.front()) != rank)
        refuse(formatted("the single byte 0x%02zX", rank), quoted(base64));
      vocabulary_.byte_tokens[rank] = static_cast<std::int32_t>(first + rank);
    }
    vocabulary_.bytes.push_back(bytes);
    const std::int32_t other =
        vocabulary_.ranked.insert(vocabulary_.bytes, static_cast<std::int32_t>(first + rank));
    if (other >= 0) {
      refuse("bytes of its own",
             quoted(base64) + formatted(", those of vocab[%d]", other - num_special_));
    }
  }
}

// A field that the reference does not know ends its reading too: what it says would change the
// model's input.
void Reader::refuse_unknown(const JsonObject& parent, std::string_view field,
                            std::span<const std::string_view> known) const {
  const JsonObject object = parent.object(field);
  for (const json::key_value_pair& entry : parent.find(field)->get_object()) {
    const std::string_view key(entry.key().data(), entry.key().size());
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    std::string names;
    for (const std::string_view name : known) append_listed(names, name);
    fail(Code::kUnsupported, "%s: expected no other fields than %s, found %s",
         parent.name(field).c_str(), names.c_str(), quoted(key).c_str());
  }
}

void Reader::check_streaming(const JsonObject& audio) const {
  const std::string format = audio.string_or("transcription_format", "");
  if (format != "streaming") {
    fail(Code::kUnsupported, "%s: expected 'streaming', found %s",
         audio.name("transcription_format").c_str(),
         format.empty() ? "nothing" : quoted(format).c_str());
  }
  if (audio.has("chunk_length_s")) {
    fail(Code::kUnsupported, "%s: expected null, found %g", audio.name("chunk_length_s").c_str(),
         audio.number("chunk_length_s"));
  }
}

void Reader::check_delay(const JsonObject& audio, const TekkenAudio& found) const {
  const double frames = found.transcription_delay_ms * found.frame_rate / 1000;
  if (frames >= 1 && frames <= kMostAudio && std::trunc(frames) == frames) return;
  fail(Code::kCorrupt, "%s: expected a multiple of %g ms, which a frame lasts, found %g",
       audio.name("transcription_delay_ms").c_str(), 1000 / found.frame_rate,
       found.transcription_delay_ms);
}

TekkenAudio Reader::read_audio() const {
  constexpr std::array<std::string_view, 10> kAudio = {"sampling_rate",
                                                       "frame_rate",
                                                       "audio_encoding_config",
                                                       "chunk_length_s",
                                                       "transcription_format",
                                                       "transcription_delay_ms",
                                                       "streaming_look_ahead_ms",
                                                       "streaming_look_back_ms",
                                                       "streaming_n_left_pad_tokens",
                                                       "voice_num_audio_tokens"};
  constexpr std::array<std::string_view, 3> kEncoding = {"num_mel_bins", "hop_length",
                                                         "window_size"};
  const JsonObject audio = root_.object("audio");
  check_streaming(audio);
  refuse_unknown(root_, "audio", kAudio);
  refuse_unknown(audio, "audio_encoding_config", kEncoding);
  const JsonObject encoding = audio.object("audio_encoding_config");
  const auto count = [](const JsonObject& object, std::string_view field, std::int64_t least) {
    return static_cast<std::int32_t>(object.integer(field, least, kMostAudio));
  };
  const auto number = [](const JsonObject& object, std::string_view field, bool may_be_zero) {
    const double value = object.number(field);
    if (value > 0 || (may_be_zero && value == 0)) return value;
    fail(Code::kCorrupt, "%s: expected a number %s 0, found %g", object.name(field).c_str(),
         may_be_zero ? "not below" : "above", value);
  };
  const TekkenAudio found = {
      .sampling_rate = count(audio, "sampling_rate", 1),
      .frame_rate = number(audio, "frame_rate", false),
      .num_mel_bins = count(encoding, "num_mel_bins", 1),
      .hop_length = count(encoding, "hop_length", 1),
      .window_size = count(encoding, "window_size", 1),
      .transcription_delay_ms = number(audio, "transcription_delay_ms", false),
      .streaming_look_ahead_ms = number(audio, "streaming_look_ahead_ms", true),
      .streaming_look_back_ms = number(audio, "streaming_look_back_ms", true),
      .streaming_n_left_pad_tokens = count(audio, "streaming_n_left_pad_tokens", 0),
  };
  check_delay(audio, found);
  return found;
}

}  // namespace

Tekken read_tekken_json(std::string_view text, std::string_view source, std::int32_t vocab_size) {
  const json::value root = parse_json(text, source);
  return Reader(root, source, vocab_size).read();
}

}  // namespace verbatim
