// For tests: a small model whose forward pass runs every op: a convolutional encoder, two decoder
// layers and a tied head.
#pragma once

#include <vector>

#include "device/test_place.h"
#include "kv/pool.h"

namespace verbatim {

class SmallModel {
 public:
  static constexpr std::int32_t kHop = 6;
  static constexpr std::int32_t kHidden = 40;
  static constexpr std::int32_t kVocab = 50;
  static constexpr KvLayout kLayout{.layers = 2, .kv_heads = 2, .head_dim = 10};
  struct Result {
    Tensor hidden;  // [frames, hidden]
    Tensor logits;  // [spans, vocab]
    Tensor tokens;  // [spans, 1]
  };

  SmallModel(Device& device, const WeightFormat& format) : dev_(device), place_(device, 5) {
    stem_ = place_.conv(format, 8, 1, 7, 1, state_values_);
    mixer_ = place_.conv(format, 8, 8, 7, 1, state_values_, true);
    up_ = place_.linear(format, 32, 8, true);
    down_ = place_.linear(format, 8, 32, true);
    first_ = place_.conv(format, 16, 8, 4, 2, state_values_);
    second_ = place_.conv(format, kHidden, 16, 6, 3, state_values_);
    encoder_gain_ = place_.rows(1, 8, 0.3F, 1.0F);
    for (Layer& w : layers_) {
      w.norm = place_.rows(1, kHidden, 0.3F, 1.0F);
      w.gains = place_.rows(2, kHidden, 0.3F, 1.0F);
      w.q = place_.linear(format, 40, kHidden, true);
      w.k = place_.linear(format, 20, kHidden, true);
      w.v = place_.linear(format, 20, kHidden, true);
      w.o = place_.linear(format, kHidden, 40, false);
      w.gate = place_.linear(format, 72, kHidden, false);
      w.up = place_.linear(format, 72, kHidden, false);
      w.down = place_.linear(format, kHidden, 72, false);
    }
    head_ = place_.linear(format, kVocab, kHidden, false, Use::kBoth);
    for (int i = 0; i < kLayout.head_dim / 2; ++i) {
      ropes_[0].inv_freq.push_back(1.0F / static_cast<float>(1 + 3 * i * i));
      ropes_[1].inv_freq.push_back(1.0F / static_cast<float>(1 + i));
    }
    ropes_[1].interleaved = true;
  }
  std::int64_t state_values() const { return state_values_; }
  std::size_t weight_bytes() const { return place_.weight_bytes(); }

  // Encodes the samples [rows, 1] and runs the frames behind what each span's cache holds.
  Result run(const Tensor& pcm, std::span<const Span> batch) {
    const Spans samples = dev_.spans(batch);
    Tensor x = dev_.conv1d(pcm, samples, stem_);
    {
      const ArenaScope scratch(dev_.arena());
      const Tensor a = dev_.rms_norm(x, encoder_gain_, 1e-5F);
      dev_.add(x, dev_.conv1d(a, samples, mixer_, {.gain = encoder_gain_}));
    }
    const Tensor h = dev_.linear(x, up_, {.activation = Activation::kGelu});
    x = dev_.linear(h, down_, {.gain = encoder_gain_, .residual = x});
    x = dev_.conv1d(x, samples, first_);
    const Spans halves = dev_.strided(samples, 2);
    x = dev_.conv1d(x, halves, second_);
    const Spans frames = dev_.strided(halves, 3);
    rows_.clear();
    last_.clear();
    for (const Span& span : frames.host) {
      for (std::int32_t i = 0; i < span.rows; ++i) {
        const auto token = static_cast<std::int32_t>((span.position + i) % (kVocab + 1)) - 1;
        rows_.push_back({token, x.slice(span.first_row + i, 1)});
      }
      last_.push_back(span.first_row + span.rows - 1);
    }
    x = dev_.embed(*head_.weight, rows_);
    for (std::int32_t i = 0; i < kLayout.layers; ++i) layer(i, x, frames);
    const Tensor picked = dev_.pick(x, last_);
    for (const Span& span : frames.host) span.kv->advance(span.rows);
    return {x, dev_.linear(picked, head_), dev_.best(picked, head_)};
  }

 private:
  struct Layer {
    Tensor norm, gains;
    Linear q, k, v, o, gate, up, down;
  };
  void layer(std::int32_t index, const Tensor& x, const Spans& spans) {
    const Layer& w = layers_[static_cast<std::size_t>(index)];
    const ArenaScope scratch(dev_.arena());
    const auto [q, k, v] = dev_.project(dev_.rms_norm(x, w.norm, 1e-6F), w.q, w.k, w.v);
    const RopeTable& rope = ropes_[static_cast<std::size_t>(index)];
    dev_.rope(q, spans, rope);
    dev_.rope(k, spans, rope);
    const AttentionShape shape{.layer = index, .heads = 4, .kv_heads = 2, .head_dim = 10};
    dev_.add(x, dev_.linear(dev_.attention(q, k, v, spans, shape), w.o));
    const Tensor m = dev_.rms_norm(x, spans, w.gains, 1e-6F);
    const auto [gate, up] = dev_.project(m, w.gate, w.up);
    dev_.add(x, dev_.linear(dev_.swiglu(gate, up), w.down));
  }

  Device& dev_;
  TestPlace place_;
  std::int64_t state_values_ = 0;
  Conv1d stem_, mixer_, first_, second_;
  Linear up_, down_, head_;
  Tensor encoder_gain_;
  std::array<Layer, 2> layers_;
  std::array<RopeTable, 2> ropes_;  // one of each kind, by layer
  std::vector<RowInput> rows_;
  std::vector<std::int32_t> last_;
};

}  // namespace verbatim
