// The header, then panel by panel the scales, zeros and codes of each segment.
#include "cpu/kernels/linear_pack_coded.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "cpu/kernel_table.h"
#include "cpu/kernels/linear_coded_layout.h"

namespace verbatim {
namespace {

constexpr int kNibbleInputs = 8;  // input features in a line
constexpr int kByteInputs = 4;

bool is_nf4(const Weight& weight) {
  return weight.format == &kFormatNf4;
}
bool has_zeros(const Weight& weight) {
  return !is_nf4(weight) && !weight.planes[2].empty();
}
std::int64_t group_count(const Weight& weight) {
  return (std::int64_t{weight.in_features} + weight.group - 1) / weight.group;
}

CodedHeader header_of(const Weight& weight, int line_inputs) {
  check(weight.group > 0, "a weight of codes has groups");
  CodedHeader header;
  header.group = weight.group;
  header.zeros = has_zeros(weight) ? 1 : 0;
  header.order = weight.planes[3].empty() ? 0 : 1;
  for (CodedSegment segment(weight.in_features, weight.group); segment.exists(); segment.next()) {
    ++header.segments;
    header.panel_bytes +=
        coded_head_bytes(header.zeros != 0) + coded_code_bytes(segment.count, line_inputs);
  }
  const std::size_t order_bytes =
      header.order == 0 ? 0 : static_cast<std::size_t>(weight.in_features) * sizeof(std::int32_t);
  header.panels_at = sizeof header + (order_bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
  return header;
}

std::size_t packed_bytes(const Weight& weight, int line_inputs) {
  Weight grouped = weight;
  if (grouped.group == 0) grouped.group = grouped.in_features;  // asked before it is known
  const CodedHeader header = header_of(grouped, line_inputs);
  const auto panels = static_cast<std::size_t>((weight.out_features + kLanes - 1) / kLanes);
  return header.panels_at + panels * header.panel_bytes;
}

void check_planes(const Weight& weight, std::size_t row_bytes) {
  const auto out = static_cast<std::size_t>(weight.out_features);
  const std::size_t groups = out * static_cast<std::size_t>(group_count(weight));
  check(weight.planes[0].size() == out * row_bytes, "there is a code for every weight");
  check(weight.planes[1].size() == groups * sizeof(float), "there is a scale for every group");
  check(!has_zeros(weight) || weight.planes[2].size() == groups, "there is a zero for every group");
  check(!is_nf4(weight) || weight.planes[2].size() == 16 * sizeof(float), "a book has 16 values");
  check(weight.planes[3].empty() ||
            weight.planes[3].size() == static_cast<std::size_t>(weight.in_features) * 4,
        "an order has every input feature");
}

// What the rows of one panel are made of; lanes beyond the last row stay zero.
struct PanelRows {
  const std::byte* codes;
  std::size_t row_bytes;
  const std::byte* scales;
  const std::byte* zeros;  // null: none
  std::size_t groups;
  std::size_t lanes;
};

std::byte* pack_head(const PanelRows& rows, std::size_t group, std::byte* to) {
  float line[kLanes] = {};
  for (std::size_t lane = 0; lane < rows.lanes; ++lane) {
    std::memcpy(&line[lane], rows.scales + (lane * rows.groups + group) * sizeof(float),
                sizeof(float));
  }
  std::memcpy(to, line, sizeof line);
  to += sizeof line;
  if (rows.zeros == nullptr) return to;
  std::fill(std::begin(line), std::end(line), 0.0F);
  for (std::size_t lane = 0; lane < rows.lanes; ++lane) {
    line[lane] =
        -static_cast<float>(static_cast<std::int8_t>(rows.zeros[lane * rows.groups + group]));
  }
  std::memcpy(to, line, sizeof line);
  return to + sizeof line;
}

// Eight codes of each row are a word as it lies; `flip` makes biased codes signed ones.
std::byte* pack_nibbles(const PanelRows& rows, const CodedSegment& segment, std::uint32_t flip,
                        std::byte* to) {
  const auto first = static_cast<std::size_t>(segment.first);
  for (int k = 0; k < segment.count; k += kNibbleInputs, to += kLineBytes) {
    const int left = std::min(segment.count - k, kNibbleInputs);
    const std::size_t at = (first + static_cast<std::size_t>(k)) / 2;
    const std::size_t bytes = static_cast<std::size_t>(left + 1) / 2;
    std::uint32_t line[kLanes] = {};
    for (std::size_t lane = 0; lane < rows.lanes; ++lane) {
      std::uint32_t word = flip;
      std::memcpy(&word, rows.codes + lane * rows.row_bytes + at, bytes);
      line[lane] = word ^ flip;
    }
    std::memcpy(to, line, sizeof line);
  }
  return to;
}

std::byte* pack_bytes(const PanelRows& rows, const CodedSegment& segment, std::byte* to) {
  const auto first = static_cast<std::size_t>(segment.first);
  for (int k = 0; k < segment.count; k += kByteInputs, to += kLineBytes) {
    const auto left = static_cast<std::size_t>(std::min(segment.count - k, kByteInputs));
    std::byte line[kLineBytes] = {};
    for (std::size_t lane = 0; lane < rows.lanes; ++lane) {
      const std::byte* from = rows.codes + lane * rows.row_bytes + first + k;
      for (std::size_t i = 0; i < left; ++i) line[i * kLanes + lane] = from[i];
    }
    std::memcpy(to, line, sizeof line);
  }
  return to;
}

// put(rows, segment, to) packs the codes of a segment and returns where they end.
template <typename Put>
void pack(const Weight& weight, std::int64_t panel, std::int64_t panels, std::byte* packed,
          std::size_t row_bytes, int line_inputs, const Put& put) {
  check_planes(weight, row_bytes);
  CodedHeader header = header_of(weight, line_inputs);
  if (panel == 0) {
    if (is_nf4(weight)) std::memcpy(header.book, weight.planes[2].data(), sizeof header.book);
    std::memcpy(packed, &header, sizeof header);
    if (header.order != 0) {
      std::memcpy(packed + sizeof header, weight.planes[3].data(), weight.planes[3].size());
    }
  }
  const auto groups = static_cast<std::size_t>(group_count(weight));
  for (std::int64_t p = panel; p < panel + panels; ++p) {
    const auto row = static_cast<std::size_t>(p * kLanes);
    const PanelRows rows{
        weight.planes[0].data() + row * row_bytes,
        row_bytes,
        weight.planes[1].data() + row * groups * sizeof(float),
        has_zeros(weight) ? weight.planes[2].data() + row * groups : nullptr,
        groups,
        std::min<std::size_t>(kLanes, static_cast<std::size_t>(weight.out_features) - row)};
    std::byte* to = packed + header.panels_at + static_cast<std::size_t>(p) * header.panel_bytes;
    for (CodedSegment segment(weight.in_features, weight.group); segment.exists(); segment.next()) {
      to = pack_head(rows, static_cast<std::size_t>(segment.first / weight.group), to);
      to = put(rows, segment, to);
    }
  }
}

void pack_four_bits(const Weight& weight, std::int64_t panel, std::int64_t panels,
                    std::byte* packed, std::uint32_t flip) {
  pack(weight, panel, panels, packed, static_cast<std::size_t>(weight.in_features + 1) / 2,
       kNibbleInputs, [flip](const PanelRows& rows, const CodedSegment& segment, std::byte* to) {
         return pack_nibbles(rows, segment, flip, to);
       });
}

}  // namespace

bool can_pack_coded(const Weight& weight) {
  if (weight.group < kCodedSmallestGroup) return false;
  if (weight.group % 2 != 0 && weight.group < weight.in_features) return false;
  if (is_nf4(weight)) return weight.in_features % weight.group == 0;
  if (!has_zeros(weight) && weight.planes[3].empty()) return true;
  constexpr std::int64_t kRowFloats =
      std::int64_t{kLinearScratchBytes} / std::int64_t{sizeof(float)} / kStreamRows;
  const std::int64_t segments =
      group_count(weight) * ((weight.group + kLinearSegment - 1) / kLinearSegment);
  return weight.in_features + segments <= kRowFloats;
}

std::size_t nibble_packed_bytes(const Weight& weight) {
  return packed_bytes(weight, kNibbleInputs);
}
std::size_t int8_packed_bytes(const Weight& weight) {
  return packed_bytes(weight, kByteInputs);
}

void pack_nf4(const Weight& weight, std::int64_t panel, std::int64_t panels, std::byte* packed) {
  pack_four_bits(weight, panel, panels, packed, 0);
}
void pack_int4(const Weight& weight, std::int64_t panel, std::int64_t panels, std::byte* packed) {
  pack_four_bits(weight, panel, panels, packed, 0x88888888U);
}
void pack_int8(const Weight& weight, std::int64_t panel, std::int64_t panels, std::byte* packed) {
  pack(weight, panel, panels, packed, static_cast<std::size_t>(weight.in_features), kByteInputs,
       pack_bytes);
}

}  // namespace verbatim
