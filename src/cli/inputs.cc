// Expands files and folders into inputs and gives every input a name of its own.
#include "cli/inputs.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>
#include <system_error>

#include "base/error.h"

namespace verbatim {
namespace {

namespace fs = std::filesystem;

// What a folder's audio is told by; a file that is named outright may have any name.
constexpr std::string_view kExtensions[] = {"wav",  "wave", "bwf",  "rf64", "w64", "flac", "mp3",
                                            "mpga", "mpeg", "mp4",  "m4a",  "aac", "ogg",  "oga",
                                            "opus", "webm", "mka",  "mkv",  "mov", "amr",  "wma",
                                            "aiff", "aif",  "aifc", "caf",  "au",  "3gp",  "ts"};

bool has_audio_name(const fs::path& path) {
  std::string extension = path.extension().string();
  if (extension.empty()) return false;
  extension.erase(0, 1);
  for (char& c : extension)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return std::find(std::begin(kExtensions), std::end(kExtensions), extension) !=
         std::end(kExtensions);
}

bool is_hidden(const fs::path& path) {
  return path.filename().string().front() == '.';
}

// Links to folders are not followed: they may lead in a circle.
std::vector<Input> inputs_below(const std::string& folder) {
  std::error_code error;
  std::vector<Input> found;
  fs::recursive_directory_iterator entry(folder, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    if (is_hidden(entry->path())) {
      entry.disable_recursion_pending();
      continue;
    }
    std::error_code ignored;  // a link that leads nowhere is no file
    if (!entry->is_regular_file(ignored) || !has_audio_name(entry->path())) continue;
    found.push_back({entry->path().string(), entry->path().lexically_relative(folder).string()});
  }
  if (error)
    fail(Code::kIo, "%s: the folder cannot be read: %s", folder.c_str(), error.message().c_str());
  if (found.empty())
    fail(Code::kNotFound, "%s: the folder holds no file with the name of an audio file",
         folder.c_str());
  std::sort(found.begin(), found.end(),
            [](const Input& a, const Input& b) { return a.path < b.path; });
  return found;
}

// The path from the root without "." and "..", links left as they are.
std::string identity(const std::string& path) {
  if (path == "-") return path;
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  return error ? path : absolute.lexically_normal().string();
}

std::string without_extension(const std::string& below) {
  return fs::path(below).replace_extension().string();
}

using Names = std::vector<std::string>;

// How often each file would be written.
std::map<std::string, int> claims(const Names& names, std::span<const Writer* const> formats) {
  std::map<std::string, int> count;
  for (const std::string& name : names)
    for (const Writer* const format : formats) ++count[name + "." + format->extension];
  return count;
}

// Whether one of the name's files has more than `others` claims.
bool is_taken(const std::string& name, const std::map<std::string, int>& count,
              std::span<const Writer* const> formats, int others) {
  return std::any_of(formats.begin(), formats.end(), [&](const Writer* format) {
    const auto found = count.find(name + "." + format->extension);
    return found != count.end() && found->second > others;
  });
}

bool clashes(const std::string& name, const std::map<std::string, int>& count,
             std::span<const Writer* const> formats) {
  return is_taken(name, count, formats, 1);
}

}  // namespace

std::vector<Input> expand_inputs(std::span<const std::string> arguments) {
  std::vector<Input> inputs;
  std::set<std::string> known;
  const auto add = [&](Input input) {
    if (known.insert(identity(input.path)).second) inputs.push_back(std::move(input));
  };
  for (const std::string& argument : arguments) {
    std::error_code error;
    if (argument == "-") {
      add({argument, "stdin"});
    } else if (fs::is_directory(argument, error)) {
      for (Input& input : inputs_below(argument)) add(std::move(input));
    } else {
      add({argument, fs::path(argument).filename().string()});
    }
  }
  return inputs;
}

std::vector<std::string> result_names(std::span<const Input> inputs,
                                      std::span<const Writer* const> formats) {
  Names names;
  for (const Input& input : inputs) names.push_back(without_extension(input.below));
  // All that clash get their extension, not only the later ones: which file a result belongs to
  // does not change when a recording is added beside it.
  const auto first = claims(names, formats);
  for (std::size_t i = 0; i < names.size(); ++i)
    if (clashes(names[i], first, formats)) names[i] = inputs[i].below;
  // What still clashes is numbered, past every name that anyone has.
  auto taken = claims(names, formats);
  std::map<std::string, int> last_number;
  for (std::string& name : names) {
    if (!clashes(name, taken, formats)) continue;
    int& number = last_number[name];
    std::string numbered;
    do {
      numbered = formatted("%s-%d", name.c_str(), ++number);
    } while (is_taken(numbered, taken, formats, 0));
    name = numbered;
    for (const Writer* const format : formats) ++taken[name + "." + format->extension];
  }
  return names;
}

}  // namespace verbatim
