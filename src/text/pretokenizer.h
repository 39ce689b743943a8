// Cuts text into the pieces that byte-level BPE merges within. The split rule of Qwen2.5,
//   (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*
//   |\s*[\r\n]+|\s+(?!\S)|\s+
// and that of tekken.json,
//   [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+
//   |[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*
//   |\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
// written out by hand: the first alternative that matches wins, as a backtracking engine has it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace verbatim {

enum class SplitRule : std::uint8_t { kQwen, kTekken };

// The rules as tokenizer.json and tekken.json spell them.
extern const std::string_view kSplitRule;
extern const std::string_view kTekkenSplitRule;

// The end of the piece that begins at `first` < text.size(). Every character belongs to a piece.
std::size_t piece_end(std::u32string_view text, std::size_t first,
                      SplitRule rule = SplitRule::kQwen);

}  // namespace verbatim
