// Files beside files.
#include "bench/quality_clips.h"

#include <algorithm>
#include <boost/json.hpp>
#include <filesystem>

#include "audio/source.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"

namespace verbatim {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kTruthLimit = std::size_t{64} << 20;

bool is_audio(const fs::path& path) {
  const std::string extension = path.extension().string();
  return extension == ".wav" || extension == ".flac" || extension == ".mp3" ||
         extension == ".m4a" || extension == ".ogg" || extension == ".opus";
}

std::string said_in_json(const std::string& path) {
  const boost::json::value value = parse_json(read_file(path, kTruthLimit), path);
  const JsonObject object(value, path);
  if (object.has("text")) return object.string("text");
  const boost::json::value* segments = object.find("segments");
  if (segments == nullptr || !segments->is_array()) {
    fail(Code::kCorrupt, "%s: expected a text, or segments, found neither", path.c_str());
  }
  std::string said;
  for (const boost::json::value& each : segments->get_array()) {
    const JsonObject segment(each, path);
    said += (said.empty() ? "" : " ") + segment.string(segment.has("Content") ? "Content" : "text");
  }
  return said;
}

}  // namespace

std::vector<std::string> quality_files(const std::string& model,
                                       const std::vector<std::string>& recordings) {
  std::vector<std::string> files;
  const std::vector<std::string> samples{model + "/samples"};
  for (const std::string& each : recordings.empty() ? samples : recordings) {
    if (!recordings.empty() && !fs::is_directory(each)) {
      files.push_back(each);
      continue;
    }
    std::vector<std::string> inside;
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(each, error)) {
      if (is_audio(entry.path())) inside.push_back(entry.path().string());
    }
    if (inside.empty()) fail(Code::kNotFound, "%s: holds no recordings", each.c_str());
    std::sort(inside.begin(), inside.end());
    files.insert(files.end(), inside.begin(), inside.end());
  }
  return files;
}

QualityClip read_quality_clip(const std::string& path, std::int32_t sample_rate_hz) {
  QualityClip clip;
  clip.name = fs::path(path).filename().string();
  AudioRequest request;
  request.what = path;
  request.sample_rate_hz = sample_rate_hz;
  const std::unique_ptr<AudioSource> source = open_audio(request);
  std::vector<float> block(1 << 14);
  while (const std::size_t count = source->read(block)) {
    clip.pcm.insert(clip.pcm.end(), block.begin(),
                    block.begin() + static_cast<std::ptrdiff_t>(count));
  }
  const std::string json = fs::path(path).replace_extension(".json").string();
  const std::string text = fs::path(path).replace_extension(".txt").string();
  if (fs::exists(json)) {
    clip.truth = spoken_words(said_in_json(json));
  } else if (fs::exists(text)) {
    clip.truth = spoken_words(read_file(text, kTruthLimit));
  }
  return clip;
}

}  // namespace verbatim
