// Errors are measured while a dry run binds the weights, so that what is scaled, and by how much,
// is what loading scales.
#include "engine/calibrate.h"

#include <map>

#include "base/thread_pool.h"
#include "checkpoint/checkpoint.h"
#include "device/dry_device.h"
#include "engine/placement.h"
#include "weights/product_error.h"

namespace verbatim {
namespace {

using SeenByName = std::map<std::string_view, const SeenInput*>;

SeenByName by_name(std::span<const SeenInput> seen) {
  SeenByName made;
  for (const SeenInput& input : seen) {
    for (const std::string& name : input.names) made[name] = &input;
  }
  return made;
}

}  // namespace

void check_smoothed(const Quantization& quant) {
  if (rounds_rows(quant.decoder) || rounds_rows(quant.encoder)) return;
  fail(Code::kInvalidArgument,
       "--quant, --encoder-quant: expected a format that rounds activations to int8 in one of them "
       "(%s), found %s and %s",
       rounding_recipes().c_str(), quant.decoder.text().c_str(), quant.encoder.text().c_str());
}

void write_statistics(const std::string& path, std::span<const SeenInput> seen) {
  write_calibration(path, seen);
}

std::vector<WeightError> weight_errors(const EngineOptions& options, const std::string& path,
                                       std::span<const SeenInput> seen) {
  const Checkpoint checkpoint = Checkpoint::open(options.model);
  const Family& family = recognise_family(checkpoint);
  const std::unique_ptr<Device> device =
      open_device(options.device, {.threads = 1, .isa = options.isa, .pin_threads = false});
  DryDevice dry(*device);
  const Stage stage{&dry, 0, 1 << 20};
  ThreadPool workers(thread_count(options), options.pin_threads);
  const SeenByName inputs = by_name(seen);
  std::vector<WeightError> errors;
  LoadOptions load = load_options(options);
  load.bind.workers = &workers;
  load.bind.progress = options.loading;
  load.bind.calibration = calibration_of(seen);
  load.bind.calibration.file = path;
  load.bind.making = [&](const MadeWeight& weight) {
    const auto found = inputs.find(weight.name);
    if (found == inputs.end()) return;  // a convolution
    const auto measured = [&](const Scaling& scaling) {
      return product_error(weight.stored, weight.choice, scaling, found->second->rows, weight.name,
                           &workers);
    };
    const double plain = measured({});
    const double smoothed = weight.scaling.empty() ? plain : measured(weight.scaling);
    errors.push_back({weight.name, weight.choice.text(), plain, smoothed});
  };
  family.load(checkpoint, std::span<const Stage>(&stage, 1), load);
  return errors;
}

}  // namespace verbatim
