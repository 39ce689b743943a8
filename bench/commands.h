// The subcommands of verbatim-bench.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace verbatim {

struct KernelTable;

struct KernelBenchOptions {
  std::string isa;                   // empty: the best that runs here
  std::vector<std::string> formats;  // empty: all
  std::vector<int> threads{1, 2};
  std::vector<int> rows;            // of 512, 29 and 1; empty: these and the encoders'
  std::vector<std::string> shapes;  // "3584x18944", with each of the rows; empty: the decoder's
  double seconds = 1.0;             // spent on each case
  bool json = false;
};

// Prints each projection's share of its ceiling and the means; returns the exit code.
int bench_kernels(const KernelBenchOptions& options);

struct AttentionBenchOptions {
  std::string isa;
  double seconds = 1.0;
};

// Prints attention's share of its ceilings, one KV head on one thread; returns the exit code.
int bench_attention(const AttentionBenchOptions& options);

struct ModelBenchOptions {
  std::string shape;  // as model_shapes.h spells them
  std::string isa;
  std::string kv = "f16";
  std::string quant = "none";  // these four as the program's own flags spell them
  std::string encoder = "stored";
  std::string encoder_quant = "none";
  std::string head_quant = "none";
  std::string head_filter = "on";
  int threads = 0;                     // 0: one per physical core
  int rounds = 9;                      // of all passes, one behind the other
  std::vector<std::string> passes;     // encode, prompt, step, turn; empty: all
  std::vector<double> encode_s;        // audio of an encoder pass; empty: the shape's
  std::vector<std::int64_t> prompts;   // rows of a prompt; empty: the shape's
  std::vector<std::int64_t> contexts;  // positions before a decoder step; empty: the shape's
  bool profile = false;
  bool json = false;
};

// Prints what each pass of a whole model takes, beside its floor; returns the exit code.
int bench_model(const ModelBenchOptions& options);

struct QualityBenchOptions {
  std::string model;                    // empty: both nanos, from the source folder
  std::vector<std::string> recordings;  // empty: the model's own samples
  std::vector<std::string> formats;     // of the decoder; empty: all, and all parts
  std::string encoder;                  // with each of them
  std::string head;
  std::string tokenizer;
  std::string isa;
  std::string kv = "f16";
  int threads = 0;
  bool json = false;
};

// Prints the words and decisions that each format costs; returns the exit code.
int bench_quality(const QualityBenchOptions& options);

// The table of that name, the best for an empty one; throws, listing those that run here.
const KernelTable& table_for(const std::string& isa);

}  // namespace verbatim
