// Draws progress. The line is redrawn at most ten times a second; plain lines come once a stage and
// then every ten seconds.
#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/utf8.h"
#include "transcript/characters.h"

namespace verbatim {
namespace {

constexpr double kRedrawS = 0.1;
constexpr double kPlainS = 10;
constexpr int kBarCells = 20;
constexpr int kMinColumns = 20;

double steady_s() {
  return seconds_since(Clock::time_point());
}

// The first `columns` characters.
std::string cut(const std::string& line, std::int64_t columns) {
  if (count_characters(line) <= columns) return line;
  std::string kept;
  std::string_view left = line;
  for (std::int64_t i = 0; i < columns; ++i) {
    const Utf8Character c = next_character(left);
    append_utf8(kept, c.code);
    left.remove_prefix(c.length);
  }
  return kept;
}

// The end of a name tells more than its beginning.
std::string short_name(const std::string& name, std::int64_t columns) {
  std::string line = one_line(name);
  const std::int64_t length = count_characters(line);
  if (length <= columns) return line;
  std::string_view end = line;
  for (std::int64_t i = 0; i < length - columns + 3; ++i)
    end.remove_prefix(next_character(end).length);
  return std::string("...").append(end);
}

double share_of(const Progress& progress) {
  if (!(progress.total_s > 0)) return -1;
  return std::clamp(progress.done_s / progress.total_s, 0.0, 1.0);
}

// " 45 %  8.1x  ETA 0:12", as much of it as is known.
std::string figures(const Progress& progress, double stage_s, double stage_audio_s) {
  std::string text;
  const double share = share_of(progress);
  if (share >= 0) text += formatted(" %3.0f %%", std::floor(share * 100));
  // Weights are counted in shares of the whole, not in seconds of audio.
  const std::string_view stage = progress.stage;
  const bool is_audio = stage != "load" && stage != "quantize";
  if (is_audio && stage_s > 0.2 && stage_audio_s > 0) {
    const double speed = stage_audio_s / stage_s;
    text += formatted("  %.1fx", speed);
    if (share >= 0)
      text.append("  ETA ").append(clock_text((progress.total_s - progress.done_s) / speed));
  } else if (share < 0 && progress.done_s > 0) {
    text += " " + clock_text(progress.done_s);
  }
  return text;
}

std::string bar(double share) {
  const int full = static_cast<int>(std::floor(share * kBarCells));
  return "[" + std::string(static_cast<std::size_t>(full), '#') +
         std::string(static_cast<std::size_t>(kBarCells - full), '.') + "]";
}

}  // namespace

std::string clock_text(double seconds) {
  if (!(seconds >= 0) || seconds > 1e7) return "-";
  const auto whole = static_cast<long long>(std::ceil(seconds));
  if (whole >= 3600)
    return formatted("%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60, whole % 60);
  return formatted("%lld:%02lld", whole / 60, whole % 60);
}

std::string segment_line(const Segment& segment) {
  std::string line = formatted("[%.2f - %.2f] ", segment.start_s, segment.end_s);
  if (segment.speaker >= 0) line += formatted("Speaker %d: ", segment.speaker);
  return line + one_line(segment.text);
}

TerminalSetup standard_terminal(bool quiet) {
  TerminalSetup setup;
  setup.quiet = quiet;
  setup.redraws = ::isatty(STDERR_FILENO) == 1;
  winsize size{};
  if (setup.redraws && ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    setup.columns = std::max<int>(size.ws_col, kMinColumns);
  // A terminal that went away has nobody to tell.
  setup.out = [](std::string_view text) { (void)write_all(STDOUT_FILENO, text); };
  setup.err = [](std::string_view text) { (void)write_all(STDERR_FILENO, text); };
  setup.now_s = steady_s;
  return setup;
}

Terminal::Terminal(TerminalSetup setup) : setup_(std::move(setup)) {}

Terminal::~Terminal() {
  erase();
}

void Terminal::notice(std::string_view line) {
  if (setup_.quiet) return;
  message(line);
}

void Terminal::message(std::string_view line) {
  const std::lock_guard lock(mutex_);
  write_line(line);
}

void Terminal::progress(int file, const std::string& name, const Progress& progress) {
  if (setup_.quiet) return;
  const std::lock_guard lock(mutex_);
  const double now_s = setup_.now_s();
  Work& work = running_[file];
  const bool is_new_stage = work.stage != progress.stage;
  if (is_new_stage) {
    work.name = name;
    work.stage = progress.stage;
    work.begin_s = now_s;
    work.begin_done_s = progress.done_s;
  }
  work.last = progress;
  if (!setup_.redraws) {
    plain(work, is_new_stage, now_s);
  } else if (is_new_stage || now_s - drawn_s_ >= kRedrawS) {
    redraw(now_s);
  }
}

void Terminal::segment(const Segment& segment) {
  if (setup_.live == Live::kNone) return;
  const std::lock_guard lock(mutex_);
  erase();
  const std::string line = segment_line(segment) + "\n";
  (setup_.live == Live::kOut ? setup_.out : setup_.err)(line);
  if (!running_.empty()) redraw(setup_.now_s());
}

void Terminal::aside(const std::function<void()>& body) {
  const std::lock_guard lock(mutex_);
  erase();
  body();
}

void Terminal::leave(int file) {
  const std::lock_guard lock(mutex_);
  running_.erase(file);
  erase();
}

void Terminal::end(int file, std::string_view line) {
  const std::lock_guard lock(mutex_);
  running_.erase(file);
  ++ended_;
  erase();
  if (!setup_.quiet && !line.empty()) write_line(line);
  if (setup_.redraws && !running_.empty()) redraw(setup_.now_s());
}

void Terminal::erase() {
  if (drawn_) setup_.err("\r\x1b[K");
  drawn_ = false;
}

void Terminal::write_line(std::string_view line) {
  const bool was_drawn = drawn_;
  erase();
  setup_.err(std::string(line) + (line.ends_with('\n') ? "" : "\n"));
  if (was_drawn && !running_.empty()) redraw(setup_.now_s());
}

// One file: name, stage, bar and figures. Several at once: the stage and share of each.
void Terminal::redraw(double now_s) {
  std::string line;
  if (setup_.files > 1) line = formatted("[%d/%d] ", ended_, setup_.files);
  if (running_.size() == 1) {
    const Work& work = running_.begin()->second;
    const double share = share_of(work.last);
    std::string rest = "  " + formatted("%-7s", work.stage.c_str());
    if (share >= 0 && setup_.columns >= 70) rest += " " + bar(share);
    rest += figures(work.last, now_s - work.begin_s, work.last.done_s - work.begin_done_s);
    const std::int64_t room = setup_.columns - 1 - count_characters(line + rest);
    line += short_name(work.name, std::max<std::int64_t>(room, 8)) + rest;
  } else {
    const char* between = "";
    for (const auto& [file, work] : running_) {
      line += between + short_name(work.name, 16) + " " + work.stage;
      if (const double share = share_of(work.last); share >= 0)
        line += formatted(" %.0f %%", std::floor(share * 100));
      between = " | ";
    }
  }
  setup_.err("\r\x1b[K" + cut(line, setup_.columns - 1));
  drawn_ = true;
  drawn_s_ = now_s;
}

void Terminal::plain(Work& work, bool is_new_stage, double now_s) {
  if (!is_new_stage && now_s - work.shown_s < kPlainS) return;
  work.shown_s = now_s;
  const std::string known =
      is_new_stage ? ""
                   : figures(work.last, now_s - work.begin_s, work.last.done_s - work.begin_done_s);
  setup_.err(one_line(work.name) + ": " + work.stage + known + "\n");
}

}  // namespace verbatim
