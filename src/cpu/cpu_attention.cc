// Attention on the CPU: stores the new keys and values in their pages, then one KV head and a few
// query rows at a time goes to the kernel. Units are dealt out like cards, since later rows see
// more.
#include <algorithm>

#include "cpu/cpu_device.h"
#include "kv/pool.h"

namespace verbatim {
namespace {

std::size_t rounded(std::size_t bytes) {
  return (bytes + 63) / 64 * 64;
}

// Of one head in one page.
std::int64_t head_bytes(const KvPool& pool, std::int32_t head_dim) {
  return static_cast<std::int64_t>(
      kv_page_bytes({.layers = 1, .kv_heads = 1, .head_dim = head_dim}, pool.codec()));
}

// Positions from the first that one of the span's rows sees to the last. A window bounds them for
// ever, however long the sequence has become.
std::int64_t seen_positions(const Span& span, const AttentionShape& shape) {
  const std::int64_t end = span.kv->length() + span.rows;
  return shape.window > 0 ? std::min(end, shape.window - 1 + span.rows) : end;
}

}  // namespace

std::size_t CpuDevice::worker_scratch_bytes(std::int64_t positions,
                                            const AttentionShape& shape) const {
  const auto pages = static_cast<std::size_t>(positions / kPagePositions + 2);
  return rounded(table_.attention_scratch_bytes(shape.heads / shape.kv_heads, shape.head_dim,
                                                positions)) +
         rounded(pages * sizeof(const std::byte*));
}

std::size_t CpuDevice::attention_scratch_bytes(const Spans& spans,
                                               const AttentionShape& shape) const {
  std::int64_t positions = 0;
  for (const Span& span : spans.host) positions = std::max(positions, seen_positions(span, shape));
  return worker_scratch_bytes(positions, shape) * static_cast<std::size_t>(pool_.threads());
}

void CpuDevice::store_kv(const Tensor& k, const Tensor& v, const Span& span,
                         const AttentionShape& shape, std::int32_t head) const {
  const KvSequence& kv = *span.kv;
  const std::int64_t head_at = head * head_bytes(kv.pool(), shape.head_dim);
  const std::int64_t column = std::int64_t{head} * shape.head_dim;
  KvStoreCall call;
  call.k_stride = k.stride;
  call.v_stride = v.stride;
  call.head_dim = shape.head_dim;
  for (std::int32_t i = 0; i < span.rows; i += call.rows) {
    const std::int64_t position = kv.length() + i;
    const auto index = static_cast<std::size_t>(position / kPagePositions - kv.first_page());
    check(index < kv.pages().size(), "pages were reserved for the batch");
    const std::int64_t row = std::int64_t{span.first_row} + i;
    call.k = k.f32() + row * k.stride + column;
    call.v = v.f32() + row * v.stride + column;
    call.slot = static_cast<std::int32_t>(position % kPagePositions);
    call.rows = std::min(span.rows - i, kPagePositions - call.slot);
    call.page = kv.pool().page(shape.layer, kv.pages()[index]) + head_at;
    table_.attention[static_cast<std::size_t>(kv.pool().codec())].store(call);
  }
}

void CpuDevice::attend_block(const Tensor& q, const Tensor& out, const Span& span,
                             const AttentionShape& shape, std::int32_t head, std::int64_t first_row,
                             std::byte* scratch) const {
  const KvSequence& kv = *span.kv;
  const std::int64_t head_at = head * head_bytes(kv.pool(), shape.head_dim);
  const auto rows = static_cast<std::int32_t>(
      std::min<std::int64_t>(table_.attention_rows, span.rows - first_row));
  const std::int64_t position = kv.length() + first_row;
  const std::int64_t first_page =
      shape.window > 0 ? std::max<std::int64_t>(0, position - shape.window + 1) / kPagePositions
                       : 0;
  const std::int64_t end_page = (position + rows - 1) / kPagePositions + 1;
  check(first_page >= kv.first_page(), "no page that a row sees was given back");
  auto* pages = static_cast<const std::byte**>(static_cast<void*>(scratch));
  for (std::int64_t page = first_page; page < end_page; ++page) {
    const std::int32_t id = kv.pages()[static_cast<std::size_t>(page - kv.first_page())];
    pages[page - first_page] = kv.pool().page(shape.layer, id) + head_at;
  }
  const std::int32_t group = shape.heads / shape.kv_heads;
  const std::int64_t row = span.first_row + first_row;
  const std::int64_t column = std::int64_t{head} * group * shape.head_dim;
  AttentionCall call;
  call.q = q.f32() + row * q.stride + column;
  call.q_stride = q.stride;
  call.out = out.f32() + row * out.stride + column;
  call.out_stride = out.stride;
  call.rows = rows;
  call.group = group;
  call.head_dim = shape.head_dim;
  call.position = position;
  call.window = shape.window;
  call.pages = pages;
  call.first_page = first_page;
  // Reference: transformers modeling_qwen2.py, scaling = head_dim ** -0.5.
  call.scale = static_cast<float>(1.0 / __builtin_sqrt(static_cast<double>(shape.head_dim)));
  call.scratch =
      scratch + rounded(static_cast<std::size_t>(end_page - first_page) * sizeof(const std::byte*));
  table_.attention[static_cast<std::size_t>(kv.pool().codec())].run(call);
}

void CpuDevice::do_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Spans& spans,
                             const AttentionShape& shape, const Tensor& scratch,
                             const Tensor& out) {
  const std::int64_t stores = static_cast<std::int64_t>(spans.host.size()) * shape.kv_heads;
  const std::int64_t store_grain =
      std::max<std::int64_t>(1, (1 << 13) * stores / (k.rows * k.cols));
  pool_.parallel_for(stores, store_grain, [&](std::int64_t first, std::int64_t last, int) {
    for (std::int64_t i = first; i < last; ++i) {
      store_kv(k, v, spans.host[static_cast<std::size_t>(i / shape.kv_heads)], shape,
               static_cast<std::int32_t>(i % shape.kv_heads));
    }
  });
  // Whole cache lines each, for a decorator may have asked for another number of threads.
  const std::size_t each =
      static_cast<std::size_t>(scratch.cols) / static_cast<std::size_t>(pool_.threads()) / 64 * 64;
  // A step over a short context is not worth waking a worker for.
  constexpr std::int64_t kWorthIt = 1 << 15;
  std::int64_t keys = 0;
  for (const Span& span : spans.host) keys += std::int64_t{span.rows} * seen_positions(span, shape);
  const int hands = keys * q.cols < kWorthIt ? 1 : pool_.threads();
  pool_.parallel_for(hands, 1, [&](std::int64_t first, std::int64_t last, int worker) {
    std::byte* own = scratch.data + each * static_cast<std::size_t>(worker);
    std::int64_t unit = 0;
    for (const Span& span : spans.host) {
      for (std::int64_t row = 0; row < span.rows; row += table_.attention_rows) {
        for (std::int32_t head = 0; head < shape.kv_heads; ++head, ++unit) {
          if (unit % hands < first || unit % hands >= last) continue;
          attend_block(q, out, span, shape, head, row, own);
        }
      }
    }
  });
}

}  // namespace verbatim
