// Audio goes in on a thread of its own.
#include "engine/pump.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace verbatim {
namespace {

constexpr std::size_t kBlockSamples = 1 << 14;

// The codes of notes are those of warnings.
void warn_of(const std::vector<AudioNote>& notes, Stream& stream) {
  for (const AudioNote& note : notes) stream.warn({note.code, note.what, 0, 0});
}

// What the source or the disk throws ends the stream.
template <typename Body>
void guarded(Stream& stream, const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    stream.fail_with(error.code(), error.what());
  } catch (const std::exception& error) {
    stream.fail_with(Code::kInternal, error.what());
  }
}

}  // namespace

SpooledAudio spool_audio(AudioSource& source, const std::string& folder,
                         const std::atomic<bool>& stop,
                         std::atomic<std::int64_t>* progress_samples) {
  SpooledAudio spooled;
  spooled.pcm = std::make_unique<SpooledFile>(std::size_t{1} << 20, folder);
  std::vector<float> block(kBlockSamples);
  while (!stop) {
    const std::size_t count = source.read(block);
    if (count == 0) break;
    spooled.pcm->append(std::as_bytes(std::span(block).first(count)));
    spooled.samples += static_cast<std::int64_t>(count);
    if (progress_samples != nullptr) *progress_samples = spooled.samples;
  }
  spooled.notes = source.notes();
  return spooled;
}

Pump::Pump(std::unique_ptr<AudioSource> source, Stream& stream) : stream_(stream) {
  thread_ = std::thread([this, &stream, from = std::move(source)] {
    guarded(stream, [&] {
      std::vector<float> block(kBlockSamples);
      while (!stop_) {
        const std::size_t count = from->read(block);
        if (count == 0) {
          warn_of(from->notes(), stream);
          stream.finish();
          return;
        }
        stream.push(std::span(block).first(count));
      }
    });
    has_ended_ = true;
  });
}

Pump::Pump(SpooledAudio audio, Stream& stream) : stream_(stream) {
  thread_ = std::thread([this, &stream, from = std::move(audio)] {
    guarded(stream, [&] {
      std::vector<float> block(kBlockSamples);
      for (std::int64_t at = 0; at < from.samples && !stop_;) {
        const auto count = static_cast<std::size_t>(
            std::min<std::int64_t>(from.samples - at, static_cast<std::int64_t>(block.size())));
        const auto part = std::span(block).first(count);
        from.pcm->read(static_cast<std::uint64_t>(at) * sizeof(float),
                       std::as_writable_bytes(part));
        stream.push(part);
        at += static_cast<std::int64_t>(count);
      }
      if (stop_) return;
      warn_of(from.notes, stream);
      stream.finish();
    });
    has_ended_ = true;
  });
}

Pump::~Pump() {
  stop_ = true;
  if (!has_ended_) stream_.stop();  // it may wait for room in the mailbox
  if (thread_.joinable()) thread_.join();
}

}  // namespace verbatim
