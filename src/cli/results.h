// Where results go: stdout in the order of the inputs, or files that appear whole.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/inputs.h"
#include "transcript/writer.h"

namespace verbatim {

struct ResultFlags {
  std::vector<std::string> formats;  // names; empty: lines on stdout, text in files
  std::string output;                // "-": stdout
  std::string output_dir;
  bool skip_existing = false;
};

class Results {
 public:
  // Settles every path and checks that it can be written, before any work. Throws kInvalidArgument
  // for flags that contradict each other, kIo for folders that are missing or read-only.
  Results(const ResultFlags& flags, std::span<const Input> inputs);

  bool to_stdout() const { return files_.empty(); }
  // Lines for a reader on stdout, which those shown as they are decoded can stand for.
  bool is_lines() const;
  // With skip_existing: every file of this input is there.
  bool is_there(std::size_t input) const;

  // Writes one input's results; on stdout once those before it have been delivered or passed over.
  // is_whole false: a file in --output-dir gets ".interrupted" into its name, so that no later run
  // takes it for whole. Throws kIo; then nothing of this input is left. Any thread.
  void deliver(std::size_t input, const Transcript& transcript, const WriterOptions& options,
               bool is_whole);
  void pass_over(std::size_t input);  // failed, skipped or shown already

  // Nobody reads stdout any more: what comes later has nowhere to go.
  bool is_lost() const { return is_lost_; }

  // Paths of one input, one per format; empty on stdout.
  std::vector<std::string> paths(std::size_t input, bool is_whole) const;

 private:
  void settle_files(const ResultFlags& flags, std::span<const Input> inputs);
  void print_ready();

  std::vector<const Writer*> writers_;
  std::vector<std::string> files_;  // without the extension, one per input
  bool adds_extension_ = true;
  bool in_folder_ = false;
  bool skip_existing_ = false;
  std::atomic<bool> is_lost_{false};
  std::mutex mutex_;
  std::size_t next_ = 0;  // the input whose turn on stdout it is
  std::vector<std::optional<std::string>> waiting_;
};

// Throws kIo unless a file of this name can be made or replaced here. `flag` names it in errors.
void check_writable(const char* flag, const std::string& path);

// Throws kIo, also when the reader of the pipe has gone.
void write_stdout(std::string_view text);

}  // namespace verbatim
