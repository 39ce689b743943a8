// The door through which commands see checkpoints and machines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"

namespace verbatim {

struct ModelDescription {
  std::string family;
  std::string name;
  std::string folder;
  std::string layout;                                      // "original", "transformers"
  std::vector<std::pair<std::string, std::string>> sizes;  // "hidden_size" -> "3584"
  std::vector<std::string> formats;                        // of the weights
  std::string quantization;                                // what they are made into: "int8"
  std::int64_t parameters = 0;
  std::int64_t max_context = 0;
  double audio_tokens_per_s = 0;
  bool is_live = false;  // yields text while it listens
  std::int32_t sample_rate_hz = 0;
  std::size_t weights_bytes = 0;
  double kv_bytes_per_minute = 0;  // of audio, prompt and expected output
  std::size_t kv_bytes = 0;        // of the caches at the options' context
  std::size_t arena_bytes = 0;     // at the options' context
  std::int64_t context = 0;        // positions a cache holds at once, which the arena was sized for
  std::string tokenizer;           // file
  std::int32_t tokenizer_size = 0;
  std::int32_t vocab_size = 0;
  std::string device;
};

// Reads, checks and sizes the checkpoint as loading does, and refuses with the same errors; no
// weight is copied.
ModelDescription describe_model(const EngineOptions& options);

struct DeviceDescription {
  std::string name;                     // "cpu"
  std::string model;                    // of the processor
  std::vector<std::string> isa_tables;  // that run here, best first
  std::string chosen;
  std::vector<int> cpuset;
  int physical_cores = 0;
  std::size_t memory_bytes = 0;
  std::size_t available_bytes = 0;
};
std::vector<DeviceDescription> describe_devices();

// Of the tables that tokenizers are read with: "15.0.0".
std::string describe_unicode();

}  // namespace verbatim
