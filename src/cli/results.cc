// Results are settled before the work and written after it, all formats of an input or none.
#include "cli/results.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "cli/terminal.h"
#include "transcript/characters.h"

namespace verbatim {
namespace {

namespace fs = std::filesystem;

// Bodies that may follow each other on stdout: a line each, or lines that name their recording.
constexpr std::string_view kStackable[] = {"lines",         "text", "json", "verbose_json",
                                           "diarized_json", "rttm", "ctm"};

// What a reader at a terminal wants and no --format names: a line a segment.
std::string write_lines(const Transcript& transcript, const WriterOptions&) {
  std::string lines;
  for (const Segment& segment : transcript.segments) lines += segment_line(segment) + "\n";
  if (lines.empty() && !transcript.text.empty()) lines = one_line(transcript.text) + "\n";
  return lines;
}

constexpr Writer kLinesWriter{"lines", "text/plain; charset=utf-8", "txt", write_lines};

std::vector<const Writer*> find_writers(const std::vector<std::string>& names) {
  std::vector<const Writer*> writers;
  for (const std::string& name : names) {
    const std::span<const Writer* const> all = verbatim::writers();
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const Writer* writer) { return name == writer->name; });
    if (found == all.end()) {
      std::string allowed;
      for (const Writer* const writer : all) append_listed(allowed, writer->name);
      fail(Code::kInvalidArgument, "--format: expected one or several of %s, found '%s'",
           allowed.c_str(), name.c_str());
    }
    writers.push_back(*found);
  }
  return writers;
}

void make_folder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    fail(Code::kIo, "--output-dir: %s cannot be made: %s", folder.c_str(), error.message().c_str());
}

bool is_regular(const std::string& path) {
  struct stat about {};
  return ::stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode);
}

[[noreturn]] void fail_stdout(int error) {
  fail(Code::kIo, "stdout: cannot be written: %s", system_message(error).c_str());
}

}  // namespace

void check_writable(const char* flag, const std::string& path) {
  struct stat about {};
  if (::stat(path.c_str(), &about) == 0) {
    if (S_ISDIR(about.st_mode))
      fail(Code::kIo, "%s: %s is a folder, expected a file to write", flag, path.c_str());
    if (::access(path.c_str(), W_OK) != 0)
      fail(Code::kIo, "%s: %s cannot be written: %s", flag, path.c_str(),
           system_message(errno).c_str());
    // A device or a pipe is written as it is, and so is what /dev/stdout was redirected to.
    if (!S_ISREG(about.st_mode) || path.starts_with("/dev/")) return;
  } else if (errno != ENOENT && errno != ENOTDIR) {  // a name that is too long, links in a circle
    fail(Code::kIo, "%s: %s cannot be written: %s", flag, path.c_str(),
         system_message(errno).c_str());
  }
  std::error_code error;
  const fs::path target = fs::canonical(path, error);  // behind links; none where it is new
  fs::path folder = (error ? fs::path(path) : target).parent_path();
  if (folder.empty()) folder = ".";
  if (::stat(folder.c_str(), &about) != 0 || !S_ISDIR(about.st_mode))
    fail(Code::kIo, "%s: %s cannot be written: there is no folder %s", flag, path.c_str(),
         folder.c_str());
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    fail(Code::kIo, "%s: %s cannot be written: the folder %s: %s", flag, path.c_str(),
         folder.c_str(), system_message(errno).c_str());
}

void write_stdout(std::string_view text) {
  if (const int error = write_all(STDOUT_FILENO, text); error != 0) fail_stdout(error);
}

Results::Results(const ResultFlags& flags, std::span<const Input> inputs)
    : skip_existing_(flags.skip_existing), waiting_(inputs.size()) {
  writers_ = find_writers(flags.formats);
  if (!flags.output.empty() && !flags.output_dir.empty())
    fail(Code::kInvalidArgument, "--output: expected not to come together with --output-dir");
  if (!flags.output_dir.empty() || (!flags.output.empty() && flags.output != "-")) {
    if (writers_.empty()) writers_.push_back(&find_writer("text"));
    settle_files(flags, inputs);
    return;
  }
  if (writers_.empty()) writers_.push_back(&kLinesWriter);
  if (flags.skip_existing)
    fail(Code::kInvalidArgument, "--skip-existing: expected --output-dir or --output with it");
  if (writers_.size() > 1)
    fail(Code::kInvalidArgument,
         "--format: expected one format for stdout, found %zu; use --output or --output-dir",
         writers_.size());
  if (inputs.size() > 1 && std::find(std::begin(kStackable), std::end(kStackable),
                                     writers_[0]->name) == std::end(kStackable))
    fail(Code::kInvalidArgument,
         "--format: %s of %zu recordings cannot follow each other on stdout; use --output-dir",
         writers_[0]->name, inputs.size());
}

void Results::settle_files(const ResultFlags& flags, std::span<const Input> inputs) {
  in_folder_ = !flags.output_dir.empty();
  if (in_folder_) {
    for (const std::string& name : result_names(inputs, writers_))
      files_.push_back((fs::path(flags.output_dir) / name).string());
  } else if (inputs.size() == 1) {
    files_.push_back(flags.output);
    adds_extension_ = writers_.size() > 1;
  } else {
    fail(Code::kInvalidArgument, "--output: expected one recording, found %zu; use --output-dir",
         inputs.size());
  }
  const char* const flag = in_folder_ ? "--output-dir" : "--output";
  for (std::size_t i = 0; i < files_.size(); ++i) {
    if (in_folder_) make_folder(fs::path(files_[i]).parent_path().string());
    for (const std::string& path : paths(i, true)) check_writable(flag, path);
  }
}

bool Results::is_lines() const {
  return writers_[0] == &kLinesWriter;
}

std::vector<std::string> Results::paths(std::size_t input, bool is_whole) const {
  std::vector<std::string> all;
  if (files_.empty()) return all;
  for (const Writer* const writer : writers_) {
    std::string path = files_[input];
    if (!is_whole && in_folder_) path += ".interrupted";
    if (adds_extension_) path += std::string(".") + writer->extension;
    all.push_back(std::move(path));
  }
  return all;
}

bool Results::is_there(std::size_t input) const {
  if (!skip_existing_) return false;
  const std::vector<std::string> all = paths(input, true);
  return std::all_of(all.begin(), all.end(), is_regular);
}

void Results::deliver(std::size_t input, const Transcript& transcript, const WriterOptions& options,
                      bool is_whole) {
  if (to_stdout()) {
    const std::lock_guard lock(mutex_);
    std::string body;
    if (is_lines() && waiting_.size() > 1) body = "==> " + one_line(transcript.source) + " <==\n";
    waiting_[input] = body + writers_[0]->write(transcript, options);
    print_ready();
    return;
  }
  const std::vector<std::string> all = paths(input, is_whole);
  std::vector<std::unique_ptr<AtomicFile>> files;
  for (std::size_t i = 0; i < all.size(); ++i) {
    files.push_back(std::make_unique<AtomicFile>(all[i]));
    files.back()->write(writers_[i]->write(transcript, options));
  }
  for (const std::unique_ptr<AtomicFile>& file : files) file->commit();
}

void Results::pass_over(std::size_t input) {
  if (!to_stdout()) return;
  const std::lock_guard lock(mutex_);
  if (input >= next_ && !waiting_[input]) waiting_[input] = "";
  print_ready();
}

void Results::print_ready() {
  while (next_ < waiting_.size() && waiting_[next_]) {
    const std::string body = std::move(*waiting_[next_]);
    ++next_;
    if (const int error = write_all(STDOUT_FILENO, body); error != 0) {
      is_lost_ = true;
      fail_stdout(error);
    }
  }
}

}  // namespace verbatim
