// Stem, then per stage a strided convolution and its blocks, then the head. Rows are time.
#include "models/vibevoice/conv_encoder.h"

#include <algorithm>

namespace verbatim::vibevoice {
namespace {

// Rows of an FFN tile: its hidden rows stay in a core's second-level cache, and at least as many
// rows as make reading the weights worth it. Whole runs that two workers share evenly.
std::int64_t tile_rows(std::int64_t width) {
  constexpr std::int64_t kRun = 96;
  return std::max<std::int64_t>(3, (32768 / width + kRun - 1) / kRun) * kRun;
}

// The connectors' epsilon is fixed in the reference.
constexpr float kConnectorEps = 1e-6F;

}  // namespace

ConvEncoder::ConvEncoder(const char* scope, const EncoderConfig& config, const Names& names,
                         Which which, const Binder& from, std::int64_t& state)
    : scope_(scope), eps_(config.eps) {
  const Binder here = from.at(names.encoder(which));
  const std::int32_t kernel = config.kernel_size;
  for (std::size_t s = 0; s < config.depths.size(); ++s) {
    const std::int32_t width = config.width(s);
    StageWeights stage;
    if (s == 0) {
      stage.down = here.conv(names.down(0), width, config.channels, kernel, 1, 1, state);
    } else {
      const std::int32_t ratio = config.ratios[s - 1];
      stage.down = here.conv(names.down(s), width, config.width(s - 1), 2 * ratio, ratio, 1, state);
    }
    for (std::int32_t j = 0; j < config.depths[s]; ++j) {
      const Binder at = here.at(names.block(s, j));
      Block w;
      w.norm = at.vector("norm.weight", width);
      w.mixer = at.conv(names.mixer(), width, width, kernel, 1, width, state);
      w.gamma = at.vector("gamma", width);
      w.ffn_norm = at.vector("ffn_norm.weight", width);
      w.linear1 = at.linear("ffn.linear1", config.ffn_expansion * width, width, true);
      w.linear2 = at.linear("ffn.linear2", width, config.ffn_expansion * width, true);
      w.ffn_gamma = at.vector("ffn_gamma", width);
      stage.blocks.push_back(w);
    }
    stages_.push_back(std::move(stage));
  }
  head_ = here.conv(names.head(), config.vae_dim, config.width(config.depths.size() - 1), kernel, 1,
                    1, state);
}

Tensor ConvEncoder::forward(Device& dev, const Tensor& pcm, const Spans& samples,
                            const Trace& trace) const {
  const Trace enc = trace.at("enc");
  const Trace scope = enc.at(scope_);
  Tensor x = pcm;
  Spans spans = samples;
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    const StageWeights& stage = stages_[s];
    x = dev.conv1d(x, spans, stage.down);
    if (stage.down.stride > 1) spans = dev.strided(spans, stage.down.stride);
    const Trace here = scope.on(dev, spans);
    if (s == 0) here("stem", x);
    const Trace at = here.at("stage", static_cast<int>(s));
    if (s > 0) at("down", x);
    for (std::size_t j = 0; j < stage.blocks.size(); ++j) {
      block(dev, stage.blocks[j], x, spans, at.at("block", static_cast<int>(j)));
    }
  }
  const Tensor mean = dev.conv1d(x, spans, head_);
  scope.on(dev, spans)("mean", mean);
  return mean;
}

void ConvEncoder::block(Device& dev, const Block& w, const Tensor& x, const Spans& spans,
                        const Trace& at) const {
  {
    const ArenaScope scratch(dev.arena());
    const Tensor a = dev.rms_norm(x, w.norm, eps_);
    dev.add(x, dev.conv1d(a, spans, w.mixer, {.gain = w.gamma}));
  }
  at("mix", x);
  const std::int64_t tile = tile_rows(x.cols);
  for (std::int64_t first = 0; first < x.rows; first += tile) {
    const ArenaScope scratch(dev.arena());
    const Tensor rows = x.slice(first, std::min(tile, x.rows - first));
    const Tensor m = dev.rms_norm(rows, w.ffn_norm, eps_);
    const Tensor hidden = dev.linear(m, w.linear1, {.activation = Activation::kGelu});
    dev.add(rows, dev.linear(hidden, w.linear2, {.gain = w.ffn_gamma}));
  }
  at("out", x);
}

Connector::Connector(const char* scope, const Names& names, Which which, std::int32_t vae_dim,
                     std::int32_t hidden, const Binder& from)
    : scope_(scope) {
  fc1_ = from.linear(names.connector(which, "fc1"), hidden, vae_dim, true);
  norm_ = from.vector(names.connector(which, "norm") + ".weight", hidden);
  fc2_ = from.linear(names.connector(which, "fc2"), hidden, hidden, true);
}

Tensor Connector::forward(Device& dev, const Tensor& u, const Tensor& other,
                          const Trace& trace) const {
  const Trace conn = trace.at("conn");
  const Trace at = conn.at(scope_);
  const Tensor fc1 = dev.linear(u, fc1_);
  at("fc1", fc1);
  const Tensor norm = dev.rms_norm(fc1, norm_, kConnectorEps);
  at("norm", norm);
  if (!other.empty() && !at.wants("out")) return dev.linear(norm, fc2_, {.residual = other});
  const Tensor out = dev.linear(norm, fc2_);
  at("out", out);
  if (!other.empty()) dev.add(out, other);
  return out;
}

}  // namespace verbatim::vibevoice
