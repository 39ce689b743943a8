// Pieces of one name arrive in order of computation and are joined in order of position.
#include "engine/dump.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include "checkpoint/write_safetensors.h"
#include "device/trace.h"

namespace verbatim {
namespace {

// Only the last '*' is ever tried again, so many of them cost no more than one.
bool matches(std::string_view glob, std::string_view name) {
  std::size_t g = 0, n = 0, star = std::string_view::npos, resume = 0;
  while (n < name.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      resume = n;
    } else if (g < glob.size() && (glob[g] == '?' || glob[g] == name[n])) {
      ++g;
      ++n;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  return glob.find_first_not_of('*', g) == std::string_view::npos;
}

constexpr std::string_view kStep = "step.";

// Written as one row of values: samples, ids, what there is once a session. Of logits a family
// shows the prompt's last row, or many.
bool is_flat(std::string_view name, std::int64_t rows) {
  return name == "pcm" || name == "padded" || name == "token" || name == "t_cond" ||
         name.starts_with("scale.") || (name == "logits" && rows == 1);
}

class DumpTap final : public Dump, public Tap {
 public:
  DumpTap(std::string path, std::string filter)
      : path_(std::move(path)), filter_(std::move(filter)) {}
  Tap* tap() override { return this; }

  bool wants(std::string_view name) const override {
    return filter_.empty() || matches(filter_, name) || matches(filter_, dump_name(name, "step"));
  }

  void see(std::string_view name, const Tensor& rows, const Spans& spans) override {
    for (const Span& span : spans.host) {
      const std::string full = dump_name(name, span.phase);
      if (!filter_.empty() && !matches(filter_, full)) continue;
      Named& named = tensors_[full];
      named.cols = rows.cols;
      named.dtype = rows.dtype;
      Piece piece;
      piece.position = span.position;
      piece.rows = span.rows;
      const Tensor part = rows.slice(span.first_row, span.rows);
      const auto row_bytes = static_cast<std::size_t>(rows.cols * dtype_bytes(rows.dtype));
      for (std::int64_t r = 0; r < part.rows; ++r) {
        const std::byte* row = part.data + r * part.stride * dtype_bytes(rows.dtype);
        piece.bytes.insert(piece.bytes.end(), row, row + row_bytes);
      }
      named.pieces.push_back(std::move(piece));
    }
  }

  void write() override {
    std::vector<NamedTensor> tensors;
    std::vector<std::vector<std::byte>> storage;
    storage.reserve(tensors_.size());
    for (auto& [name, named] : tensors_) {
      std::stable_sort(named.pieces.begin(), named.pieces.end(),
                       [](const Piece& a, const Piece& b) { return a.position < b.position; });
      std::int64_t rows = 0;
      std::vector<std::byte> bytes;
      for (const Piece& piece : named.pieces) {
        rows += piece.rows;
        bytes.insert(bytes.end(), piece.bytes.begin(), piece.bytes.end());
      }
      if (named.dtype == DType::kI32) bytes = widened(bytes);
      storage.push_back(std::move(bytes));
      NamedTensor tensor;
      tensor.name = name;
      tensor.type = named.dtype == DType::kI32 ? RawType::kI64 : RawType::kF32;
      tensor.shape = is_flat(name, rows) ? std::vector<std::int64_t>{rows * named.cols}
                                         : std::vector<std::int64_t>{rows, named.cols};
      tensor.bytes = storage.back();
      tensors.push_back(std::move(tensor));
    }
    write_safetensors(path_, tensors);
  }

 private:
  struct Piece {
    std::int64_t position = 0;
    std::int64_t rows = 0;
    std::vector<std::byte> bytes;
  };
  struct Named {
    std::int64_t cols = 0;
    DType dtype = DType::kF32;
    std::vector<Piece> pieces;
  };

  static std::vector<std::byte> widened(const std::vector<std::byte>& bytes) {
    std::vector<std::byte> wide(2 * bytes.size());
    for (std::size_t i = 0; i < bytes.size() / 4; ++i) {
      std::int32_t narrow = 0;
      std::memcpy(&narrow, bytes.data() + 4 * i, 4);
      const std::int64_t value = narrow;
      std::memcpy(wide.data() + 8 * i, &value, 8);
    }
    return wide;
  }

  std::string path_;
  std::string filter_;
  std::map<std::string, Named> tensors_;
};

}  // namespace

std::string dump_name(std::string_view name, const char* phase) {
  if (std::string_view(phase) != "step" || name == "token" || name.starts_with(kStep)) {
    return std::string(name);
  }
  return std::string(kStep) + std::string(name);
}

std::unique_ptr<Dump> Dump::make(const std::string& path, const std::string& filter) {
  return std::make_unique<DumpTap>(path, filter);
}

}  // namespace verbatim
