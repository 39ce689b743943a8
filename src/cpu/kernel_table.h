// What one instruction set offers: a table of kernels, each the same source over sixteen lanes, all
// tables giving the same bits. Kernels take raw pointers, run on the calling thread, allocate
// nothing and never throw.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "weights/format.h"

namespace verbatim {

constexpr std::int32_t kLanes = 16;

enum class KernelActivation : std::uint8_t { kNone, kGelu };

// y[r, o] = residual[r, o] + gain[o] * activation(sum_k x[r, k] w[o, k] + bias[o]), for the outputs
// of panels [panel, panel + panels); a null pointer leaves its part out. With gain the last step is
// one fused multiply-add, without it one addition.
struct LinearCall {
  const std::byte* packed = nullptr;  // the whole weight as LinearKernel::pack laid it out
  std::int32_t in_features = 0;
  std::int32_t out_features = 0;
  std::int32_t group = 0;      // Weight::group
  bool has_zeros = false;      // Weight::planes[2] is not empty
  bool has_code_sums = false;  // in place of zeros, to meet those of the rows; kernels set it
  const float* x = nullptr;    // [rows, in_features], rows may overlap: a stride below in_features
  std::int64_t x_stride = 0;
  // Of a format with int8 activations, in place of x: rows as KernelTable::rounding made them.
  const std::byte* rounded = nullptr;
  std::int64_t rounded_stride = 0;
  std::int64_t rows = 0;
  float* y = nullptr;  // [rows, out_features]; overlaps neither x nor residual
  std::int64_t y_stride = 0;
  const float* bias = nullptr;
  KernelActivation activation = KernelActivation::kNone;
  const float* gain = nullptr;
  const float* residual = nullptr;
  std::int64_t residual_stride = 0;
  std::int64_t panel = 0;
  std::int64_t panels = 0;
  std::byte* scratch = nullptr;  // kLinearScratchBytes, 64-byte aligned, this thread's alone
};
constexpr std::size_t kLinearScratchBytes = std::size_t{1} << 19;
// A product of at most so many rows streams the packed panels by once, so many of them at a time.
constexpr std::int64_t kStreamRows = 4;
constexpr std::int64_t kStreamPanels = 4;

// A row that was rounded to int8: a line with its scale s (float32) and, of an asymmetric one, its
// zero z (int32); then int32 sums of its codes by groups, then the codes, signed bytes, both parts
// filled to whole lines of 64 bytes, the codes with zeros.
struct RoundedRow {
  std::size_t codes;  // where they begin
  std::size_t bytes;
};
[[gnu::always_inline]] constexpr RoundedRow rounded_row(std::int32_t in, std::int32_t group) {
  const auto lines = [](std::size_t bytes) { return (bytes + 63) / 64 * 64; };
  const auto groups = static_cast<std::size_t>((in + group - 1) / group);
  const std::size_t codes = 64 + lines(groups * sizeof(std::int32_t));
  return {codes, codes + lines(static_cast<std::size_t>(in))};
}

struct LinearKernel {
  const WeightFormat* format;
  // Looks at shape, group and which planes there are, not at what is in them.
  std::size_t (*packed_bytes)(const Weight& weight);
  // Packs panels [panel, panel + panels) of the weight into the whole's memory at `packed`.
  void (*pack)(const Weight& weight, std::int64_t panel, std::int64_t panels, std::byte* packed);
  void (*run)(const LinearCall& call);
  bool (*can)(const Weight& weight) = nullptr;  // null: it takes every weight of the format
};

// Depthwise convolution, stride 1: y[t, c] = residual[t, c] + gain[c] * (sum_j x[t + j, c] w[c, j]
// + bias[c]), j ascending in one chain; x has rows + kernel - 1 rows. w is packed as an f32 weight
// [channels, kernel].
struct DepthwiseCall {
  const std::byte* packed = nullptr;
  std::int32_t channels = 0;
  std::int32_t kernel = 0;
  const float* x = nullptr;
  std::int64_t x_stride = 0;
  std::int64_t rows = 0;
  float* y = nullptr;
  std::int64_t y_stride = 0;
  const float* bias = nullptr;
  const float* gain = nullptr;
  const float* residual = nullptr;
  std::int64_t residual_stride = 0;
};

// One KV head and `rows` consecutive query rows of one sequence, whose keys and values are already
// stored. out = softmax(scale * q k^T) v over the positions a row may see: those at or before its
// own, and within `window` of it (0: all).
struct AttentionCall {
  const float* q = nullptr;  // row r, query head g of this KV head: q + r * q_stride + g * head_dim
  std::int64_t q_stride = 0;
  float* out = nullptr;  // laid out as q
  std::int64_t out_stride = 0;
  std::int32_t rows = 0;
  std::int32_t group = 0;  // query heads per KV head
  std::int32_t head_dim = 0;
  std::int64_t position = 0;  // of row 0 in the cache
  std::int64_t window = 0;
  const std::byte* const* pages = nullptr;  // this head's keys, then values; from first_page on
  std::int64_t first_page = 0;
  float scale = 1;
  std::byte* scratch = nullptr;  // attention_scratch_bytes() for these sizes, this thread's alone
};

// New keys and values of one KV head, for consecutive slots of one page.
struct KvStoreCall {
  const float* k = nullptr;  // row r: k + r * stride, head_dim features
  const float* v = nullptr;
  std::int64_t k_stride = 0;
  std::int64_t v_stride = 0;
  std::int32_t rows = 0;
  std::int32_t head_dim = 0;
  std::int32_t slot = 0;      // of row 0
  std::byte* page = nullptr;  // this head's keys, then values
};

struct AttentionKernel {
  const char* codec;  // as KvCodecs::kNames spells it
  void (*store)(const KvStoreCall& call);
  void (*run)(const AttentionCall& call);
};

struct KernelTable {
  const char* isa;
  bool (*runs_here)();
  std::span<const LinearKernel> linear;
  // A row of activations of `in` features as int8, for weights of this group; `to` is 64-byte
  // aligned and takes rounded_row(in, group).bytes.
  using RoundRow = void (*)(const float* x, std::int32_t in, std::int32_t group, std::byte* to);
  RoundRow round_row;
  RoundRow round_row_asymmetric;
  RoundRow rounding(Activations activations) const {
    return activations == Activations::kInt8Asymmetric ? round_row_asymmetric : round_row;
  }
  // Rows for which the int8 filter of an output head (head_filter.h) was measured to be faster than
  // the exact product: up to so many.
  std::int64_t filter_rows;
  void (*depthwise)(const DepthwiseCall& call);
  std::span<const AttentionKernel> attention;  // in the order of KvCodecs
  std::int32_t attention_rows;                 // query rows a call may have at most
  std::size_t (*attention_scratch_bytes)(std::int32_t group, std::int32_t head_dim,
                                         std::int64_t positions);
  // out[i] = gain[i] * (x[i] / sqrt(mean(x^2) + eps)).
  void (*rms_norm)(const float* x, const float* gain, float eps, float* out, std::int64_t n);
  void (*swiglu)(const float* gate, const float* up, float* out, std::int64_t n);
  void (*add)(float* x, const float* y, std::int64_t n);  // x += y
  // One head, half-split: pairs (i, i + dim / 2); cos and sin have dim / 2 values. Three roundings.
  void (*rope)(float* head, const float* cos, const float* sin, std::int32_t dim);
  // The same over pairs (2i, 2i + 1).
  void (*rope_interleaved)(float* head, const float* cos, const float* sin, std::int32_t dim);
  // The index of the largest value, the lowest where several are equal; NaN counts as smallest.
  std::int64_t (*arg_max)(const float* values, std::int64_t n);
};

std::span<const KernelTable* const> kernel_tables();  // cpu/registry.cc, best first

}  // namespace verbatim
