// The program: finds the command, and turns what it throws into a sentence and an exit code.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/exit_codes.h"
#include "cli/results.h"
#include "engine/describe.h"

namespace verbatim {
namespace {

constexpr const Command* kCommands[] = {&kTranscribeCommand, &kStreamCommand,  &kMicCommand,
                                        &kInfoCommand,       &kDevicesCommand, &kQuantizeCommand,
                                        &kCalibrateCommand};

[[noreturn]] void refuse_command(const std::string& found) {
  std::string names;
  for (const Command* const command : kCommands) append_listed(names, command->name);
  fail(Code::kInvalidArgument, "COMMAND: expected %s or --help, found %s", names.c_str(),
       found.c_str());
}

std::string help() {
  std::string text =
      "usage: verbatim COMMAND [FLAGS] ...\n\nTurns speech into text with speakers and "
      "times.\n\nCommands:\n";
  for (const Command* const command : kCommands)
    text += formatted("  %-11s %s\n", command->name, command->summary);
  return text +
         "\n'verbatim COMMAND --help' explains a command, 'verbatim --version' names this "
         "build.\n\n"
         "Exit codes: 0 whole, 1 failed, 2 usage, 3 delivered with warnings, 130 interrupted.\n\n"
         "Examples:\n"
         "  verbatim transcribe meeting.wav\n"
         "  arecord -f S16_LE -r 16000 -t raw | verbatim stream --rate 16000\n"
         "  verbatim mic --model ./Voxtral-Mini-4B-Realtime\n"
         "  verbatim info --model ./VibeVoice-ASR\n"
         "  verbatim devices\n"
         "  verbatim quantize --model ./VibeVoice-ASR --quant int4 --output ./VibeVoice-ASR-int4\n";
}

int run(std::span<const char* const> arguments) {
  if (arguments.empty()) refuse_command("nothing");
  const std::string_view name = arguments[0];
  if (name == "--help" || name == "-h" || name == "help") {
    write_stdout(help());
    return kExitWhole;
  }
  if (name == "--version") {
    write_stdout(
        formatted("verbatim %s\nUnicode %s\n", VERBATIM_VERSION, describe_unicode().c_str()));
    return kExitWhole;
  }
  for (const Command* const command : kCommands)
    if (name == command->name) return command->run(arguments.subspan(1));
  refuse_command("'" + std::string(name) + "'");
}

// A file that a stream of ours would be taken for must not get its place: what reads or writes a
// closed stream then fails as it should.
void hold_streams() {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
    if (::fcntl(stream, F_GETFD) < 0 && errno == EBADF)
      // The other direction; the lowest free number is this one. Where even that fails nothing
      // helps.
      (void)::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

void print_error(std::string_view what) {
  // One write, so that lines of several processes do not mix. Names may hold anything.
  const std::string line = "verbatim: " + shown_name(what, what.size()) + "\n";
  if (::write(STDERR_FILENO, line.data(), line.size()) < 0) return;  // there is nobody to tell
}

// A mapped file has lost what was there when it was opened.
void on_bus_error(int) {
  constexpr std::string_view kSentence =
      "verbatim: a file of the checkpoint cannot be read any more: it was cut, or its disk "
      "failed\n";
  (void)!::write(STDERR_FILENO, kSentence.data(), kSentence.size());
  ::_exit(kExitFailed);
}

// Log lines start where a progress line may stand.
void log_to_stderr(Level, std::string_view line) {
  const bool redraws = ::isatty(STDERR_FILENO) == 1;
  const std::string text =
      std::string(redraws ? "\r\x1b[K" : "") + "verbatim: " + std::string(line) + "\n";
  if (::write(STDERR_FILENO, text.data(), text.size()) < 0) return;
}

}  // namespace
}  // namespace verbatim

int main(int count, char** arguments) {
  using namespace verbatim;  // NOLINT(google-build-using-namespace): main alone stands outside.
  hold_streams();
  // A reader that leaves, or a file that may not grow, is an error of the write and not the end of
  // the process.
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
  signal(SIGBUS, on_bus_error);
  install_interrupt_handler();
  set_log(Level::kWarn, log_to_stderr);
  try {
    const auto given = static_cast<std::size_t>(count > 0 ? count - 1 : 0);
    return run(std::span<const char* const>(arguments + 1, given));
  } catch (const Error& error) {
    print_error(error.what());
    return exit_code(error.code());
  } catch (const std::bad_alloc&) {
    print_error("out of memory");
    return kExitFailed;
  } catch (const std::system_error& error) {
    // Only threads throw it: files report by number.
    print_error(formatted("a thread cannot be started: %s", error.what()));
    return kExitFailed;
  } catch (const std::exception& error) {
    print_error(error.what());
    return kExitFailed;
  }
}
