// The flags by which every command that loads a model describes its engine.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "cli/flags.h"
#include "cli/model_folder.h"
#include "cli/terminal.h"
#include "engine/engine.h"

namespace verbatim {

struct EngineFlags {
  std::string model;
  const char* preset = kNanoVibeVoice;  // the bundled model of who gives none
  std::string tokenizer;
  std::int64_t threads = 0;
  std::string isa;
  std::string kv = "f16";
  std::string quant = "none";
  std::string encoder_quant = "none";
  std::string encoder = "stored";
  std::string head_quant = "none";
  std::string head_filter = "on";
  std::string calib;
  std::int64_t max_context = 0;
  std::size_t memory_limit_bytes = 0;
};

void declare(Flags& flags, EngineFlags& to);
// Parts of the same.
void declare_model(Flags& flags, EngineFlags& to);
void declare_machine(Flags& flags, EngineFlags& to);

// Finds the bundled files and fills in what the flags say.
EngineOptions engine_options(const EngineFlags& flags);
// The same, and tells who gave no --model which one it is.
EngineOptions engine_options(const EngineFlags& flags, Terminal& terminal);

// Loads the model and shows that it does. Throws kCancelled when the user has interrupted it.
std::unique_ptr<Engine> load_engine(const EngineOptions& options, Terminal& terminal);

}  // namespace verbatim
