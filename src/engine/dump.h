// --dump: every named tensor of one session, joined by position, as a safetensors file. Names:
// tests/parity/README.md.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace verbatim {

class Tap;

// The name rows go by: those of a decode step have "step." in front.
std::string dump_name(std::string_view name, const char* phase);

class Dump {
 public:
  // filter: a glob over names ('*' any run, '?' one character); empty: all of them.
  static std::unique_ptr<Dump> make(const std::string& path, const std::string& filter);
  virtual ~Dump() = default;
  virtual Tap* tap() = 0;
  virtual void write() = 0;  // throws kIo naming the path
};

}  // namespace verbatim
