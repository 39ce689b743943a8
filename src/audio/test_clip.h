// For tests: all of a recording, mono at a rate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "audio/source.h"

namespace verbatim {

inline std::vector<float> read_clip(const std::string& path, std::int32_t sample_rate_hz,
                                    std::size_t block_samples = 1 << 14) {
  AudioRequest request;
  request.what = path;
  request.sample_rate_hz = sample_rate_hz;
  const std::unique_ptr<AudioSource> source = open_audio(request);
  std::vector<float> clip;
  std::vector<float> block(block_samples);
  while (const std::size_t count = source->read(block)) {
    clip.insert(clip.end(), block.begin(), block.begin() + static_cast<std::ptrdiff_t>(count));
  }
  return clip;
}

}  // namespace verbatim
