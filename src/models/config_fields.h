// Checked reads that the families' config files share. All throw naming file and field.
#pragma once

#include <string_view>

#include "base/json.h"
#include "nn/transformer.h"

namespace verbatim {

constexpr std::int64_t kMaxWidth = 1 << 20;
constexpr double kLeastFloat = 0x1p-126;  // the smallest normal float

// kUnsupported when the field is there and says otherwise.
void expect_text(const JsonObject& from, std::string_view field, std::string_view expected);
void expect_flag(const JsonObject& from, std::string_view field, bool expected);

// The lanes compute in floats, which must hold it: from `low` to the largest float.
float within_float(const JsonObject& from, std::string_view field, double value, double low);
// Above zero, or silence would be no number.
float epsilon(const JsonObject& from, std::string_view field, double fallback);

// What a layout calls the sizes of a transformer.
struct TransformerFields {
  const char* num_hidden_layers;
  const char* hidden_size;
  const char* intermediate_size;
  const char* num_attention_heads;
  const char* num_key_value_heads;
  const char* head_dim;
  const char* rms_norm_eps;
  double eps;  // where the file names none
};
constexpr TransformerFields kTransformersFields{
    "num_hidden_layers",   "hidden_size", "intermediate_size", "num_attention_heads",
    "num_key_value_heads", "head_dim",    "rms_norm_eps",      1e-6};

// Fills in the sizes; a missing number of KV heads is that of the query heads, a missing head_dim
// their share of the width.
void read_transformer(const JsonObject& from, const TransformerFields& fields,
                      TransformerConfig& made);

}  // namespace verbatim
