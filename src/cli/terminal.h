// What a user sees while work goes on: one line that is redrawn on a terminal, plain lines
// elsewhere, and segments as they are decoded. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "transcript/event.h"

namespace verbatim {

// Where segments appear while they are decoded.
enum class Live : std::uint8_t { kNone, kOut, kErr };

struct TerminalSetup {
  bool quiet = false;    // neither progress nor notices
  bool redraws = false;  // stderr is a terminal
  int columns = 80;
  Live live = Live::kNone;
  int files = 1;
  std::function<void(std::string_view)> out;
  std::function<void(std::string_view)> err;
  std::function<double()> now_s;  // of a clock that never goes back
};

// The process's own streams and clock.
TerminalSetup standard_terminal(bool quiet = false);

class Terminal {
 public:
  explicit Terminal(TerminalSetup setup);
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  void notice(std::string_view line);   // unless quiet
  void message(std::string_view line);  // a warning or an error: always
  void progress(int file, const std::string& name, const Progress& progress);
  void segment(const Segment& segment);
  // Runs `body`, which writes to stdout itself, while nothing is drawn.
  void aside(const std::function<void()>& body);
  void leave(int file);  // its line goes, and it does not count as done
  // The file is done: its line goes, and `line` (may be empty) is a notice.
  void end(int file, std::string_view line);

 private:
  struct Work {
    std::string name;
    std::string stage;
    double begin_s = 0;  // of the stage
    double begin_done_s = 0;
    double shown_s = -1;
    Progress last;
  };

  void erase();
  void redraw(double now_s);
  void write_line(std::string_view line);
  void plain(Work& work, bool is_new_stage, double now_s);

  TerminalSetup setup_;
  std::mutex mutex_;
  std::map<int, Work> running_;
  int ended_ = 0;
  bool drawn_ = false;
  double drawn_s_ = -1;
};

// "[0.40 - 1.30] Speaker 0: open door", without line ends or other control characters.
std::string segment_line(const Segment& segment);

// "1:02:03", "2:03" of seconds, rounded up; "-" for what is not known.
std::string clock_text(double seconds);

}  // namespace verbatim
