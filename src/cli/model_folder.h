// Where the checkpoint and the tokenizer that come with the program lie: beside the executable, in
// the build tree and in the install tree.
#pragma once

#include <string>

namespace verbatim {

struct BundledFiles {
  std::string nano;       // the checkpoint's folder; empty: not found
  std::string tokenizer;  // Qwen2.5's tokenizer.json; empty: not found
};

std::string executable_folder();  // of this process; empty where /proc does not tell
BundledFiles bundled_files(const std::string& executable_folder);

// The folder that --model means: a path as it stands, "nano-vibevoice" (and no flag at all) the
// bundled nano. Throws kNotFound when that is not there.
std::string model_folder(const std::string& flag, const BundledFiles& bundled);

// One line for who gave no --model.
std::string nano_notice(const std::string& folder);

}  // namespace verbatim
