// quantization_config, method by method. Reference: transformers/utils/quantization_config.py and
// compressed_tensors/quantization/quant_args.py.
#include "weights/quantization_config.h"

#include <array>
#include <boost/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "weights/name_pattern.h"

namespace verbatim {
namespace {

constexpr std::int64_t kLargestGroup = 1 << 24;
constexpr std::size_t kMostNames = 1 << 16;

struct Method {
  const char* name;
  QuantMethod method;
};
constexpr std::array<Method, 4> kMethods{{{"bitsandbytes", QuantMethod::kBitsAndBytes},
                                          {"awq", QuantMethod::kAwq},
                                          {"gptq", QuantMethod::kGptq},
                                          {"compressed-tensors", QuantMethod::kCompressedTensors}}};

QuantMethod method_named(const std::string& name, const std::string& where) {
  std::string known;
  for (const Method& each : kMethods) {
    if (name == each.name) return each.method;
    append_listed(known, each.name);
  }
  fail(Code::kUnsupported, "%s: found '%s', a method that this version does not read; known are %s",
       where.c_str(), name.c_str(), known.c_str());
}

[[noreturn]] void fail_value(const std::string& where, const std::string& found,
                             const char* expected) {
  fail(Code::kUnsupported, "%s: found %s, expected %s", where.c_str(), found.c_str(), expected);
}

std::vector<std::string> names(const JsonObject& object, std::string_view field) {
  std::vector<std::string> made;
  const boost::json::value* list = object.find(field);
  if (list == nullptr) return made;
  const bool fits = list->is_array() && list->get_array().size() <= kMostNames;
  if (!fits) fail(Code::kCorrupt, "%s: expected a list of names", object.name(field).c_str());
  for (const boost::json::value& each : list->get_array()) {
    if (!each.is_string())
      fail(Code::kCorrupt, "%s: expected a list of names", object.name(field).c_str());
    made.emplace_back(each.get_string());
  }
  return made;
}

void require_bits(const JsonObject& object, std::string_view field, std::int64_t found) {
  if (found != 4) fail_value(object.name(field), std::to_string(found), "4");
}

// -1 stands for whole rows.
void read_group_size(const JsonObject& object, QuantScheme& scheme) {
  const std::int64_t size = object.integer("group_size", -1, kLargestGroup);
  if (size == 0) fail_value(object.name("group_size"), "0", "a group, or -1 for whole rows");
  scheme.strategy = size < 0 ? ScaleStrategy::kChannel : ScaleStrategy::kGroup;
  scheme.group_size = size < 0 ? 0 : static_cast<std::int32_t>(size);
}

void read_bitsandbytes(const JsonObject& object, QuantizationConfig& made) {
  if (!object.boolean_or("load_in_4bit", false)) {
    fail_value(object.name("load_in_4bit"), "false", "true: bitsandbytes is read in 4 bits");
  }
  const std::string type = object.string_or("bnb_4bit_quant_type", "nf4");
  if (type != "nf4") fail_value(object.name("bnb_4bit_quant_type"), "'" + type + "'", "'nf4'");
  made.double_quant = object.boolean_or("bnb_4bit_use_double_quant", false);
  made.ignored = names(object, "llm_int8_skip_modules");
  made.schemes.emplace_back().where = made.where;
}

void read_awq(const JsonObject& object, QuantizationConfig& made) {
  QuantScheme scheme;
  scheme.where = made.where;
  require_bits(object, "bits", object.integer("bits", 1, 64));
  read_group_size(object, scheme);
  const std::string version = object.string_or("version", "gemm");
  if (version != "gemm" && version != "GEMM")
    fail_value(object.name("version"), "'" + version + "'", "'gemm'");
  if (!object.boolean_or("zero_point", true))
    fail_value(object.name("zero_point"), "false", "true");
  made.ignored = names(object, "modules_to_not_convert");
  made.schemes.push_back(std::move(scheme));
}

void read_gptq(const JsonObject& object, QuantizationConfig& made) {
  QuantScheme scheme;
  scheme.where = made.where;
  require_bits(object, "bits", object.integer("bits", 1, 64));
  read_group_size(object, scheme);
  scheme.symmetric = object.boolean_or("sym", false);
  scheme.act_order = object.boolean_or("desc_act", false);
  const std::string version = object.string_or("checkpoint_format", "gptq");
  if (version != "gptq" && version != "gptq_v2") {
    fail_value(object.name("checkpoint_format"), "'" + version + "'", "'gptq' or 'gptq_v2'");
  }
  scheme.zeros_are_minus_1 = version == "gptq";
  made.ignored = names(object, "modules_to_not_convert");
  made.schemes.push_back(std::move(scheme));
}

// Whole numbers of `bits` bits, which is all of a scheme's numbers that are read.
std::int32_t integer_bits(const JsonObject& args, const char* expected) {
  const std::string type = args.string_or("type", "int");
  if (type != "int") fail_value(args.name("type"), "'" + type + "'", "'int'");
  const std::int64_t bits = args.integer("num_bits", 1, 64);
  if (bits != 8 && (bits != 4 || std::string_view(expected) == "8"))
    fail_value(args.name("num_bits"), std::to_string(bits), expected);
  return static_cast<std::int32_t>(bits);
}

void read_strategy(const JsonObject& args, QuantScheme& scheme) {
  const std::string name = args.string_or("strategy", args.has("group_size") ? "group" : "tensor");
  if (name == "channel") {
    scheme.strategy = ScaleStrategy::kChannel;
  } else if (name == "tensor") {
    scheme.strategy = ScaleStrategy::kTensor;
  } else if (name == "group") {
    read_group_size(args, scheme);
  } else {
    fail_value(args.name("strategy"), "'" + name + "'", "'group', 'channel' or 'tensor'");
  }
}

// Absent: activations are floats.
bool read_activations(const JsonObject& group) {
  if (!group.has("input_activations")) return false;
  const JsonObject args = group.object("input_activations");
  integer_bits(args, "8");
  const boost::json::value* dynamic = args.find("dynamic");
  if (dynamic == nullptr || *dynamic != boost::json::value(true)) {
    fail_value(args.name("dynamic"),
               dynamic == nullptr ? "nothing" : boost::json::serialize(*dynamic).substr(0, 60),
               "true: activations are rounded by their own scale");
  }
  if (!args.boolean_or("symmetric", true)) fail_value(args.name("symmetric"), "false", "true");
  const std::string strategy = args.string_or("strategy", "token");
  if (strategy != "token") fail_value(args.name("strategy"), "'" + strategy + "'", "'token'");
  return true;
}

QuantScheme read_config_group(const JsonObject& group, const std::string& format,
                              std::string where) {
  QuantScheme scheme;
  scheme.where = std::move(where);
  scheme.targets = names(group, "targets");
  scheme.layout = group.string_or("format", format);
  if (scheme.layout != "pack-quantized" && scheme.layout != "int-quantized") {
    fail_value(group.name("format"), "'" + scheme.layout + "'",
               "'pack-quantized' or 'int-quantized'");
  }
  const JsonObject args = group.object("weights");
  scheme.bits = integer_bits(args, "4 or 8");
  scheme.symmetric = args.boolean_or("symmetric", true);
  scheme.act_order = args.has("actorder") && *args.find("actorder") != boost::json::value(false);
  read_strategy(args, scheme);
  scheme.int8_rows = read_activations(group);
  if (group.has("output_activations"))
    fail_value(group.name("output_activations"), "a scheme", "null");
  return scheme;
}

void read_compressed(const JsonObject& object, QuantizationConfig& made) {
  made.ignored = names(object, "ignore");
  const std::string format = object.string_or("format", "");
  const JsonObject groups = object.object("config_groups");
  for (const auto& [key, value] : object.find("config_groups")->as_object()) {
    const std::string name(key);
    made.schemes.push_back(read_config_group(groups.object(name), format, groups.name(name)));
  }
}

}  // namespace

const char* quant_method_name(QuantMethod method) {
  for (const Method& each : kMethods) {
    if (method == each.method) return each.name;
  }
  return "none";
}

QuantizationConfig read_quantization_config(const boost::json::value& config,
                                            const std::string& file) {
  const JsonObject whole(config, file);
  QuantizationConfig made;
  made.where = whole.name("quantization_config");
  if (!whole.has("quantization_config")) return made;
  const JsonObject object = whole.object("quantization_config");
  made.method = method_named(object.string("quant_method"), object.name("quant_method"));
  switch (made.method) {
    case QuantMethod::kBitsAndBytes:
      read_bitsandbytes(object, made);
      break;
    case QuantMethod::kAwq:
      read_awq(object, made);
      break;
    case QuantMethod::kGptq:
      read_gptq(object, made);
      break;
    case QuantMethod::kCompressedTensors:
      read_compressed(object, made);
      break;
    case QuantMethod::kNone:
      break;
  }
  return made;
}

const QuantScheme& QuantizationConfig::scheme_of(std::string_view prefix, QuantMethod found) const {
  const std::string name(prefix);
  if (method != found) {
    fail(Code::kCorrupt, "%s: its tensors are of %s, but %s says %s", name.c_str(),
         quant_method_name(found), where.c_str(), quant_method_name(method));
  }
  for (const std::string& pattern : ignored) {
    if (!matches_module(pattern, prefix, where)) continue;
    fail(Code::kCorrupt, "%s: it is quantised, but %s leaves out '%s'", name.c_str(), where.c_str(),
         pattern.c_str());
  }
  const QuantScheme* its = nullptr;
  for (const QuantScheme& scheme : schemes) {
    bool wanted = scheme.targets.empty();
    for (const std::string& target : scheme.targets) {
      wanted = wanted || target == "Linear" || matches_module(target, prefix, scheme.where);
    }
    if (!wanted) continue;
    if (its != nullptr) {
      fail(Code::kUnsupported, "%s: both %s and %s are about it, expected one", name.c_str(),
           its->where.c_str(), scheme.where.c_str());
    }
    its = &scheme;
  }
  if (its == nullptr) {
    fail(Code::kCorrupt, "%s: it is quantised, but no group of %s is about it", name.c_str(),
         where.c_str());
  }
  return *its;
}

}  // namespace verbatim
