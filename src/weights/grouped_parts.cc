// Planes of integer codes: groups, scales, zero points and the order of the input features.
#include "weights/grouped_parts.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace verbatim {

QuantMethod stored_by_columns(const Checkpoint& checkpoint, std::string_view prefix) {
  const std::string name(prefix);
  const RawTensor* codes = checkpoint.find(name + ".qweight");
  if (codes == nullptr) return QuantMethod::kNone;
  if (checkpoint.find(name + ".g_idx") != nullptr) return QuantMethod::kGptq;
  const RawTensor* scales = checkpoint.find(name + ".scales");
  const bool tables = scales != nullptr && codes->shape.size() == 2 && scales->shape.size() == 2;
  if (!tables) return QuantMethod::kNone;
  return codes->shape[1] == scales->shape[1] ? QuantMethod::kGptq : QuantMethod::kAwq;
}

std::int32_t group_of(const QuantScheme& scheme, const std::string& name, std::int32_t in,
                      bool must_divide) {
  if (scheme.strategy != ScaleStrategy::kGroup) return in;
  if (must_divide && in % scheme.group_size != 0) {
    fail(Code::kCorrupt, "%s: %d input features in groups of %d by %s, which do not divide them",
         name.c_str(), in, scheme.group_size, scheme.where.c_str());
  }
  return std::min(scheme.group_size, in);
}

CodeRows::CodeRows(WeightStorage& storage, std::int32_t out, std::int32_t in, bool nibbles)
    : storage_(storage),
      nibbles_(nibbles),
      out_(out),
      in_(in),
      row_bytes_(nibbles ? (std::int64_t{in} + 1) / 2 : in),
      bytes_(take_plane<std::uint8_t>(storage, out * row_bytes_)) {}

void CodeRows::for_rows(RangeBody body) const {
  if (!storage_.with_codes) return;
  in_parallel(storage_.workers, out_, body);
}

GroupedParts::GroupedParts(WeightStorage& storage, const WeightFormat& format, std::int32_t out,
                           std::int32_t in, std::int32_t group)
    : codes(storage, out, in, &format == &kFormatInt4 || &format == &kFormatW4A8),
      storage_(storage),
      groups_((std::int64_t{in} + group - 1) / group) {
  weight.format = &format;
  weight.out_features = out;
  weight.in_features = in;
  weight.group = group;
  weight.planes[0] = codes.bytes();
}

void GroupedParts::order_by(const RawTensor& group_of_feature) {
  const std::vector<std::int64_t> groups = integers_of(group_of_feature);
  std::vector<std::int64_t> members(static_cast<std::size_t>(groups_));
  for (std::size_t k = 0; k < groups.size(); ++k) {
    if (groups[k] < 0 || groups[k] >= groups_) {
      fail(Code::kCorrupt, "%s: input feature %zu is in group %lld in %s, expected 0 to %lld",
           group_of_feature.name.c_str(), k, static_cast<long long>(groups[k]),
           group_of_feature.file.c_str(), static_cast<long long>(groups_ - 1));
    }
    ++members[static_cast<std::size_t>(groups[k])];
  }
  for (std::int64_t g = 0; g < groups_; ++g) {
    const std::int64_t expected =
        std::min<std::int64_t>(weight.group, weight.in_features - g * weight.group);
    const std::int64_t found = members[static_cast<std::size_t>(g)];
    if (found == expected) continue;
    fail(Code::kCorrupt, "%s: group %lld has %lld input features in %s, expected %lld",
         group_of_feature.name.c_str(), static_cast<long long>(g), static_cast<long long>(found),
         group_of_feature.file.c_str(), static_cast<long long>(expected));
  }
  if (std::is_sorted(groups.begin(), groups.end())) return;
  const std::span<std::int32_t> order = take_plane<std::int32_t>(storage_, weight.in_features);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return groups[static_cast<std::size_t>(a)] < groups[static_cast<std::size_t>(b)];
  });
  order_ = order;
  weight.planes[3] = std::as_bytes(order);
}

void GroupedParts::scales_by_rows(const std::vector<float>& values) {
  const std::span<float> plane = take_plane<float>(storage_, weight.out_features * groups_);
  check(values.size() == plane.size(), "every group of every output has its scale");
  std::copy(values.begin(), values.end(), plane.begin());
  weight.planes[1] = std::as_bytes(plane);
}

void GroupedParts::scales_by_columns(const std::vector<float>& values) {
  const auto out = static_cast<std::size_t>(weight.out_features);
  const auto groups = static_cast<std::size_t>(groups_);
  std::vector<float> rows(values.size());
  for (std::size_t n = 0; n < out; ++n) {
    for (std::size_t g = 0; g < groups; ++g) rows[n * groups + g] = values[g * out + n];
  }
  scales_by_rows(rows);
}

void GroupedParts::keep_zeros(const std::vector<std::int8_t>& values) {
  const auto count = static_cast<std::int64_t>(values.size());
  const std::span<std::int8_t> plane = take_plane<std::int8_t>(storage_, count);
  std::copy(values.begin(), values.end(), plane.begin());
  weight.planes[2] = std::as_bytes(plane);
}

}  // namespace verbatim
