// Cuts text into the pieces that byte-level BPE merges within: the split rule of Qwen2.5,
//   (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*
//   |\s*[\r\n]+|\s+(?!\S)|\s+
// written out by hand: the first alternative that matches wins, as a backtracking engine has it.
#pragma once

#include <cstddef>
#include <string_view>

namespace verbatim {

// The rule as tokenizer.json spells it.
extern const std::string_view kSplitRule;

// The end of the piece that begins at `first` < text.size(). Every character belongs to a piece.
std::size_t piece_end(std::u32string_view text, std::size_t first);

}  // namespace verbatim
