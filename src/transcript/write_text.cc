// text: the transcript's text and one line end; it carries neither speakers nor times.
#include "base/utf8.h"
#include "transcript/writer.h"

namespace verbatim {

namespace {

std::string write(const Transcript& transcript, const WriterOptions&) {
  return to_valid_utf8(transcript.text) + "\n";
}

}  // namespace

extern const Writer kTextWriter{"text", "text/plain; charset=utf-8", "txt", write};

}  // namespace verbatim
