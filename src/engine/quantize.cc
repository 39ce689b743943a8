// A dry walk of the family's own loading says which weights; they are then made and written one by
// one.
#include "engine/quantize.h"

#include <algorithm>
#include <boost/json.hpp>
#include <filesystem>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/atomic_folder.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/thread_pool.h"
#include "checkpoint/write_checkpoint.h"
#include "device/dry_device.h"
#include "engine/placement.h"
#include "weights/quantize.h"
#include "weights/store.h"

namespace verbatim {
namespace {

namespace fs = std::filesystem;

constexpr const char* kField = "quantization_config";
constexpr std::size_t kSmallFile = std::size_t{256} << 20;  // above any tokenizer

using Units = std::vector<std::vector<PlannedTensor>>;

// Behind links, without a slash at its end.
fs::path settled(const std::string& path) {
  std::error_code error;
  const fs::path whole = fs::weakly_canonical(fs::absolute(path), error);
  return whole.has_filename() ? whole : whole.parent_path();
}

void check_apart(const std::string& model, const std::string& output) {
  const fs::path from = settled(model), to = settled(output);
  const auto [end, ignored] = std::mismatch(from.begin(), from.end(), to.begin(), to.end());
  if (end != from.end()) return;
  fail(Code::kInvalidArgument, "--output %s: expected a folder outside of the model's, %s",
       output.c_str(), model.c_str());
}

// The weights that loading would make, by name.
std::map<std::string, StoredWeight> weights_to_make(const EngineOptions& options,
                                                    const Checkpoint& checkpoint,
                                                    const Family& family) {
  std::map<std::string, StoredWeight> found;
  DeviceOptions device;
  device.threads = 1;
  device.isa = options.isa;
  device.pin_threads = false;
  const std::unique_ptr<Device> real = open_device(options.device, device);
  DryDevice dry(*real);
  const Stage stage{&dry, 0, 1 << 20};
  LoadOptions load = load_options(options);
  load.bind.making = [&](const MadeWeight& made) {
    found[made.name] = {made.name, quantized_shape(made.stored, made.choice, made.name),
                        made.stored.format};
  };
  family.load(checkpoint, std::span<const Stage>(&stage, 1), load);
  const JsonObject config(checkpoint.config(), checkpoint.config_file());
  if (config.has(kField)) {
    fail(Code::kInvalidArgument, "%s: the checkpoint is quantised already",
         config.name(kField).c_str());
  }
  return found;
}

// The folder's own text with one field more: whatever else it says stays as it is written.
std::string config_with(const Checkpoint& checkpoint, const std::string& quantization) {
  const std::string path = checkpoint.path(checkpoint.config_file());
  std::string text = read_file(path, kSmallFile);
  boost::json::object config = checkpoint.config().as_object();
  if (config.contains(kField)) {  // null
    config.erase(kField);
    const auto plain = boost::json::serialize(config);
    text.assign(plain.data(), plain.size());
  }
  const std::size_t end = text.rfind('}');
  check(end != std::string::npos, "an object ends with a brace");
  std::size_t last = end;
  while (last > 0 && std::string_view(" \t\r\n").find(text[last - 1]) != std::string_view::npos)
    --last;
  text = text.substr(0, last) + (config.empty() ? "" : ",") + "\n  \"" + kField +
         "\": " + quantization + "\n}\n";
  config[kField] = parse_json(quantization, kField);
  check(parse_json(text, path) == boost::json::value(config), "a config gets one field more");
  return text;
}

bool has_weights(const fs::path& file) {
  static constexpr std::string_view kEnds[] = {".safetensors", ".bin",  ".pt",  ".pth", ".gguf",
                                               ".onnx",        ".ckpt", ".h5",  ".npz", ".pte",
                                               ".msgpack",     ".ot",   ".part"};
  const std::string end = file.extension().string();
  return std::find(std::begin(kEnds), std::end(kEnds), end) != std::end(kEnds) ||
         file.filename().string().ends_with(".index.json");
}

// What stands beside the tensors and is no weight: tokenizers, texts, licences. The config of
// another container would speak of tensors that are not there.
std::vector<std::string> files_beside(const Checkpoint& checkpoint) {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator entries(checkpoint.folder(), error);
  if (error) {
    fail(Code::kIo, "%s: cannot be listed: %s", checkpoint.folder().c_str(),
         error.message().c_str());
  }
  for (const fs::directory_entry& entry : entries) {
    const std::string name = entry.path().filename().string();
    bool is_config = false;
    for (const Container* container : containers()) is_config |= name == container->config;
    if (is_config || name.starts_with('.') || has_weights(entry.path())) continue;
    if (entry.is_regular_file(error) && entry.file_size(error) <= kSmallFile) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

class Job {
 public:
  Job(const EngineOptions& options, const Checkpoint& checkpoint, const LayoutWriter& layout,
      const std::map<std::string, StoredWeight>& weights)
      : options_(options), checkpoint_(checkpoint), layout_(layout) {
    std::vector<std::string> dense;
    for (const RawTensor& raw : checkpoint.tensors()) {
      const std::size_t dot = raw.name.rfind('.');
      const std::string prefix = raw.name.substr(0, std::min(dot, raw.name.size()));
      const bool is_weight = dot != std::string::npos && raw.name.substr(dot) == ".weight";
      const auto made = weights.find(prefix);
      read_bytes_ += raw.bytes.size();
      if (is_weight && made != weights.end()) {
        made_[&raw] = made->second;
        stored_.push_back(made->second);
        units_.push_back(layout.plan(made->second));
        continue;
      }
      if (is_weight && raw.shape.size() > 1) dense.push_back(prefix);
      units_.push_back({{raw.name, raw.type, raw.shape}});
    }
    config_ = config_with(checkpoint, layout.config(stored_, dense));
  }

  QuantizedCheckpoint write(const std::string& output) {
    AtomicFolder folder(output);
    CheckpointWriter writer(folder, checkpoint_.container(), units_);
    const std::vector<std::string> beside = files_beside(checkpoint_);
    check_room(folder, writer.bytes(), beside);
    write_text(folder, checkpoint_.config_file(), config_);
    for (const std::string& name : beside)
      write_text(folder, name, read_file(checkpoint_.path(name), kSmallFile));
    write_tensors(writer);
    writer.finish();
    folder.commit();
    QuantizedCheckpoint done;
    done.layout = layout_.name;
    done.weights = stored_.size();
    done.files = writer.files();
    done.read_bytes = read_bytes_;
    for (const std::vector<PlannedTensor>& unit : units_) {
      for (const PlannedTensor& tensor : unit) done.written_bytes += tensor.bytes();
    }
    return done;
  }

 private:
  void check_room(const AtomicFolder& folder, std::uint64_t tensors,
                  const std::vector<std::string>& beside) const {
    std::uint64_t needed = tensors + config_.size();
    std::error_code error;
    for (const std::string& name : beside) {
      const std::uintmax_t size = fs::file_size(checkpoint_.path(name), error);
      if (!error) needed += size;
    }
    const std::uint64_t free = folder.free_bytes();
    if (needed <= free) return;
    fail(Code::kExhausted, "%s: the checkpoint takes %llu bytes, and its disk has %llu",
         folder.path().c_str(), static_cast<unsigned long long>(needed),
         static_cast<unsigned long long>(free));
  }

  void write_tensors(CheckpointWriter& writer) const {
    ThreadPool workers(thread_count(options_), options_.pin_threads);
    std::uint64_t read = 0;
    for (const RawTensor& raw : checkpoint_.tensors()) {
      const auto made = made_.find(&raw);
      if (made == made_.end()) {
        writer.write(raw.name, raw.bytes);
      } else {
        write_made(writer, made->second, workers);
      }
      checkpoint_.release(raw);
      read += raw.bytes.size();
      if (options_.loading)
        options_.loading(static_cast<double>(read) / static_cast<double>(read_bytes_));
    }
  }

  void write_made(CheckpointWriter& writer, const StoredWeight& weight, ThreadPool& workers) const {
    WeightStorage storage;
    const Weight dense = recognise_layout(checkpoint_, weight.name)
                             .read(checkpoint_, weight.name, weight.shape.out_features,
                                   weight.shape.in_features, storage);
    const Weight made = quantize(dense, options_.quant.decoder, weight.name, storage, &workers);
    const std::vector<PlannedTensor> parts = layout_.plan(weight);
    const std::vector<std::vector<std::byte>> bytes = layout_.store(weight, made);
    for (std::size_t i = 0; i < parts.size(); ++i) writer.write(parts[i].name, bytes[i]);
  }

  const EngineOptions& options_;
  const Checkpoint& checkpoint_;
  const LayoutWriter& layout_;
  std::map<const RawTensor*, StoredWeight> made_;
  std::vector<StoredWeight> stored_;
  Units units_;
  std::string config_;
  std::uint64_t read_bytes_ = 0;
};

}  // namespace

QuantizedCheckpoint quantize_checkpoint(const EngineOptions& options, const std::string& output) {
  const LayoutWriter& layout = layout_writer("--quant", options.quant.decoder);
  if (output.empty())
    fail(Code::kInvalidArgument, "--output: expected the folder to write, found nothing");
  check_apart(options.model, output);
  flush_denormals();  // as loading does
  const Checkpoint checkpoint = Checkpoint::open(options.model);
  const Family& family = recognise_family(checkpoint);
  const auto weights = weights_to_make(options, checkpoint, family);
  check(!weights.empty(), "a decoder has projections");
  return Job(options, checkpoint, layout, weights).write(output);
}

}  // namespace verbatim
