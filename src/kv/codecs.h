// The list of KV codecs: a new one is its header and one word here.
#pragma once

#include <array>

#include "kv/codec_f16.h"
#include "kv/codec_f32.h"

namespace verbatim {

template <typename... C>
struct CodecList {
  static constexpr std::array<const char*, sizeof...(C)> kNames{C::kName...};
};
using KvCodecs = CodecList<F32Codec, F16Codec>;

// Index into KvCodecs::kNames; throws kInvalidArgument listing them.
int kv_codec(const char* name);

}  // namespace verbatim
