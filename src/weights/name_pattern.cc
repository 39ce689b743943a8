// A regular expression runs over sets of positions: each part maps where it may begin to where it
// may end, so that nothing is tried twice.
#include "weights/name_pattern.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/error.h"

namespace verbatim {
namespace {

constexpr std::size_t kLongestPattern = 1024;
constexpr int kDeepest = 8;
constexpr std::int64_t kMostParts = 1 << 16;  // looked at, repeats counted

using Positions = std::vector<bool>;  // [0, size] of the text

bool any(const Positions& positions) {
  for (const bool each : positions) {
    if (each) return true;
  }
  return false;
}

void join(Positions& to, const Positions& from) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = to[i] || from[i];
}

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

class Expression {
 public:
  Expression(std::string_view pattern, std::string_view text, const std::string& where)
      : pattern_(pattern), text_(text), where_(where) {}

  // Does it match from the text's first byte on?
  bool begins() {
    if (pattern_.size() > kLongestPattern) refuse("a pattern of so many bytes");
    Positions start(text_.size() + 1);
    start[0] = true;
    const Positions ends = alternatives(start, 0);
    if (at_ < pattern_.size()) refuse("a ')' without its '('");
    return any(ends);
  }

 private:
  [[noreturn]] void refuse(const char* what) const {
    fail(Code::kUnsupported, "%s: 're:%s' has %s at byte %zu, which this version does not read",
         where_.c_str(), std::string(pattern_.substr(0, 80)).c_str(), what, at_);
  }

  bool is_at(char c) const { return at_ < pattern_.size() && pattern_[at_] == c; }

  Positions alternatives(const Positions& start, int depth) {
    if (depth > kDeepest) refuse("groups so deep");
    Positions ends = sequence(start, depth);
    while (is_at('|')) {
      ++at_;
      join(ends, sequence(start, depth));
    }
    return ends;
  }

  Positions sequence(const Positions& start, int depth) {
    Positions here = start;
    while (at_ < pattern_.size() && !is_at('|') && !is_at(')')) here = repeated(here, depth);
    return here;
  }

  // One part with its *, + or ?.
  Positions repeated(const Positions& start, int depth) {
    const std::size_t begin = at_;
    Positions once = part(start, depth);
    if (is_at('{')) refuse("a counted repeat");
    if (!is_at('*') && !is_at('+') && !is_at('?')) return once;
    const char repeat = pattern_[at_];
    const std::size_t end = at_ + 1;
    Positions ends = once;
    if (repeat != '+') join(ends, start);
    // Each turn begins where the one before ended; the set grows at most text_.size() times.
    while (repeat != '?') {
      at_ = begin;
      Positions more = ends;
      join(more, part(ends, depth));
      if (more == ends) break;
      ends = std::move(more);
    }
    at_ = end;
    if (is_at('?')) ++at_;  // a lazy repeat matches the same texts
    return ends;
  }

  Positions part(const Positions& start, int depth) {
    if (++parts_ > kMostParts) refuse("more repeats of repeats");
    const char c = pattern_[at_];
    if (c == '(') return group(start, depth);
    if (c == '*' || c == '+' || c == '?') refuse("a repeat of nothing");
    ++at_;
    Positions ends(start.size());
    if (c == '^') {
      ends[0] = start[0];
      return ends;
    }
    if (c == '$') {
      ends.back() = start.back();
      return ends;
    }
    const std::size_t begin = at_;
    for (std::size_t i = 0; i < text_.size(); ++i) {
      at_ = begin;
      const bool fits = one(c, text_[i]);
      ends[i + 1] = start[i] && fits;
    }
    if (text_.empty()) one(c, '\0');
    return ends;
  }

  Positions group(const Positions& start, int depth) {
    ++at_;
    if (is_at('?')) {
      if (pattern_.substr(at_, 2) != "?:") refuse("a group of a kind");
      at_ += 2;
    }
    Positions ends = alternatives(start, depth + 1);
    if (!is_at(')')) refuse("a '(' without its ')'");
    ++at_;
    return ends;
  }

  // Does the part whose first byte is c, at_ being behind it, take this byte of the text?
  bool one(char c, char found) {
    if (c == '.') return found != '\n';
    if (c == '\\') return escaped(found);
    if (c == '[') return of_class(found);
    return c == found;
  }

  bool escaped(char found) {
    if (at_ == pattern_.size()) refuse("a '\\' before nothing");
    const char c = pattern_[at_++];
    if (c == 'd') return found >= '0' && found <= '9';
    if (c == 'w') return is_word(found);
    if (is_word(c)) refuse("an escape of a kind");
    return c == found;
  }

  bool of_class(char found) {
    const bool negated = is_at('^');
    if (negated) ++at_;
    bool holds = false;
    for (bool first = true; first || !is_at(']'); first = false) {
      if (at_ >= pattern_.size()) refuse("a '[' without its ']'");
      const char low = pattern_[at_++];
      if (low == '\\') {
        if (escaped(found)) holds = true;
        continue;
      }
      char high = low;
      if (is_at('-') && at_ + 1 < pattern_.size() && pattern_[at_ + 1] != ']') {
        high = pattern_[at_ + 1];
        at_ += 2;
      }
      if (found >= low && found <= high) holds = true;
    }
    ++at_;
    return holds != negated;
  }

  std::string_view pattern_;
  std::string_view text_;
  const std::string& where_;
  std::size_t at_ = 0;
  std::int64_t parts_ = 0;
};

}  // namespace

bool matches_module(std::string_view pattern, std::string_view module, const std::string& where) {
  if (pattern.starts_with("re:")) return Expression(pattern.substr(3), module, where).begins();
  if (pattern.empty()) return false;
  for (std::size_t at = module.find(pattern); at != std::string_view::npos;
       at = module.find(pattern, at + 1)) {
    const std::size_t end = at + pattern.size();
    const bool begins = at == 0 || module[at - 1] == '.';
    if (begins && (end == module.size() || module[end] == '.')) return true;
  }
  return false;
}

}  // namespace verbatim
