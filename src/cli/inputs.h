// Which recordings a command line means, and what their results are called.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "transcript/writer.h"

namespace verbatim {

struct Input {
  std::string path;   // as it is opened and as messages name it; "-" for stdin
  std::string below;  // the file's path below the folder it was found in, or its bare name
};

// Files as they stand, whether they exist or not; folders with all below them that have the name of
// an audio or video file, in the order of their bytes, hidden ones left out. A file that comes
// twice counts once. Throws kNotFound for a folder without audio, kIo for one that cannot be read.
std::vector<Input> expand_inputs(std::span<const std::string> arguments);

// A name below --output-dir for each input, without the writer's extension: no two inputs share a
// file whatever the formats. The name is `below` without its extension, with it where two would
// clash, and numbered where they still do.
std::vector<std::string> result_names(std::span<const Input> inputs,
                                      std::span<const Writer* const> formats);

}  // namespace verbatim
