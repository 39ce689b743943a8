// What --stats, --stats-json and --profile tell about a run.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/stream.h"

namespace verbatim {

struct FileStats {
  std::string file;
  const char* outcome = "";  // whole, warned, interrupted, failed, skipped
  double audio_s = 0;
  double read_s = 0;
  double wall_s = 0;
  SessionStats session;
};

struct RunStats {
  std::string model;
  std::string family;
  std::string device;
  int threads = 0;
  double load_s = 0;
  double wall_s = 0;  // of everything, the load included
  MemoryUse memory;
  std::size_t peak_memory_bytes = 0;  // of the process
  std::vector<FileStats> files;       // in the order of the inputs
};

std::string stats_text(const RunStats& stats);
std::string stats_json(const RunStats& stats);
std::string profile_text(std::span<const ProfileRow> rows);

// "1.4 GiB", "812 MiB", "17 KiB".
std::string size_text(double bytes);

}  // namespace verbatim
