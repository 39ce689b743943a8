// Engine: admission over one or more replicas. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/stream.h"
#include "transcript/options.h"
#include "weights/calibration.h"
#include "weights/recipe.h"

namespace verbatim {

class Replica;
class Tap;

struct EngineOptions {
  std::string model;               // a checkpoint folder
  std::string tokenizer;           // a file; empty: the folder's own
  std::string fallback_tokenizer;  // for folders that ship none and whose sizes agree
  std::string device = "cpu";
  std::string isa;  // empty: the best that runs here
  int threads = 0;  // 0: one per physical core
  // Dense output heads get a filter where that is faster: tokens stay what they are.
  bool head_filter = true;
  bool pin_threads = true;
  std::string kv = "f16";
  Quantization quant;       // what its weights are made into as they are loaded
  bool auto_quant = false;  // chooses quant.decoder by the memory there is
  std::string calibration;  // what write_statistics wrote; smooths what rounds its rows to int8
  std::function<void(double share)> loading;  // told how much of the checkpoint has been placed
  int slots = 1;                              // sessions that run at once
  int waiting = 1024;                         // sessions that may wait
  std::int64_t max_context = 0;     // positions; 0: sized from expected_audio_s or the checkpoint
  double expected_audio_s = 0;      // longest clip that will come; 0: unknown
  SessionOptions expected_options;  // what such a clip will be asked with
  std::size_t memory_limit_bytes = 0;  // 0: none
  // Of one tick, all sessions together: audio encoded, and decoder rows.
  double encode_room_s = 4;
  std::int32_t decode_room_rows = 512;
  std::string spool_folder;  // where long audio waits; empty: the default
  bool own_thread = true;    // false: the caller ticks (tests)
  bool checked = false;      // run every op on the scalar table too and compare bytes
  bool profile = false;      // time per op and weight name, see profile()
  bool ranges = false;       // remember what enters each weight, see inputs()
  Tap* tap = nullptr;        // shown every named tensor; must outlive the engine
};

// What the engine's memory goes to, in bytes.
struct MemoryUse {
  std::size_t weights = 0;
  std::size_t kv = 0;
  std::size_t arena = 0;
  std::size_t state = 0;  // convolution contexts and spools in memory
  std::size_t total() const { return weights + kv + arena + state; }
};

struct ProfileRow {
  std::string op;    // "linear", "attention", ...
  std::string name;  // the weight's name with its layer number as *, where the op has one
  std::int64_t calls = 0;
  double seconds = 0;
};

class Engine {
 public:
  // Loads the model. Throws Error naming path, tensor, option or the sum that does not fit.
  explicit Engine(const EngineOptions& options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // model: a served name, empty for the only one. Admits at once, waits in a FIFO of limited
  // length, or throws Error: kExhausted when the clip can never fit (the message has the sum),
  // kInvalidArgument for an option that cannot be met. expected_audio_s sizes the KV reservation.
  std::unique_ptr<Stream> open(std::string_view model, const SessionOptions& options,
                               double expected_audio_s);
  bool tick();  // with own_thread false: one round; false when there was nothing to do

  std::string family() const;
  std::string name() const;
  std::int32_t sample_rate_hz() const;
  bool is_live() const;
  MemoryUse memory() const;
  std::string device_name() const;   // "cpu avx512"
  std::string quantization() const;  // what its weights were made into: "int8"
  int threads() const;
  std::vector<ProfileRow> profile() const;  // while nothing runs
  std::vector<SeenInput> inputs() const;    // while nothing runs

 private:
  std::vector<std::unique_ptr<Replica>> replicas_;
  int threads_ = 1;
};

}  // namespace verbatim
