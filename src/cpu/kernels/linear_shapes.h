// The projections that are measured and tested: those of the 7B decoder (hidden 3584, intermediate
// 18944, 4 KV heads of 128) and the feed-forward pairs of the encoders' last four widths.
#pragma once

#include <cstdint>

namespace verbatim {

struct LinearShape {
  std::int64_t rows;  // 0: any number
  std::int32_t in;
  std::int32_t out;
};

constexpr LinearShape kDecoderShapes[]{
    {0, 3584, 18944},
    {0, 18944, 3584},
    {0, 3584, 3584},
    {0, 3584, 512},
};

constexpr LinearShape kEncoderShapes[]{
    {512, 2048, 8192}, {512, 8192, 2048}, {4096, 512, 2048}, {4096, 2048, 512},
    {4096, 256, 1024}, {4096, 1024, 256}, {4096, 128, 512},  {4096, 512, 128},
};

}  // namespace verbatim
