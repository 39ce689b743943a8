// A loaded family; constant after load, shared by all its sessions.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/device.h"
#include "device/trace.h"
#include "kv/pool.h"
#include "models/session.h"
#include "nn/binder.h"
#include "nn/transformer.h"
#include "transcript/options.h"

namespace verbatim {

class Checkpoint;
class Tokenizer;

struct ModelInfo {
  std::string family;
  std::string name;
  std::string layout;  // "original", "transformers", "mistral"
  std::int32_t sample_rate_hz = 0;
  double audio_tokens_per_s = 0;
  bool live = false;             // yields text before finish()
  std::int64_t max_context = 0;  // positions the checkpoint was made for
  KvLayout kv;                   // of the decoder
  std::int64_t window = 0;       // positions a decoder row looks back, itself included; 0: all
  KvLayout encoder_kv;           // of an encoder with attention; no layers where there is none
  std::int64_t parameters = 0;
  std::vector<std::string> formats;  // of its weights
  std::string tokenizer;             // the file it was read from
  std::int32_t tokenizer_size = 0;   // its tokens
  std::int32_t vocab_size = 0;
  std::vector<std::pair<std::string, std::string>> sizes;  // "hidden_size" -> "3584", for people
};

// What a session will need, known before it exists.
struct SessionNeeds {
  std::int64_t prompt_rows = 0;
  std::int64_t output_rows = 0;  // the most that can be generated
  std::int64_t positions() const { return prompt_rows + output_rows; }
};

struct SlotResources {                           // allotted before the session exists
  std::vector<std::unique_ptr<KvSequence>> kv;   // the decoder's, then the encoder's if it has one
  std::vector<std::unique_ptr<ConvState>> conv;  // as Model::conv_states makes them
  std::int64_t max_positions = 0;                // of the decoder's cache
  std::string spool_folder;                      // where long audio waits; "": the default
};

class Model {
 public:
  virtual ~Model() = default;
  virtual const ModelInfo& info() const = 0;
  virtual const Tokenizer& tokenizer() const = 0;
  // Throws kInvalidArgument when an option cannot be met.
  virtual SessionNeeds needs(const SessionOptions& options, double audio_s) const = 0;
  // The context of its encoders, on the device that will run them.
  virtual std::vector<std::unique_ptr<ConvState>> conv_states(Device& dev) const = 0;
  // trace: the session's own tensors (pcm, speech, token) are shown to it.
  virtual std::unique_ptr<Session> open(const SessionOptions& options, SlotResources& slot,
                                        const Trace& trace) const = 0;
  virtual void encode(Device& dev, EncodeBatch& batch, const Trace& trace) const = 0;
  // Runs the rows, advances the caches and fills in tokens and logits.
  virtual void decode(std::span<const Stage> stages, DecodeBatch& batch,
                      const Trace& trace) const = 0;
  // Largest inputs of an encode pass, for the dry run that sizes the arena: rows, and their width.
  virtual std::int64_t encode_rows(double audio_s) const = 0;
  virtual std::int32_t encode_cols() const { return 1; }
  // Positions that a slot's encoder cache holds during a pass over so many input rows.
  virtual std::int64_t encoder_positions(std::int64_t /*rows*/) const { return 0; }
};

// A zeroed context of so many values on the device.
std::unique_ptr<ConvState> make_conv_state(Device& dev, std::int64_t values);

struct LoadOptions {
  std::string tokenizer;           // a file; empty: the checkpoint's own
  std::string fallback_tokenizer;  // when the folder has none and the sizes agree
  Quantization quant;
  BindOptions bind;
};

struct Family {
  const char* name;
  const char* marks;  // by which its config file is known, for people
  bool (*recognise)(const Checkpoint& checkpoint);
  std::unique_ptr<Model> (*load)(const Checkpoint& checkpoint, std::span<const Stage> stages,
                                 const LoadOptions& options);
};
std::span<const Family* const> families();  // models/registry.cc

// Throws kUnsupported naming what config.json says and what is known.
const Family& recognise_family(const Checkpoint& checkpoint);

}  // namespace verbatim
