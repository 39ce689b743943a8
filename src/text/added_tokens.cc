// One pass over the bytes; a table of first bytes keeps the tokens out of ordinary text's way.
#include "text/added_tokens.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace verbatim {

AddedTokens::AddedTokens(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  std::stable_sort(tokens_.begin(), tokens_.end(),
                   [](const AddedToken& left, const AddedToken& right) {
                     return left.text.size() > right.text.size();
                   });
  for (const AddedToken& token : tokens_) {
    check(!token.text.empty(), "an added token has a text");
    begins_[static_cast<std::uint8_t>(token.text.front())] = true;
  }
}

const AddedToken* AddedTokens::longest_at(std::string_view text, std::size_t first) const {
  if (!begins_[static_cast<std::uint8_t>(text[first])]) return nullptr;
  for (const AddedToken& token : tokens_) {
    if (text.substr(first).starts_with(token.text)) return &token;
  }
  return nullptr;
}

std::vector<AddedTokens::Part> AddedTokens::split(std::string_view text, bool parse_special) const {
  std::vector<Part> parts;
  std::size_t plain = 0;  // where the plain text that is not in a part yet begins
  const auto end_plain = [&](std::size_t end) {
    if (end > plain) parts.push_back({.text = text.substr(plain, end - plain)});
  };
  for (std::size_t first = 0; first < text.size();) {
    const AddedToken* const token = longest_at(text, first);
    const std::size_t end = first + (token == nullptr ? 1 : token->text.size());
    if (token != nullptr && (parse_special || !token->is_special)) {
      end_plain(first);
      parts.push_back({.text = text.substr(first, end - first), .token = token->token});
      plain = end;
    }
    first = end;
  }
  end_plain(text.size());
  return parts;
}

}  // namespace verbatim
