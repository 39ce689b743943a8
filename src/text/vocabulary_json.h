// tokenizer.json, the vocabulary file of Hugging Face's tokenizers library.
#pragma once

#include <string_view>

#include "text/tokenizer.h"

namespace verbatim {

// Reads the file's text; `source` (a path) is named in errors. Takes byte-level BPE with the split
// rule of Qwen2.5 and normal form C or none; whatever else changes ids is refused: kUnsupported
// for another kind of tokenizer, kCorrupt for a file that contradicts itself.
Tokenizer read_tokenizer_json(std::string_view text, std::string_view source);

}  // namespace verbatim
