// The element types of raw tensors: how files spell them and how wide they are.
#include <array>

#include "base/error.h"
#include "checkpoint/checkpoint.h"

namespace verbatim {
namespace {

struct TypeRow {
  const char* name;
  std::int64_t bytes;
};

// In the order of RawType.
constexpr std::array<TypeRow, 10> kTypes{{{"F64", 8},
                                          {"F32", 4},
                                          {"F16", 2},
                                          {"BF16", 2},
                                          {"I64", 8},
                                          {"I32", 4},
                                          {"I16", 2},
                                          {"I8", 1},
                                          {"U8", 1},
                                          {"BOOL", 1}}};

const TypeRow& row(RawType type) {
  const auto index = static_cast<std::size_t>(type);
  check(index < kTypes.size(), "a raw type is one of the list");
  return kTypes[index];
}

}  // namespace

const char* raw_type_name(RawType type) {
  return row(type).name;
}
std::int64_t raw_type_bytes(RawType type) {
  return row(type).bytes;
}

std::string shape_text(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(shape[i]);
  }
  return text + "]";
}

}  // namespace verbatim
