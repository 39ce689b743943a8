// Which token and which audio meet at which position of the decoder. Section 5 of the
// specification; reference: mistral_common tokens/tokenizers/audio.py and instruct.py.
//
//   position   0        1 ... L-1             L ...
//   token      BOS      P ... P               what was decided one position before
//   audio row  0        1 ... (rows 0 to left_pad-1 are silence before the clip)
//
// The first decision is made at position L-1 = left_pad + delay; slot k is decided at L-1+k.
#pragma once

#include <cstdint>

namespace verbatim::voxtral {

struct Schedule {
  std::int32_t bos = 1;
  std::int32_t eos = 2;
  std::int32_t pad = 32;   // "[STREAMING_PAD]": nothing to say in this slot
  std::int32_t word = 33;  // "[STREAMING_WORD]": text follows
  std::int32_t first_text = 1000;
  std::int32_t left_pad = 32;  // tokens of silence before the clip
  std::int32_t delay = 6;      // tokens
  std::int64_t token_samples = 1280;
  double token_s = 0.08;

  // Tokens of silence behind the clip, besides what fills its last token: delay, the slot of BOS
  // and ten for the end of a long last word.
  std::int64_t right_pad() const { return delay + 1 + 10; }
  std::int64_t prompt_rows() const { return left_pad + delay + 1; }
  // Audio tokens of a clip with all its padding.
  std::int64_t tokens(std::int64_t samples) const {
    return left_pad + (samples + token_samples - 1) / token_samples + right_pad();
  }
};

}  // namespace verbatim::voxtral
