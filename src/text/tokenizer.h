// Byte-level BPE: text to token ids and back. A vocabulary file becomes a Vocabulary (see
// vocabulary_json.h and vocabulary_tekken.h); a Tokenizer is constant from then on, and any thread
// may use it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/added_tokens.h"
#include "text/merge_table.h"
#include "text/pretokenizer.h"
#include "text/token_table.h"

namespace verbatim {

struct Vocabulary {
  std::vector<std::string> bytes;               // by token, no holes; added tokens included
  std::array<std::int32_t, 256> byte_tokens{};  // the token of each single byte
  SplitRule split = SplitRule::kQwen;
  MergeTable merges;  // which tokens join, where the file lists them
  // All but the added ones, where the file lists no merges: neighbours join when their bytes
  // together are a token, the lowest first, and a piece that is a token needs no joining.
  TokenTable ranked;
  std::vector<AddedToken> added;  // no two with the same text
  bool is_added_in_text = true;   // false: added tokens are never looked for in text
  bool is_nfc = false;            // text is brought to normal form C first
};

class Tokenizer {
 public:
  explicit Tokenizer(Vocabulary vocabulary);

  // Bytes that are no UTF-8 count as U+FFFD. parse_special: spellings of special tokens become
  // those tokens; otherwise they are ordinary text. Added tokens that are not special are found
  // either way, as the reference's library has it; tekken.json's are found neither way. Adds no
  // token of its own. Throws kInvalidArgument when the text is longer than 1 GiB.
  std::vector<std::int32_t> encode(std::string_view text, bool parse_special) const;

  // The raw bytes of a token, maybe half a character; empty for ids without a string, which are
  // valid rows of a padded embedding.
  std::string_view bytes(std::int32_t token) const;
  // The bytes of all tokens as text, with U+FFFD for what is no UTF-8.
  std::string decode(std::span<const std::int32_t> tokens, bool skip_special) const;

  std::int32_t special(std::string_view name) const;  // any added token; throws kNotFound
  bool is_special(std::int32_t token) const;          // flagged special: skipped when decoding
  std::int32_t size() const { return static_cast<std::int32_t>(vocabulary_.bytes.size()); }

 private:
  class Merger;
  void encode_plain(std::string_view text, bool parse_special, Merger& merger) const;
  void encode_pieces(std::string_view text, Merger& merger) const;

  Vocabulary vocabulary_;
  AddedTokens given_;       // looked for in the text as given
  AddedTokens normalized_;  // looked for in the normal form of what is left
  std::vector<bool> is_special_;
};

}  // namespace verbatim
