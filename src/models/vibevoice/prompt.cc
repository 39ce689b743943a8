// Text between special tokens is encoded in one piece, so that words join over its parts.
#include "models/vibevoice/prompt.h"

#include <array>
#include <charconv>

#include "base/error.h"
#include "text/tokenizer.h"
#include "transcript/options.h"

namespace verbatim::vibevoice {
namespace {

constexpr std::string_view kSystem =
    "You are a helpful assistant that transcribes audio input into text output in JSON format.";
constexpr std::string_view kKeys =
    "lease transcribe it with these keys: Start time, End time, Speaker ID, Content";

void append(std::vector<std::int32_t>& to, const std::vector<std::int32_t>& ids) {
  to.insert(to.end(), ids.begin(), ids.end());
}

// What str.strip() of Python takes away: ASCII white space and separators, and Unicode's spaces.
std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpaces[] = {" ",
                                          "\t",
                                          "\n",
                                          "\v",
                                          "\f",
                                          "\r",
                                          "\x1c",
                                          "\x1d",
                                          "\x1e",
                                          "\x1f",
                                          "\xc2\x85",
                                          "\xc2\xa0",
                                          "\xe1\x9a\x80",
                                          "\xe2\x80\x80",
                                          "\xe2\x80\x81",
                                          "\xe2\x80\x82",
                                          "\xe2\x80\x83",
                                          "\xe2\x80\x84",
                                          "\xe2\x80\x85",
                                          "\xe2\x80\x86",
                                          "\xe2\x80\x87",
                                          "\xe2\x80\x88",
                                          "\xe2\x80\x89",
                                          "\xe2\x80\x8a",
                                          "\xe2\x80\xa8",
                                          "\xe2\x80\xa9",
                                          "\xe2\x80\xaf",
                                          "\xe2\x81\x9f",
                                          "\xe3\x80\x80"};
  bool again = true;
  while (again && !text.empty()) {
    again = false;
    for (const std::string_view space : kSpaces) {
      if (text.starts_with(space)) {
        text.remove_prefix(space.size());
        again = true;
      }
      if (text.ends_with(space)) {
        text.remove_suffix(space.size());
        again = true;
      }
    }
  }
  return text;
}

}  // namespace

std::string context_text(const SessionOptions& options, Layout layout) {
  std::string text = options.context;
  std::string words;
  for (const std::string& word : options.hotwords) append_listed(words, word);
  if (!text.empty() && !words.empty()) text += '\n';
  text += words;
  return layout == Layout::kOriginal ? std::string(trimmed(text)) : text;
}

std::string duration_text(std::int64_t samples, std::int32_t sample_rate_hz) {
  // Not printf, which would write a comma where the host program has set such a locale.
  std::array<char, 64> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(),
                                 static_cast<double>(samples) / static_cast<double>(sample_rate_hz),
                                 std::chars_format::fixed, 2);
  return std::string(digits.data(), end.ptr);
}

Prompt make_prompt(const Tokenizer& tokenizer, std::string_view context,
                   std::string_view duration) {
  const std::int32_t turn = tokenizer.special("<|im_start|>");
  const std::int32_t end = tokenizer.special("<|im_end|>");
  const std::vector<std::int32_t> newline = tokenizer.encode("\n", false);
  Prompt made;
  made.before.push_back(turn);
  append(made.before, tokenizer.encode("system\n" + std::string(kSystem), false));
  made.before.push_back(end);
  append(made.before, newline);
  made.before.push_back(turn);
  append(made.before, tokenizer.encode("user\n", false));
  made.before.push_back(tokenizer.special("<|object_ref_start|>"));

  std::string question = "\nThis is a " + std::string(duration) + " seconds audio, ";
  if (context.empty()) {
    question += "p";
  } else {
    question += "with extra info: " + std::string(context) + "\n\nP";
  }
  question += kKeys;
  made.after.push_back(tokenizer.special("<|object_ref_end|>"));
  append(made.after, tokenizer.encode(question, false));
  made.after.push_back(end);
  append(made.after, newline);
  return made;
}

}  // namespace verbatim::vibevoice
