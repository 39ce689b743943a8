// The writers, and how their configs speak of modules.
#include "weights/store.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

#include "base/error.h"
#include "base/json.h"
#include "weights/name_pattern.h"

namespace verbatim {

extern const LayoutWriter kWriterCompressed;
extern const LayoutWriter kWriterNf4;

namespace {

std::vector<std::string> parts_of(const std::string& name) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('.', begin), name.size());
    parts.push_back(name.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

bool is_number(const std::string& part) {
  return !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
}

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Modules of one tree stand behind any of these, depending on who wrote the file and who reads it.
std::vector<std::string> without_front(std::vector<std::string> parts) {
  while (parts.size() > 1 && (parts[0] == "model" || parts[0] == "language_model"))
    parts.erase(parts.begin());
  return parts;
}

std::string expression_of(const std::vector<std::string>& parts) {
  std::string made;
  for (const std::string& part : parts) {
    if (!made.empty()) made += "[.]";
    if (is_number(part)) {
      made += "[0-9]+";
      continue;
    }
    for (const char c : part) made += is_plain(c) ? std::string(1, c) : std::string("[") + c + "]";
  }
  return made;
}

}  // namespace

std::span<const LayoutWriter* const> layout_writers() {
  static constexpr std::array<const LayoutWriter*, 2> kWriters{&kWriterNf4, &kWriterCompressed};
  return kWriters;
}

const LayoutWriter& layout_writer(const std::string& flag, const WeightChoice& choice) {
  std::string known;
  for (const Recipe& recipe : recipes()) {
    for (const LayoutWriter* writer : layout_writers()) {
      if (!writer->writes(recipe)) continue;
      if (choice && std::string_view(choice.recipe->name) == recipe.name) return *writer;
      append_listed(known, recipe.name);
    }
  }
  if (!choice) {
    fail(Code::kInvalidArgument, "%s: expected one of %s, found none: the result would be a copy",
         flag.c_str(), known.c_str());
  }
  fail(Code::kInvalidArgument,
       "%s: no checkpoint stores %s, which is made at load alone; what can be written is %s",
       flag.c_str(), choice.text().c_str(), known.c_str());
}

RawType raw_type_of(const WeightFormat& dense) {
  if (&dense == &kFormatF16) return RawType::kF16;
  return &dense == &kFormatBF16 ? RawType::kBF16 : RawType::kF32;
}

std::string module_expression(const std::string& name) {
  return expression_of(without_front(parts_of(name)));
}

std::vector<DenseModule> dense_modules(std::span<const StoredWeight> weights,
                                       std::span<const std::string> dense) {
  std::set<std::string> fronts;  // of the weights that were made, each with a dot behind it
  for (const StoredWeight& weight : weights) {
    for (std::size_t dot = 0; dot < weight.name.size(); ++dot)
      if (weight.name[dot] == '.') fronts.insert(weight.name.substr(0, dot + 1));
  }
  // A head that shares the table has no tensor, but readers have a module for it.
  std::map<std::string, DenseModule> found{{"lm_head", {"lm_head", "lm_head", true}}};
  for (const std::string& name : dense) {
    std::string module = name;
    for (std::size_t dot = name.find('.'); dot != std::string::npos;
         dot = name.find('.', dot + 1)) {
      if (fronts.count(name.substr(0, dot + 1)) != 0) continue;
      module = name.substr(0, dot);
      break;
    }
    const std::vector<std::string> parts = without_front(parts_of(module));
    const auto number = std::find_if(parts.rbegin(), parts.rend(), is_number);
    DenseModule made;
    made.expression = expression_of(parts);
    for (auto part = number.base(); part != parts.end(); ++part)
      made.plain += (made.plain.empty() ? "" : ".") + *part;
    made.is_weight = module == name;
    found.emplace(made.expression, made);
  }
  std::vector<DenseModule> all;
  for (const auto& [expression, made] : found) all.push_back(made);
  return all;
}

bool means_any(const std::string& pattern, std::span<const StoredWeight> weights) {
  return std::any_of(weights.begin(), weights.end(), [&](const StoredWeight& weight) {
    return matches_module(pattern, weight.name, "the config that is written");
  });
}

std::string json_list(std::span<const std::string> texts) {
  std::string list = "[";
  for (const std::string& text : texts) list += (list.size() > 1 ? ", " : "") + json_string(text);
  return list + "]";
}

}  // namespace verbatim
