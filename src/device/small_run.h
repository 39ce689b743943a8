// For tests: the small model over two sequences in three batches, and everything it gave.
#pragma once

#include <memory>
#include <vector>

#include "device/small_model.h"
#include "kv/codecs.h"

namespace verbatim {

class SmallRun {
 public:
  // storage: where the caches live; a dry run's are addresses alone.
  using Allocate = Buffer (*)(std::size_t bytes);
  SmallRun(Device& device, const WeightFormat& format, Allocate allocate = allocate_host,
           const char* kv = "f16")
      : dev_(device),
        model_(device, format),
        pool_(SmallModel::kLayout, kv_codec(kv), 8,
              allocate(KvPool::storage_bytes(SmallModel::kLayout, kv_codec(kv), 8))) {
    for (Sequence& each : sequences_) {
      const std::int64_t values = model_.state_values();
      each.conv = std::make_unique<ConvState>(
          device.allocate(static_cast<std::size_t>(values) * sizeof(float)), values);
      each.kv = std::make_unique<KvSequence>(pool_);
      check(each.kv->reserve(200), "the pool holds both sequences");
    }
    pcm_ = TestValues(77).uniforms(2 * kClip);
    bytes_.reserve(1 << 20);
  }

  // One batch: this many samples of each sequence, from where it stands.
  void step(std::int32_t first_samples, std::int32_t second_samples, bool last) {
    const ArenaScope scratch(dev_.arena());
    const std::int32_t counts[] = {first_samples, second_samples};
    const Tensor pcm = dev_.arena().take(first_samples + second_samples, 1, DType::kF32);
    std::int32_t row = 0;
    for (std::size_t i = 0; i < 2; ++i) {
      Sequence& each = sequences_[i];
      const std::span<const float> samples = std::span<const float>(pcm_).subspan(
          i * kClip + static_cast<std::size_t>(each.position), static_cast<std::size_t>(counts[i]));
      dev_.upload(pcm.slice(row, counts[i]), std::as_bytes(samples));
      spans_[i] = {.first_row = row,
                   .rows = counts[i],
                   .position = each.position,
                   .condition = static_cast<std::int32_t>(i),
                   .last = last,
                   .kv = each.kv.get(),
                   .conv = each.conv.get()};
      row += counts[i];
      each.position += counts[i];
    }
    const SmallModel::Result result = model_.run(pcm, spans_);
    keep(result.hidden);
    keep(result.logits);
    keep(result.tokens);
  }
  void all() {
    step(60, 30, false);
    step(6, 12, false);
    step(11, 6, true);
  }

  const std::vector<std::byte>& bytes() const { return bytes_; }
  const SmallModel& model() const { return model_; }

 private:
  static constexpr std::size_t kClip = 1000;
  struct Sequence {
    std::unique_ptr<ConvState> conv;
    std::unique_ptr<KvSequence> kv;
    std::int64_t position = 0;
  };
  void keep(const Tensor& rows) {
    const std::size_t old = bytes_.size();
    bytes_.resize(old + static_cast<std::size_t>(rows.rows * rows.cols * dtype_bytes(rows.dtype)));
    dev_.download(std::span(bytes_).subspan(old), rows);
  }

  Device& dev_;
  SmallModel model_;
  KvPool pool_;
  std::array<Sequence, 2> sequences_;
  std::array<Span, 2> spans_;
  std::vector<float> pcm_;
  std::vector<std::byte> bytes_;
};

inline std::unique_ptr<Device> cpu_with(int threads, const char* isa = "") {
  DeviceOptions options;
  options.threads = threads;
  options.isa = isa;
  options.pin_threads = false;
  std::unique_ptr<Device> device = open_device("cpu", options);
  device->set_arena(Arena(device->allocate(std::size_t{8} << 20)));
  return device;
}

}  // namespace verbatim
