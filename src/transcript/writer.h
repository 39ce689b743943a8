// Output formats: one constant struct each. Equal transcripts give equal bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "transcript/event.h"

namespace verbatim {

struct WriterOptions {
  std::string model;                 // its name, where a format carries one
  double temperature = 0;            // what was sampled with, where a format carries it
  std::int32_t max_line_chars = 42;  // of a subtitle line, in characters; two lines a cue
  bool words = false;  // json, verbose_json: word times too, where the transcript has any
};

struct Writer {
  const char* name;  // "verbose_json", as response_format and --format spell it
  const char* mime;
  const char* extension;  // of files that --output-dir makes, without the dot; unique
  std::string (*write)(const Transcript& transcript, const WriterOptions& options);
};

std::span<const Writer* const> writers();          // transcript/registry.cc
const Writer& find_writer(std::string_view name);  // throws kInvalidArgument listing the names

}  // namespace verbatim
