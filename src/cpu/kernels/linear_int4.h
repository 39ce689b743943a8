// Codes of four bits: a line holds eight input features, one word for each of the sixteen outputs,
// the first feature in the word's lowest bits. int4 codes are signed, nf4 codes are indices into
// the code book that the packed weight brings.
#pragma once

#include <cstddef>
#include <cstdint>

namespace verbatim {

template <typename V>
struct Int4Codes {
  static constexpr int kLineInputs = 8;
  using Book = typename V::Book;
  static Book book(const float*) { return V::signed_book(); }
  template <int kInput>
  static V column(const std::byte* line, const Book& book) {
    return V::template signed_nibble<kInput>(
        static_cast<const std::uint32_t*>(static_cast<const void*>(line)), book);
  }
};

template <typename V>
struct Nf4Codes {
  static constexpr int kLineInputs = 8;
  using Book = typename V::Book;
  static Book book(const float* values) { return V::book(values); }
  template <int kInput>
  static V column(const std::byte* line, const Book& book) {
    return V::template book_nibble<kInput>(
        static_cast<const std::uint32_t*>(static_cast<const void*>(line)), book);
  }
};

}  // namespace verbatim
