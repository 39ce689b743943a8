// For tests: two decoder layers with random values, and the passes of sequences through them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device/small_run.h"
#include "nn/test_checkpoint.h"
#include "nn/transformer.h"

namespace verbatim {

inline constexpr std::int32_t kHidden = 48;

inline TransformerConfig config_with(std::int64_t window) {
  return {.num_hidden_layers = 2,
          .hidden_size = kHidden,
          .intermediate_size = 80,
          .num_attention_heads = 6,
          .num_key_value_heads = 2,
          .head_dim = 12,
          .sliding_window = window,
          .rms_norm_eps = 1e-6F,
          .q_bias = true,
          .k_bias = true,
          .v_bias = true};
}

inline TestCheckpoint& with_layers(TestCheckpoint& file, RawType type) {
  for (int i = 0; i < 2; ++i) {
    const std::string layer = "model.layers." + std::to_string(i) + ".";
    const auto projection = [&](const std::string& name, std::int64_t out, std::int64_t in) {
      file.add(layer + name + ".weight", {out, in}, type, 0.3F);
    };
    file.add(layer + "input_layernorm.weight", {kHidden}, RawType::kF32, 0.3F, 1.0F);
    projection("self_attn.q_proj", 72, kHidden);
    projection("self_attn.k_proj", 24, kHidden);
    projection("self_attn.v_proj", 24, kHidden);
    projection("self_attn.o_proj", kHidden, 72);
    file.add(layer + "self_attn.q_proj.bias", {72});
    file.add(layer + "self_attn.k_proj.bias", {24});
    file.add(layer + "self_attn.v_proj.bias", {24});
    file.add(layer + "post_attention_layernorm.weight", {kHidden}, RawType::kF32, 0.3F, 1.0F);
    projection("mlp.gate_proj", 80, kHidden);
    projection("mlp.up_proj", 80, kHidden);
    projection("mlp.down_proj", kHidden, 80);
  }
  return file;
}

struct DecoderSetup {
  TransformerConfig config = config_with(0);
  const char* codec = "f16";
  Conditioning conditioning = {};
  BindOptions bind = {};
  WeightChoice choice = {};
};

class Decoder {
 public:
  Decoder(const TestCheckpoint& file, int threads, std::int64_t window = 0,
          const char* codec = "f16")
      : Decoder(file, cpu_with(threads), {.config = config_with(window), .codec = codec}) {}
  Decoder(const TestCheckpoint& file, std::unique_ptr<Device> device, const DecoderSetup& setup)
      : device_(std::move(device)),
        config_(setup.config),
        pool_({.layers = 2, .kv_heads = 2, .head_dim = 12}, kv_codec(setup.codec), 12,
              allocate_host(KvPool::storage_bytes({2, 2, 12}, kv_codec(setup.codec), 12))) {
    const Checkpoint checkpoint = file.open();
    const Binder binder(checkpoint, *device_, store_, setup.bind);
    layers_ = std::make_unique<Transformer>(
        "dec", config_, binder.at("model").made_into(setup.choice),
        make_rope_table(config_.head_dim, 10000), TransformerNames{}, setup.conditioning);
    binder.finish();
    stages_ = {{device_.get(), 0, 2}};
  }
  void set_stages(std::vector<Stage> stages) { stages_ = std::move(stages); }
  void set_condition(std::int32_t condition) { condition_ = condition; }
  Device& device() { return *device_; }
  std::unique_ptr<KvSequence> sequence() { return std::make_unique<KvSequence>(pool_); }

  struct Part {
    const std::vector<float>* rows = nullptr;  // of the whole sequence
    std::int64_t count = 0;                    // that come now
    KvSequence* kv = nullptr;
  };
  std::vector<std::vector<float>> run(const std::vector<Part>& parts, Tap* tap = nullptr) {
    const ArenaScope scratch(device_->arena());
    std::vector<Span> batch;
    std::vector<float> all;
    std::int32_t first = 0;
    for (const Part& part : parts) {
      check(part.kv->reserve(part.kv->length() + part.count), "the pool has room");
      batch.push_back({.first_row = first,
                       .rows = static_cast<std::int32_t>(part.count),
                       .position = part.kv->length(),
                       .condition = condition_,
                       .kv = part.kv});
      const auto from = part.rows->begin() + part.kv->length() * kHidden;
      all.insert(all.end(), from, from + part.count * kHidden);
      first += static_cast<std::int32_t>(part.count);
    }
    const Tensor x = device_->arena().take(first, kHidden, DType::kF32);
    device_->upload(x, std::as_bytes(std::span(all)));
    const Tensor y = layers_->forward(stages_, x, batch, Trace(tap));
    std::vector<std::vector<float>> made;
    for (const Span& span : batch) {
      made.emplace_back(static_cast<std::size_t>(span.rows * kHidden));
      device_->download(std::as_writable_bytes(std::span(made.back())),
                        y.slice(span.first_row, span.rows));
      span.kv->advance(span.rows);
    }
    return made;
  }
  std::vector<float> in_chunks(const std::vector<float>& rows,
                               const std::vector<std::int64_t>& chunks) {
    const std::unique_ptr<KvSequence> kv = sequence();
    std::vector<float> made;
    const auto count = static_cast<std::int64_t>(rows.size()) / kHidden;
    for (std::size_t i = 0; kv->length() < count; ++i) {
      const std::int64_t chunk = std::min(chunks[i % chunks.size()], count - kv->length());
      const std::vector<float> part = run({{&rows, chunk, kv.get()}})[0];
      made.insert(made.end(), part.begin(), part.end());
    }
    return made;
  }

 private:
  std::unique_ptr<Device> device_;
  TransformerConfig config_;
  KvPool pool_;
  WeightStore store_;
  std::unique_ptr<Transformer> layers_;
  std::vector<Stage> stages_;
  std::int32_t condition_ = 0;
};

inline std::vector<float> rows_of(std::int64_t count, std::uint32_t seed) {
  return TestValues(seed).uniforms(count * kHidden, 2.0F);
}

}  // namespace verbatim
