// Reports of a run. The JSON keeps its keys whatever happened.
#include "cli/stats.h"

#include <algorithm>

#include "base/error.h"
#include "base/json.h"

namespace verbatim {
namespace {

struct StageRow {
  const char* stage;
  double seconds;
  std::int64_t tokens;  // audio frames where the stage is about audio
};

std::vector<StageRow> stages(const FileStats& file) {
  return {{"read", file.read_s, 0},
          {"encode", file.session.encode_s, file.session.audio_frames},
          {"prefill", file.session.prefill_s, file.session.prompt_tokens},
          {"decode", file.session.decode_s, file.session.output_tokens}};
}

double ratio(double a, double b) {
  return b > 0 ? a / b : 0;
}

void append_member(std::string& json, const char* key, const std::string& value) {
  if (json.back() != '{') json.push_back(',');
  json += json_string(key) + ":" + value;
}

std::string file_json(const FileStats& file) {
  std::string rows = "[";
  for (const StageRow& row : stages(file)) {
    std::string one = "{";
    append_member(one, "stage", json_string(row.stage));
    append_member(one, "seconds", json_number(row.seconds));
    append_member(one, "tokens", std::to_string(row.tokens));
    append_member(one, "tokens_per_s",
                  json_number(ratio(static_cast<double>(row.tokens), row.seconds)));
    append_member(one, "real_time_factor", json_number(ratio(row.seconds, file.audio_s)));
    rows += (rows.back() == '[' ? "" : ",") + one + "}";
  }
  std::string json = "{";
  append_member(json, "file", json_string(file.file));
  append_member(json, "outcome", json_string(file.outcome));
  append_member(json, "audio_s", json_number(file.audio_s));
  append_member(json, "wall_s", json_number(file.wall_s));
  append_member(json, "real_time_factor", json_number(ratio(file.wall_s, file.audio_s)));
  append_member(json, "stages", rows + "]");
  return json + "}";
}

}  // namespace

std::string size_text(double bytes) {
  const char* unit = "B";
  for (const char* const larger : {"KiB", "MiB", "GiB", "TiB"}) {
    if (bytes < 1024) break;
    bytes /= 1024;
    unit = larger;
  }
  return bytes < 10 ? formatted("%.1f %s", bytes, unit) : formatted("%.0f %s", bytes, unit);
}

std::string stats_text(const RunStats& stats) {
  std::string text = formatted("model %s (%s) on %s, %d threads\n", stats.model.c_str(),
                               stats.family.c_str(), stats.device.c_str(), stats.threads);
  text += formatted("%-8s %9.3f s\n", "load", stats.load_s);
  for (const FileStats& file : stats.files) {
    text +=
        formatted("%s: %s, %.2f s of audio in %.3f s, real-time factor %.3f\n", file.file.c_str(),
                  file.outcome, file.audio_s, file.wall_s, ratio(file.wall_s, file.audio_s));
    for (const StageRow& row : stages(file)) {
      if (row.seconds <= 0 && row.tokens == 0) continue;
      text += formatted("  %-7s %9.3f s  real-time factor %.3f", row.stage, row.seconds,
                        ratio(row.seconds, file.audio_s));
      if (row.tokens > 0)
        text += formatted("  %lld tokens, %.1f tokens/s", static_cast<long long>(row.tokens),
                          ratio(static_cast<double>(row.tokens), row.seconds));
      text += "\n";
    }
  }
  text += formatted("memory: weights %s, kv %s, arena %s, state %s; peak of the process %s\n",
                    size_text(static_cast<double>(stats.memory.weights)).c_str(),
                    size_text(static_cast<double>(stats.memory.kv)).c_str(),
                    size_text(static_cast<double>(stats.memory.arena)).c_str(),
                    size_text(static_cast<double>(stats.memory.state)).c_str(),
                    size_text(static_cast<double>(stats.peak_memory_bytes)).c_str());
  return text + formatted("in all   %9.3f s\n", stats.wall_s);
}

std::string stats_json(const RunStats& stats) {
  std::string memory = "{";
  append_member(memory, "weights_bytes", std::to_string(stats.memory.weights));
  append_member(memory, "kv_bytes", std::to_string(stats.memory.kv));
  append_member(memory, "arena_bytes", std::to_string(stats.memory.arena));
  append_member(memory, "state_bytes", std::to_string(stats.memory.state));
  append_member(memory, "peak_bytes", std::to_string(stats.peak_memory_bytes));
  std::string files = "[";
  for (const FileStats& file : stats.files)
    files += (files.back() == '[' ? "" : ",") + file_json(file);
  std::string json = "{";
  append_member(json, "schema", "1");
  append_member(json, "model", json_string(stats.model));
  append_member(json, "family", json_string(stats.family));
  append_member(json, "device", json_string(stats.device));
  append_member(json, "threads", std::to_string(stats.threads));
  append_member(json, "load_s", json_number(stats.load_s));
  append_member(json, "wall_s", json_number(stats.wall_s));
  append_member(json, "memory", memory + "}");
  append_member(json, "files", files + "]");
  return json + "}\n";
}

std::string profile_text(std::span<const ProfileRow> rows) {
  std::vector<ProfileRow> sorted(rows.begin(), rows.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const ProfileRow& a, const ProfileRow& b) { return a.seconds > b.seconds; });
  double total = 0;
  for (const ProfileRow& row : sorted) total += row.seconds;
  std::string text = "  seconds   share     calls  operation\n";
  for (const ProfileRow& row : sorted) {
    text += formatted("%9.3f  %5.1f %%  %8lld  %s%s%s\n", row.seconds,
                      100 * ratio(row.seconds, total), static_cast<long long>(row.calls),
                      row.op.c_str(), row.name.empty() ? "" : " ", row.name.c_str());
  }
  return text;
}

}  // namespace verbatim
