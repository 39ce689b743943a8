// The tokens of a vocabulary by their bytes: what a byte-level BPE asks that ranks joins by what
// they become.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace verbatim {

// An open-addressed table of token ids. The bytes stay with the vocabulary, so every call takes
// them, indexed by token; reading is thread-safe.
class TokenTable {
 public:
  TokenTable() = default;
  explicit TokenTable(std::size_t tokens);  // room for so many

  // -1, or the token that is there already with the same bytes, which then stays. At most as many
  // as were announced.
  [[nodiscard]] std::int32_t insert(std::span<const std::string> bytes, std::int32_t token);
  // The token with these bytes; -1 for none.
  std::int32_t find(std::span<const std::string> bytes, std::string_view wanted) const;
  std::size_t size() const { return size_; }

 private:
  struct Entry {
    std::uint32_t hash = 0;
    std::int32_t token = -1;  // -1: empty
  };

  // The entry of the bytes, or the empty one where they would go.
  std::size_t position(std::span<const std::string> bytes, std::string_view wanted,
                       std::uint32_t hash) const;

  std::vector<Entry> entries_;  // a power of two, at most half full
  std::size_t size_ = 0;
  std::size_t longest_bytes_ = 0;
};

}  // namespace verbatim
