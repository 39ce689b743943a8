// Text for people and JSON lines for programs.
#include "cli/live_output.h"

#include <unistd.h>

#include <utility>
#include <variant>

#include "base/error.h"
#include "base/file.h"
#include "base/utf8.h"
#include "cli/results.h"
#include "cli/terminal.h"
#include "transcript/characters.h"
#include "transcript/fields.h"

namespace verbatim {
namespace {

// What a terminal would obey is shown as a blank; line ends stay.
std::string shown_text(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const Utf8Character c = next_character(text);
    text.remove_prefix(c.length);
    const bool is_control = c.code < 0x20 || (c.code >= 0x7F && c.code < 0xA0);
    append_utf8(shown, is_control && c.code != U'\n' ? U' ' : c.code);
  }
  return shown;
}

// Deltas as they come, and nothing else on stdout but the last line's end.
class TextOutput final : public LiveOutput {
 public:
  explicit TextOutput(LiveSink sink) : sink_(std::move(sink)) {}

  void delta(const TextDelta& delta) override {
    std::string text = shown_text(delta.text);
    // A line begins with a word, not with the blank before it.
    if (column_is_first_) text.erase(0, text.find_first_not_of(' '));
    if (text.empty()) return;
    write(text);
    has_delta_ = true;
  }

  void word(const Word&) override {}

  void segment(const Segment& segment) override {
    // One whose text came in deltas has been shown.
    if (!std::exchange(has_delta_, false)) write(segment_line(segment) + "\n");
  }

  void warning(const Warning& warning) override {
    std::string line = "warning: " + one_line(warning.message) + " (" + warning.code;
    if (warning.end_s > warning.start_s)
      line += formatted(", %.2f - %.2f s", warning.start_s, warning.end_s);
    say(line + ")");
  }

  void lag(const Lag& lag) override {
    say(lag.behind_s > 0 ? formatted("the text is %.1f s behind the audio", lag.behind_s)
                         : std::string("the text has caught up with the audio"));
  }

  void end(const Transcript&) override {
    if (!column_is_first_) write("\n");
  }

 private:
  void write(const std::string& text) {
    sink_.out(text);
    column_is_first_ = text.ends_with('\n');
  }

  void say(const std::string& line) {
    const bool breaks_in = sink_.is_one_screen && !column_is_first_;
    sink_.message((breaks_in ? "\nverbatim: " : "verbatim: ") + line);
    column_is_first_ = column_is_first_ || breaks_in;
  }

  LiveSink sink_;
  bool column_is_first_ = true;
  bool has_delta_ = false;  // since the last segment
};

double rounded_cs(double seconds) {
  return static_cast<double>(rounded_time(seconds, 2)) / 100;
}

// An object per line; docs/jsonl.md names the fields.
class JsonLinesOutput final : public LiveOutput {
 public:
  explicit JsonLinesOutput(LiveSink sink) : sink_(std::move(sink)) {}

  void delta(const TextDelta& delta) override {
    write("delta", [&](std::string& line) {
      append_text(line, "text", delta.text);
      append_times(line, delta.start_s, delta.end_s);
    });
  }

  void word(const Word& word) override {
    write("word", [&](std::string& line) {
      append_text(line, "text", word.text);
      append_times(line, word.start_s, word.end_s);
    });
  }

  void segment(const Segment& segment) override {
    write("segment", [&](std::string& line) {
      append_text(line, "text", segment.text);
      append_times(line, segment.start_s, segment.end_s);
      append_speaker_id(line, segment.speaker);
      append_speaker(line, segment.speaker);
    });
  }

  void warning(const Warning& warning) override {
    write("warning", [&](std::string& line) {
      append_text(line, "code", warning.code);
      append_text(line, "message", warning.message);
      append_times(line, warning.start_s, warning.end_s);
    });
  }

  void lag(const Lag& lag) override {
    write("lag", [&](std::string& line) {
      append_number(line, "seconds", rounded_cs(lag.behind_s));
      append_number(line, "position", rounded_cs(lag.position_s));
    });
  }

  void end(const Transcript& transcript) override {
    write("final", [&](std::string& line) {
      append_text(line, "text", transcript.text);
      append_duration(line, transcript.usage);
      append_warnings(line, transcript.warnings);
    });
  }

 private:
  template <typename Fields>
  void write(const char* type, const Fields& fields) {
    std::string line = "{";
    append_text(line, "type", type);
    fields(line);
    sink_.out(line + "}\n");
  }

  static void append_times(std::string& line, double start_s, double end_s) {
    append_number(line, "start", rounded_cs(start_s));
    append_number(line, "end", rounded_cs(end_s));
  }

  LiveSink sink_;
};

}  // namespace

std::unique_ptr<LiveOutput> make_live_output(std::string_view format, LiveSink sink) {
  if (format == "jsonl") return std::make_unique<JsonLinesOutput>(std::move(sink));
  check(format == "text", "the flag allows text and jsonl");
  return std::make_unique<TextOutput>(std::move(sink));
}

LiveSink standard_live_sink() {
  LiveSink sink;
  sink.out = [](std::string_view text) { write_stdout(text); };
  sink.message = [](std::string_view line) {
    // What cannot be told there has no other place.
    (void)write_all(STDERR_FILENO, std::string(line) + "\n");
  };
  sink.is_one_screen = ::isatty(STDOUT_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1;
  return sink;
}

void write_event(LiveOutput& output, const Event& event) {
  if (const auto* delta = std::get_if<TextDelta>(&event)) return output.delta(*delta);
  if (const auto* word = std::get_if<WordDone>(&event)) return output.word(word->word);
  if (const auto* segment = std::get_if<SegmentDone>(&event))
    return output.segment(segment->segment);
  if (const auto* warning = std::get_if<Warning>(&event)) return output.warning(*warning);
}

}  // namespace verbatim
