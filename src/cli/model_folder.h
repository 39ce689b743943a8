// Where the checkpoints and the tokenizer that come with the program lie: beside the executable, in
// the build tree and in the install tree.
#pragma once

#include <string>

namespace verbatim {

constexpr const char* kNanoVibeVoice = "nano-vibevoice";
constexpr const char* kNanoVoxtral = "nano-voxtral";

// Empty: not found.
struct BundledFiles {
  std::string nano_vibevoice;  // a checkpoint's folder
  std::string nano_voxtral;
  std::string tokenizer;  // Qwen2.5's tokenizer.json
};

std::string executable_folder();  // of this process; empty where /proc does not tell
BundledFiles bundled_files(const std::string& executable_folder);

// The folder that --model means: the name of a bundled checkpoint, anything else is a path; an
// empty flag is `preset`. Throws kNotFound when a bundled one is not there.
std::string model_folder(const std::string& flag, const char* preset, const BundledFiles& bundled);

// One line for who gave no --model.
std::string nano_notice(const std::string& folder);

}  // namespace verbatim
