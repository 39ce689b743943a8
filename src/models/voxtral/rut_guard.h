// Notices that somebody speaks and nothing is written: a decoder that has said nothing for long may
// go on saying nothing. Counts tokens of speech since the last text.
#pragma once

#include <cstdint>

namespace verbatim::voxtral {

class RutGuard {
 public:
  // limit_s: speech without text; 0: never. token_s: audio of a token.
  RutGuard(double limit_s, double token_s);

  // A decision was made after the clip's token `heard`, which was speech or not, and it was text or
  // not. Returns the token from which the stretch should be heard again, or -1. Tokens that were
  // heard before do not count again.
  std::int64_t hear(std::int64_t heard, bool is_speech, bool is_text);
  std::int64_t limit_tokens() const { return limit_; }

 private:
  std::int64_t first_limit_;
  std::int64_t limit_;
  std::int64_t most_quiet_;
  std::int64_t furthest_ = -1;
  std::int64_t first_ = 0;   // of the stretch
  std::int64_t speech_ = 0;  // tokens of it
  std::int64_t quiet_ = 0;   // without speech, in a row
};

}  // namespace verbatim::voxtral
