// Pages of keys and values as a codec stores them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kv/codecs.h"
#include "kv/page.h"

namespace verbatim {

template <typename Codec>
std::vector<std::byte> made_kv_page(std::int32_t head_dim) {
  std::vector<std::byte> page(
      static_cast<std::size_t>(Codec::key_bytes(head_dim) + Codec::value_bytes(head_dim)));
  std::vector<float> vector(static_cast<std::size_t>(head_dim));
  for (std::int32_t slot = 0; slot < kPagePositions; ++slot) {
    for (std::int32_t f = 0; f < head_dim; ++f) {
      vector[static_cast<std::size_t>(f)] =
          (static_cast<float>((slot * 37 + f * 11) % 64) - 31.5F) / 32.0F;  // never 0
    }
    Codec::store_key(vector.data(), page.data(), slot, head_dim);
    Codec::store_value(vector.data(), page.data() + Codec::key_bytes(head_dim), slot, head_dim);
  }
  return page;
}

template <typename... C>
std::vector<std::byte> made_kv_page(CodecList<C...>, std::size_t codec, std::int32_t head_dim) {
  std::vector<std::byte> (*const make[])(std::int32_t) = {&made_kv_page<C>...};
  return make[codec](head_dim);
}

// One head's page; codec is an index into KvCodecs::kNames.
inline std::vector<std::byte> kv_head_page(std::size_t codec, std::int32_t head_dim) {
  return made_kv_page(KvCodecs{}, codec, head_dim);
}

}  // namespace verbatim
