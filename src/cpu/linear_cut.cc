// Parts are worth waking a worker for, and lie at the sizes that the kernels run best.
#include "cpu/linear_cut.h"

#include <algorithm>

namespace verbatim {
namespace {

constexpr std::int64_t kProductsEach = 1 << 17;  // fewer are not worth waking a worker for
constexpr std::int64_t kRowBlock = 48;           // a multiple of every table's register tile
constexpr std::int64_t kPanelPair = 2;           // what the widest register tile takes
// A weight of so few values stays near every worker.
constexpr std::int64_t kNearValues = 1 << 18;

std::int64_t rounded_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

// The time of the longest part of `panels`, in thirds of that of kStreamPanels together: one by
// itself takes a third of it (bf16 and f16, one to four rows, AVX-512; a little less in f32).
std::int64_t longest_stream(std::int64_t panels, std::int64_t grain, std::int64_t threads) {
  const std::int64_t grains = (panels + grain - 1) / grain;
  const std::int64_t longest = std::min(panels, (grains + threads - 1) / threads * grain);
  return 3 * (longest / kStreamPanels) + longest % kStreamPanels;
}

}  // namespace

LinearCut linear_cut(const LinearCall& whole, int threads) {
  const std::int64_t panels = panel_count(whole.out_features);
  LinearCut cut;
  const bool few_panels = panels < std::int64_t{4} * threads && whole.rows >= 2 * kRowBlock;
  // The worker that made a row finds it in its own cache, as the ops before and behind cut by rows.
  const bool is_near = std::int64_t{whole.in_features} * whole.out_features <= kNearValues &&
                       whole.rows >= threads * kRowBlock;
  cut.by_rows = few_panels || is_near;
  cut.count = cut.by_rows ? whole.rows : panels;
  const std::int64_t products =  // of one row or one panel
      std::int64_t{whole.in_features} * kLanes * (cut.by_rows ? panels : whole.rows);
  const std::int64_t worth = (kProductsEach + products - 1) / products;
  if (cut.by_rows) {
    cut.grain = rounded_up(worth, kRowBlock);
    return cut;
  }
  cut.grain = std::max(kPanelPair, worth);
  if (whole.rows > kStreamRows) return cut;
  // A cut between panels that could stream together leaves some of them alone on either side.
  const std::int64_t together = rounded_up(cut.grain, kStreamPanels);
  if (longest_stream(panels, together, threads) <= longest_stream(panels, cut.grain, threads)) {
    cut.grain = together;
  }
  return cut;
}

LinearCall LinearCut::part(const LinearCall& whole, std::int64_t first, std::int64_t last,
                           std::byte* scratch) const {
  LinearCall call = whole;
  call.scratch = scratch;
  call.panel = by_rows ? 0 : first;
  call.panels = by_rows ? panel_count(whole.out_features) : last - first;
  if (!by_rows) return call;
  call.rows = last - first;
  call.x += first * call.x_stride;
  if (call.rounded != nullptr) call.rounded += first * call.rounded_stride;
  call.y += first * call.y_stride;
  if (call.residual != nullptr) call.residual += first * call.residual_stride;
  return call;
}

}  // namespace verbatim
