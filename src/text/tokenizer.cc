// Encoding: added tokens are cut out, the rest is normalised, split into pieces and merged.
#include "text/tokenizer.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"
#include "text/unicode.h"

namespace verbatim {
namespace {

constexpr std::size_t kLongestTextBytes = std::size_t{1} << 30;

}  // namespace

// Collects tokens, piece after piece. Joins the pair of lowest rank, leftmost among equals, until
// none joins. A heap of candidate pairs over a linked list makes that n log n for a piece of n
// bytes.
class Tokenizer::Merger {
 public:
  explicit Merger(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {}

  std::vector<std::int32_t> tokens;

  void append(std::string_view piece) {
    if (const std::int32_t whole = ranked(piece); whole >= 0) {
      tokens.push_back(whole);
      return;
    }
    piece_ = piece;
    symbols_.clear();
    const auto count = static_cast<std::int32_t>(piece.size());
    for (std::int32_t i = 0; i < count; ++i) {
      const auto byte = static_cast<std::uint8_t>(piece[static_cast<std::size_t>(i)]);
      symbols_.push_back({.token = vocabulary_.byte_tokens[byte],
                          .previous = i - 1,
                          .next = i + 1 == count ? -1 : i + 1});
    }
    for (std::int32_t i = 0; i + 1 < count; ++i) consider(i);
    while (!candidates_.empty()) join(take_best());
    for (std::int32_t i = count == 0 ? -1 : 0; i >= 0; i = at(i).next)
      tokens.push_back(at(i).token);
  }

 private:
  // A symbol's index is where in the piece its bytes begin.
  struct Symbol {
    std::int32_t token;     // -1: joined with the one before
    std::int32_t previous;  // -1: none
    std::int32_t next;      // -1: none
  };
  struct Candidate {
    Merge merge;
    std::int32_t left;  // the symbol that grows
  };

  // A heap's top is its largest: the lowest rank, then the leftmost.
  static bool is_after(const Candidate& one, const Candidate& other) {
    if (one.merge.rank != other.merge.rank) return one.merge.rank > other.merge.rank;
    return one.left > other.left;
  }

  Symbol& at(std::int32_t index) { return symbols_[static_cast<std::size_t>(index)]; }

  std::int32_t ranked(std::string_view bytes) const {
    return vocabulary_.ranked.find(vocabulary_.bytes, bytes);
  }

  Merge merge_at(std::int32_t left) {
    const Symbol& symbol = at(left);
    if (symbol.token < 0 || symbol.next < 0) return {};
    if (vocabulary_.ranked.size() != 0) {
      const std::int32_t after = at(symbol.next).next;
      const std::size_t end = after < 0 ? piece_.size() : static_cast<std::size_t>(after);
      const auto first = static_cast<std::size_t>(left);
      const std::int32_t token = ranked(piece_.substr(first, end - first));
      return {.rank = token, .merged = token};
    }
    return vocabulary_.merges.find(symbol.token, at(symbol.next).token);
  }

  void consider(std::int32_t left) {
    const Merge merge = merge_at(left);
    if (merge.rank < 0) return;
    candidates_.push_back({.merge = merge, .left = left});
    std::push_heap(candidates_.begin(), candidates_.end(), is_after);
  }

  Candidate take_best() {
    std::pop_heap(candidates_.begin(), candidates_.end(), is_after);
    const Candidate best = candidates_.back();
    candidates_.pop_back();
    return best;
  }

  void join(const Candidate& candidate) {
    // Either of the two may have joined another since. Each rank belongs to one pair or, without a
    // list of pairs, to one string of bytes, so it tells.
    if (merge_at(candidate.left).rank != candidate.merge.rank) return;
    Symbol& left = at(candidate.left);
    Symbol& right = at(left.next);
    left.token = candidate.merge.merged;
    left.next = right.next;
    right.token = -1;
    if (left.next >= 0) at(left.next).previous = candidate.left;
    if (left.previous >= 0) consider(left.previous);
    consider(candidate.left);
  }

  const Vocabulary& vocabulary_;
  std::string_view piece_;
  std::vector<Symbol> symbols_;
  std::vector<Candidate> candidates_;  // empty between pieces
};

Tokenizer::Tokenizer(Vocabulary vocabulary)
    : vocabulary_(std::move(vocabulary)), is_special_(vocabulary_.bytes.size(), false) {
  std::vector<AddedToken> given;
  std::vector<AddedToken> normalized;
  for (const AddedToken& added : vocabulary_.added) {
    check(added.token >= 0 && added.token < size(), "an added token has a place");
    if (added.is_special) is_special_[static_cast<std::size_t>(added.token)] = true;
    if (!vocabulary_.is_added_in_text) continue;
    if (added.is_normalized) {
      normalized.push_back(added);
      if (vocabulary_.is_nfc) normalized.back().text = nfc(added.text);
    } else {
      given.push_back(added);
    }
  }
  given_ = AddedTokens(std::move(given));
  normalized_ = AddedTokens(std::move(normalized));
}

std::vector<std::int32_t> Tokenizer::encode(std::string_view text, bool parse_special) const {
  if (text.size() > kLongestTextBytes) {
    fail(Code::kInvalidArgument, "text to encode: expected at most %zu bytes, found %zu",
         kLongestTextBytes, text.size());
  }
  const std::string valid = to_valid_utf8(text);
  Merger merger(vocabulary_);
  for (const AddedTokens::Part& part : given_.split(valid, parse_special)) {
    if (part.token >= 0) {
      merger.tokens.push_back(part.token);
    } else {
      encode_plain(part.text, parse_special, merger);
    }
  }
  return std::move(merger.tokens);
}

// Text between two added tokens is normalised on its own, as the reference's library does.
void Tokenizer::encode_plain(std::string_view text, bool parse_special, Merger& merger) const {
  const std::string normal = vocabulary_.is_nfc ? nfc(text) : std::string(text);
  for (const AddedTokens::Part& part : normalized_.split(normal, parse_special)) {
    if (part.token >= 0) {
      merger.tokens.push_back(part.token);
    } else {
      encode_pieces(part.text, merger);
    }
  }
}

void Tokenizer::encode_pieces(std::string_view text, Merger& merger) const {
  const std::u32string codes = code_points(text);
  std::string piece;
  for (std::size_t first = 0; first < codes.size();) {
    const std::size_t end = piece_end(codes, first, vocabulary_.split);
    piece.clear();
    for (; first < end; ++first) append_utf8(piece, codes[first]);
    merger.append(piece);
  }
}

std::string_view Tokenizer::bytes(std::int32_t token) const {
  if (token < 0 || token >= size()) return {};
  return vocabulary_.bytes[static_cast<std::size_t>(token)];
}

std::string Tokenizer::decode(std::span<const std::int32_t> tokens, bool skip_special) const {
  std::string joined;
  for (const std::int32_t token : tokens) {
    if (!skip_special || !is_special(token)) joined.append(bytes(token));
  }
  return to_valid_utf8(joined);
}

std::int32_t Tokenizer::special(std::string_view name) const {
  for (const AddedToken& added : vocabulary_.added) {
    if (added.text == name) return added.token;
  }
  fail(Code::kNotFound, "tokenizer: expected the added token '%.*s', found none of this name",
       static_cast<int>(std::min<std::size_t>(name.size(), 100)), name.data());
}

bool Tokenizer::is_special(std::int32_t token) const {
  return token >= 0 && token < size() && is_special_[static_cast<std::size_t>(token)];
}

}  // namespace verbatim
