// What --help prints, of eighty columns: usage, sections of flags with their defaults, examples.
#include <string>
#include <string_view>

#include "cli/flags.h"

namespace verbatim {
namespace {

constexpr std::size_t kColumns = 80;
constexpr std::size_t kIndent = 6;

// Words of `text`, in lines that begin with `indent` blanks.
void append_wrapped(std::string& out, std::string_view text, std::size_t indent) {
  std::size_t column = 0;
  while (!text.empty()) {
    const std::size_t end = text.find(' ');
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (column > 0 && column + 1 + word.size() > kColumns) {
      out.push_back('\n');
      column = 0;
    }
    out.append(column == 0 ? indent : 1, ' ');
    column += word.size() + (column == 0 ? indent : 1);
    out += word;
  }
  out.push_back('\n');
}

}  // namespace

std::string Flags::help() const {
  std::string out = "usage: " + usage_ + "\n\n";
  append_wrapped(out, summary_, 0);
  std::size_t section = 0;
  for (std::size_t i = 0; i < flags_.size(); ++i) {
    const Flag& flag = flags_[i];
    for (; section < sections_.size() && sections_[section].first == i; ++section)
      out += "\n" + sections_[section].second + ":\n";
    std::string line = std::string("  ") + flag.name;
    if (!flag.value.empty()) line += " " + flag.value;
    out += line + "\n";
    append_wrapped(out,
                   flag.preset.empty() ? flag.text : flag.text + " (default " + flag.preset + ")",
                   kIndent);
  }
  out += "\n  -h, --help\n      Prints this text.\n";
  out +=
      "\nEach flag has an environment variable, read where the flag is absent: VERBATIM_\nand its "
      "name in capitals with _ for -, as VERBATIM_THREADS for --threads.\n";
  if (!footer_.empty()) out += "\n" + footer_;
  return out;
}

}  // namespace verbatim
