// Recordings with what is said in them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/word_errors.h"

namespace verbatim {

struct QualityClip {
  std::string name;  // of the file, without its folder
  std::vector<float> pcm;
  std::optional<std::vector<std::string>> truth;
};

// The recordings, those of a folder by name; without any the model's samples. What is said stands
// beside a recording, in a .json with "text" or with "segments" of "Content" or "text", or in a
// .txt of words alone. Throws what opening the files would.
std::vector<std::string> quality_files(const std::string& model,
                                       const std::vector<std::string>& recordings);
QualityClip read_quality_clip(const std::string& path, std::int32_t sample_rate_hz);

}  // namespace verbatim
