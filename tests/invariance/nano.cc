// Clips in, digests and transcripts out.
#include "tests/invariance/nano.h"

#include <algorithm>
#include <cstring>
#include <variant>

#include "audio/test_clip.h"
#include "engine/small_engine.h"

namespace verbatim {
namespace {

std::string word_text(const Word& word) {
  return formatted(" [%a %a %s]", word.start_s, word.end_s, word.text.c_str());
}

std::string transcript_text(const Transcript& transcript) {
  std::string text = formatted("%lld prompt rows, %lld tokens\n",
                               static_cast<long long>(transcript.usage.prompt_tokens),
                               static_cast<long long>(transcript.usage.output_tokens));
  for (const Segment& segment : transcript.segments) {
    text += formatted("%a %a %d %s:", segment.start_s, segment.end_s, segment.speaker,
                      segment.text.c_str());
    for (const std::int32_t token : segment.tokens) text += formatted(" %d", token);
    for (const Word& word : segment.words) text += word_text(word);
    text += "\n";
  }
  for (const Warning& warning : transcript.warnings) {
    text += formatted("%s: %s\n", warning.code, warning.message.c_str());
  }
  return text;
}

}  // namespace

std::vector<float> nano_clip(const Nano& nano, const std::string& name, std::size_t block_samples) {
  return read_clip(std::string(nano.folder) + "/samples/" + name + ".wav", nano.sample_rate_hz,
                   block_samples);
}

void DigestTap::see(std::string_view name, const Tensor& rows, const Spans& spans) {
  for (const Span& span : spans.host) {
    std::string full = std::string_view(span.phase) == "step" ? "step:" : "";
    full += name;
    std::uint64_t& digest =
        digests_.try_emplace(std::move(full), 0xcbf29ce484222325U).first->second;
    const Tensor part = rows.slice(span.first_row, span.rows);
    for (std::int64_t r = 0; r < part.rows; ++r) {
      const std::byte* row = part.data + r * part.stride * dtype_bytes(part.dtype);
      for (std::int64_t c = 0; c < part.cols; ++c) {  // values of four bytes, all of them
        std::uint32_t word = 0;
        std::memcpy(&word, row + c * 4, 4);
        digest = (digest ^ word) * 0x100000001b3U;
      }
    }
  }
}

std::string first_difference(const DigestTap& a, const DigestTap& b) {
  for (const auto& [name, digest] : a.digests()) {
    const auto other = b.digests().find(name);
    if (other == b.digests().end() || other->second != digest) return name;
  }
  for (const auto& [name, digest] : b.digests()) {
    if (a.digests().count(name) == 0) return name;
  }
  return "";
}

EngineOptions nano_options(const Nano& nano) {
  EngineOptions options = small_options(std::string(nano.folder));
  if (nano.folder == kVoxtralNano.folder) options.max_context = 0;  // its windows slide
  return options;
}

void push_in_blocks(Engine& engine, Stream& stream, std::span<const float> clip,
                    std::size_t block_samples) {
  for (std::size_t at = 0; at < clip.size(); at += block_samples) {
    stream.push_live(clip.subspan(at, std::min(block_samples, clip.size() - at)));
    engine.tick();
  }
}

std::string answer(Stream& stream) {
  std::string said;
  while (const std::optional<Event> event = stream.next(std::chrono::milliseconds(0))) {
    if (const TextDelta* delta = std::get_if<TextDelta>(&*event)) {
      said += formatted("{%a %a %s}", delta->start_s, delta->end_s, delta->text.c_str());
    }
    if (const WordDone* done = std::get_if<WordDone>(&*event)) said += word_text(done->word);
    if (const Done* done = std::get_if<Done>(&*event)) {
      return said + "\n" + transcript_text(done->transcript);
    }
    if (const Failed* failed = std::get_if<Failed>(&*event)) return "failed: " + failed->message;
  }
  return "not ended";
}

std::string transcribe(Engine& engine, const SessionOptions& options, std::span<const float> clip,
                       std::size_t block_samples) {
  const std::unique_ptr<Stream> stream =
      engine.open("", options, static_cast<double>(clip.size()) / engine.sample_rate_hz());
  push_in_blocks(engine, *stream, clip, block_samples);
  stream->finish();
  while (engine.tick()) {
  }
  return answer(*stream);
}

TappedRun tapped_run(EngineOptions options, std::span<const float> clip,
                     std::size_t block_samples) {
  TappedRun run;
  options.tap = &run.tap;
  Engine engine(options);
  run.transcript = transcribe(engine, {}, clip, block_samples);
  return run;
}

}  // namespace verbatim
