// The families, and which one a checkpoint belongs to. A family is one folder and one line here.
#include <array>
#include <boost/json.hpp>

#include "checkpoint/checkpoint.h"
#include "models/model.h"

namespace verbatim {

extern const Family kVibeVoice;
extern const Family kVoxtral;

std::span<const Family* const> families() {
  static constexpr std::array<const Family*, 2> kFamilies{&kVibeVoice, &kVoxtral};
  return kFamilies;
}

const Family& recognise_family(const Checkpoint& checkpoint) {
  std::string known;
  for (const Family* family : families()) {
    if (family->recognise(checkpoint)) return *family;
    append_listed(known, std::string(family->name) + " (" + family->marks + ")");
  }
  std::string type = "no model_type";
  if (const boost::json::object* root = checkpoint.config().if_object()) {
    if (const boost::json::value* found = root->if_contains("model_type");
        found != nullptr && found->is_string()) {
      type = "model_type \"" + std::string(found->get_string()) + "\"";
    }
  }
  fail(Code::kUnsupported, "%s has %s; known families are %s",
       checkpoint.path(checkpoint.config_file()).c_str(), type.c_str(), known.c_str());
}

}  // namespace verbatim
