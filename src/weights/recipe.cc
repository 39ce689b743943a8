// The recipes and how flags name them.
#include "weights/recipe.h"

#include <algorithm>
#include <array>

#include "base/error.h"

namespace verbatim {

namespace {

constexpr std::array<std::int32_t, 3> kGroups{32, 64, 128};

}  // namespace

std::span<const Recipe> recipes() {
  static const std::array<Recipe, 11> kAll{{
      {.name = "nf4",
       .format = &kFormatNf4,
       .rule = ScaleRule::kLargest,
       .group = 64,
       .takes_group = false},
      {.name = "int4",
       .format = &kFormatInt4,
       .rule = ScaleRule::kLeastSquares,
       .group = 128,
       .scales_as_source = true},
      {.name = "int8",
       .format = &kFormatInt8,
       .rule = ScaleRule::kHalfRange,
       .group = 128,
       .scales_as_source = true},
      {.name = "w8a8",
       .format = &kFormatW8A8,
       .rule = ScaleRule::kHalfRange,
       .group = 0,
       .takes_group = false,
       .scales_as_source = true},
      {.name = "w4a8",
       .format = &kFormatW4A8,
       .rule = ScaleRule::kLeastSquares,
       .group = 128,
       .scales_as_source = true},
      // ExecuTorch's, by the names of its exporter; float32 scales.
      {.name = "4w",
       .format = &kFormatInt4,
       .rule = ScaleRule::kHalfRange,
       .group = 32,
       .reach = Reach::kLinears},
      {.name = "4w_hqq",
       .format = &kFormatInt4,
       .rule = ScaleRule::kLeastSquares,
       .group = 32,
       .reach = Reach::kLinears},
      {.name = "8w",
       .format = &kFormatInt8,
       .rule = ScaleRule::kHalfRange,
       .group = 0,
       .reach = Reach::kLinears},
      {.name = "8w_hqq",
       .format = &kFormatInt8,
       .rule = ScaleRule::kLeastSquares,
       .group = 0,
       .reach = Reach::kLinears},
      {.name = "8da4w",
       .format = &kFormat8da4w,
       .rule = ScaleRule::kLeastSquares,
       .group = 32,
       .reach = Reach::kLinears},
      {.name = "8da8w",
       .format = &kFormat8da8w,
       .rule = ScaleRule::kLeastSquares,
       .group = 0,
       .reach = Reach::kLinears},
  }};
  return kAll;
}

std::string WeightChoice::text() const {
  if (recipe == nullptr) return "none";
  if (group == recipe->group) return recipe->name;
  return formatted("%s:%d", recipe->name, group);
}

WeightChoice weight_choice(const std::string& flag, const std::string& text) {
  if (text.empty() || text == "none") return {};
  const std::string name = text.substr(0, text.find(':'));
  std::string known = "none";
  for (const Recipe& recipe : recipes()) {
    append_listed(known, recipe.name);
    if (name != recipe.name) continue;
    WeightChoice choice{&recipe, recipe.group};
    if (name.size() == text.size()) return choice;
    const std::string group = text.substr(name.size() + 1);
    for (const std::int32_t each : kGroups) {
      if (!recipe.takes_group || group != std::to_string(each)) continue;
      choice.group = each;
      return choice;
    }
    fail(Code::kInvalidArgument, "%s %s: expected %s, found groups of '%s'", flag.c_str(),
         name.c_str(), recipe.takes_group ? "groups of 32, 64 or 128" : "no group", group.c_str());
  }
  fail(Code::kInvalidArgument, "%s: expected one of %s, found '%s'", flag.c_str(), known.c_str(),
       text.c_str());
}

}  // namespace verbatim
