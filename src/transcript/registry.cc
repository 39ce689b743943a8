// The output formats. A new one is its file and a line here.
#include <algorithm>
#include <array>

#include "transcript/writer.h"

namespace verbatim {

extern const Writer kTextWriter;
extern const Writer kJsonWriter;
extern const Writer kVerboseJsonWriter;
extern const Writer kDiarizedJsonWriter;
extern const Writer kSrtWriter;
extern const Writer kVttWriter;
extern const Writer kTsvWriter;
extern const Writer kRttmWriter;
extern const Writer kCtmWriter;

namespace {

constexpr std::array<const Writer*, 9> kWriters{
    &kTextWriter, &kJsonWriter, &kVerboseJsonWriter, &kDiarizedJsonWriter, &kSrtWriter,
    &kVttWriter,  &kTsvWriter,  &kRttmWriter,        &kCtmWriter,
};

}  // namespace

std::span<const Writer* const> writers() {
  return kWriters;
}

const Writer& find_writer(std::string_view name) {
  std::string names;
  for (const Writer* writer : kWriters) {
    if (name == writer->name) return *writer;
    append_listed(names, writer->name);
  }
  fail(Code::kInvalidArgument, "format \"%.*s\" is unknown; expected one of %s",
       static_cast<int>(std::min<std::size_t>(name.size(), 64)), name.data(), names.c_str());
}

}  // namespace verbatim
