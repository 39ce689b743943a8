// Numbers that cannot be are refused here, before anything is sized by them.
#include "models/config_fields.h"

#include <limits>

#include "base/error.h"

namespace verbatim {
namespace {

std::int32_t count(const JsonObject& from, const char* field, std::int64_t high) {
  return static_cast<std::int32_t>(from.integer(field, 1, high));
}

}  // namespace

void expect_text(const JsonObject& from, std::string_view field, std::string_view expected) {
  const std::string found = from.string_or(field, expected);
  if (found != expected) {
    fail(Code::kUnsupported, "%s: expected \"%.*s\", found \"%s\"", from.name(field).c_str(),
         static_cast<int>(expected.size()), expected.data(), found.c_str());
  }
}

void expect_flag(const JsonObject& from, std::string_view field, bool expected) {
  if (from.boolean_or(field, expected) != expected) {
    fail(Code::kUnsupported, "%s: expected %s", from.name(field).c_str(),
         expected ? "true" : "false");
  }
}

float within_float(const JsonObject& from, std::string_view field, double value, double low) {
  constexpr auto kHigh = static_cast<double>(std::numeric_limits<float>::max());
  if (!(value >= low && value <= kHigh)) {
    fail(Code::kCorrupt, "%s: expected a number from %g to %g, found %g", from.name(field).c_str(),
         low, kHigh, value);
  }
  return static_cast<float>(value);
}

float epsilon(const JsonObject& from, std::string_view field, double fallback) {
  return within_float(from, field, from.number_or(field, fallback), kLeastFloat);
}

void read_transformer(const JsonObject& from, const TransformerFields& fields,
                      TransformerConfig& made) {
  made.hidden_size = count(from, fields.hidden_size, kMaxWidth);
  made.intermediate_size = count(from, fields.intermediate_size, kMaxWidth);
  made.num_hidden_layers = count(from, fields.num_hidden_layers, 1024);
  made.num_attention_heads = count(from, fields.num_attention_heads, 1024);
  made.num_key_value_heads = static_cast<std::int32_t>(
      from.integer_or(fields.num_key_value_heads, made.num_attention_heads, 1, 1024));
  if (made.num_attention_heads % made.num_key_value_heads != 0) {
    fail(Code::kCorrupt, "%s: %d query heads do not share %d key and value heads evenly",
         from.name(fields.num_key_value_heads).c_str(), made.num_attention_heads,
         made.num_key_value_heads);
  }
  if (!from.has(fields.head_dim) && made.hidden_size % made.num_attention_heads != 0) {
    fail(Code::kCorrupt, "%s: %d heads do not divide %s %d",
         from.name(fields.num_attention_heads).c_str(), made.num_attention_heads,
         fields.hidden_size, made.hidden_size);
  }
  made.head_dim = static_cast<std::int32_t>(
      from.integer_or(fields.head_dim, made.hidden_size / made.num_attention_heads, 2, 1024));
  if (made.head_dim % 2 != 0) {
    fail(Code::kCorrupt, "%s: expected an even number, found %d",
         from.name(fields.head_dim).c_str(), made.head_dim);
  }
  made.rms_norm_eps = epsilon(from, fields.rms_norm_eps, fields.eps);
}

}  // namespace verbatim
