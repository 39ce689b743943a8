#include "cli/terminal.h"

#include <gtest/gtest.h>

#include <memory>

namespace verbatim {
namespace {

// A terminal whose streams are strings and whose clock stands still until it is moved.
struct Screen {
  std::string out;
  std::string err;
  double now_s = 100;

  std::unique_ptr<Terminal> open(bool redraws, Live live = Live::kNone, int columns = 80,
                                 bool quiet = false, int files = 1) {
    TerminalSetup setup;
    setup.quiet = quiet;
    setup.redraws = redraws;
    setup.columns = columns;
    setup.live = live;
    setup.files = files;
    setup.out = [this](std::string_view text) { out += text; };
    setup.err = [this](std::string_view text) { err += text; };
    setup.now_s = [this] { return now_s; };
    return std::make_unique<Terminal>(std::move(setup));
  }
  // What was drawn last, without the codes that erase.
  std::string last() const { return err.substr(err.rfind("\x1b[K") + 3); }
};

Segment segment(const char* text, std::int32_t speaker = 0) {
  Segment made;
  made.start_s = 0.4;
  made.end_s = 1.3;
  made.speaker = speaker;
  made.text = text;
  return made;
}

TEST(TerminalLine, HasStageShareSpeedAndRemainingTime) {
  Screen screen;
  const auto terminal = screen.open(true);
  terminal->progress(0, "a.wav", {"encode", 0, 60, 0});
  screen.now_s += 2;
  terminal->progress(0, "a.wav", {"encode", 30, 60, 0});
  EXPECT_EQ(screen.last(), "a.wav  encode  [##########..........]  50 %  15.0x  ETA 0:02");
}

TEST(TerminalLine, SpeedCountsTheStageAlone) {
  Screen screen;
  const auto terminal = screen.open(true);
  terminal->progress(0, "a.wav", {"encode", 60, 60, 0});
  screen.now_s += 100;
  terminal->progress(0, "a.wav", {"decode", 30, 60, 0});
  screen.now_s += 1;
  terminal->progress(0, "a.wav", {"decode", 33, 60, 0});
  EXPECT_NE(screen.last().find("  3.0x  ETA 0:09"), std::string::npos) << screen.last();
}

TEST(TerminalLine, NeverReachesTheLastColumn) {
  for (const int columns : {20, 40, 69, 70, 80, 200}) {
    Screen screen;
    const auto terminal = screen.open(true, Live::kNone, columns);
    terminal->progress(0, std::string(300, 'x') + ".wav", {"prefill", 1, 2, 0});
    EXPECT_LT(static_cast<int>(screen.last().size()), columns);
    EXPECT_NE(screen.last().find("prefill"), std::string::npos) << screen.last();
  }
}

TEST(TerminalLine, IsRedrawnTenTimesASecondAtMost) {
  Screen screen;
  const auto terminal = screen.open(true);
  for (int i = 0; i < 1000; ++i) {
    terminal->progress(0, "a.wav", {"encode", i * 0.06, 60, 0});
    screen.now_s += 0.001;
  }
  std::size_t drawn = 0;
  for (std::size_t at = 0; (at = screen.err.find("\x1b[K", at)) != std::string::npos; ++at) ++drawn;
  EXPECT_LE(drawn, 11u);
}

TEST(TerminalLine, GoesBeforeAMessageAndComesBack) {
  Screen screen;
  const auto terminal = screen.open(true);
  terminal->progress(0, "a.wav", {"encode", 0, 60, 0});
  screen.err.clear();
  terminal->message("a warning");
  EXPECT_EQ(screen.err.rfind("\r\x1b[Ka warning\n", 0), 0u);
  EXPECT_NE(screen.last().find("a.wav"), std::string::npos);
}

TEST(TerminalLine, ShowsEveryRunningFileWhenThereAreSeveral) {
  Screen screen;
  const auto terminal = screen.open(true, Live::kNone, 80, false, 3);
  terminal->progress(0, "a.wav", {"encode", 30, 60, 0});
  terminal->progress(2, "c.wav", {"decode", 15, 60, 0});
  EXPECT_EQ(screen.last(), "[0/3] a.wav encode 50 % | c.wav decode 25 %");
  terminal->end(0, "a.wav: done");
  EXPECT_EQ(screen.last().rfind("[1/3] c.wav  decode", 0), 0u) << screen.last();
}

TEST(TerminalLine, IsGoneAtTheEnd) {
  Screen screen;
  auto terminal = screen.open(true);
  terminal->progress(0, "a.wav", {"encode", 30, 60, 0});
  terminal.reset();
  EXPECT_EQ(screen.last(), "");
}

TEST(PlainLines, ComeOnceAStageAndThenEveryTenSeconds) {
  Screen screen;
  const auto terminal = screen.open(false);
  for (int i = 0; i <= 25; ++i) {
    terminal->progress(0, "a.wav", {"encode", i * 1.0, 50, 0});
    screen.now_s += 1;
  }
  terminal->progress(0, "a.wav", {"decode", 0, 50, 0});
  terminal->end(0, "a.wav: done");
  EXPECT_EQ(
      screen.err,
      "a.wav: encode\na.wav: encode  20 %  1.0x  ETA 0:40\na.wav: encode  40 %  1.0x  ETA 0:30\n"
      "a.wav: decode\na.wav: done\n");
}

TEST(Quiet, HidesProgressAndNoticesAndKeepsWarnings) {
  Screen screen;
  const auto terminal = screen.open(true, Live::kNone, 80, true);
  terminal->notice("a notice");
  terminal->progress(0, "a.wav", {"encode", 30, 60, 0});
  terminal->message("a warning");
  terminal->end(0, "a.wav: done");
  EXPECT_EQ(screen.err, "a warning\n");
}

TEST(LiveSegments, GoWhereTheyWereAskedFor) {
  Screen screen;
  screen.open(false, Live::kNone)->segment(segment("x"));
  EXPECT_EQ(screen.out + screen.err, "");
  screen.open(false, Live::kOut)->segment(segment("open door"));
  EXPECT_EQ(screen.out, "[0.40 - 1.30] Speaker 0: open door\n");
  screen.open(false, Live::kErr)->segment(segment("open door", -1));
  EXPECT_EQ(screen.err, "[0.40 - 1.30] open door\n");
}

TEST(SegmentLine, CarriesNoControlCharacters) {
  EXPECT_EQ(segment_line(segment("a\x1b[31m\nb\r")), "[0.40 - 1.30] Speaker 0: a [31m b");
}

TEST(ClockText, RoundsUpAndShowsHoursWhenThereAreAny) {
  EXPECT_EQ(clock_text(0), "0:00");
  EXPECT_EQ(clock_text(59.2), "1:00");
  EXPECT_EQ(clock_text(3723), "1:02:03");
  EXPECT_EQ(clock_text(-1), "-");
}

}  // namespace
}  // namespace verbatim
