// A scan over JSON that is known to be valid for keys that an object holds twice.
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/error.h"
#include "base/utf8.h"
#include "checkpoint/safetensors.h"

namespace verbatim {
namespace {

// The string behind the quotes; `raw` is what stands between them.
std::string unescaped(std::string_view raw) {
  if (raw.find('\\') == std::string_view::npos) return std::string(raw);
  const boost::json::value value = boost::json::parse('"' + std::string(raw) + '"');
  return std::string(value.as_string().c_str(), value.as_string().size());
}

std::size_t closing_quote(std::string_view text, std::size_t opening) {
  std::size_t at = opening + 1;
  while (at < text.size() && text[at] != '"') at += text[at] == '\\' ? 2 : 1;
  return at;
}

struct Scope {
  bool is_object = false;
  std::unordered_set<std::string> keys;
};

}  // namespace

void refuse_duplicate_keys(std::string_view text, std::string_view source) {
  std::vector<Scope> scopes;
  bool key_next = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    switch (text[at]) {
      case '{':
      case '[':
        scopes.push_back({.is_object = text[at] == '{', .keys = {}});
        key_next = scopes.back().is_object;
        break;
      case '}':
      case ']':
        check(!scopes.empty(), "only valid JSON is scanned for keys");
        scopes.pop_back();
        key_next = false;
        break;
      case ',':
        key_next = !scopes.empty() && scopes.back().is_object;
        break;
      case '"': {
        const std::size_t end = closing_quote(text, at);
        check(end < text.size(), "only valid JSON is scanned for keys");
        if (key_next) {
          std::string key = unescaped(text.substr(at + 1, end - at - 1));
          if (!scopes.back().keys.insert(key).second) {
            fail(Code::kCorrupt, "%s: the key \"%s\" stands there twice",
                 std::string(source).c_str(), shown_name(key).c_str());
          }
          key_next = false;
        }
        at = end;
        break;
      }
      default:
        break;
    }
  }
}

}  // namespace verbatim
