// The WAV reader over any bytes, as a file and as a pipe: an Error or samples, never more of them
// than there are bytes, and the same from both.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "audio/frames.h"
#include "base/error.h"

namespace verbatim {
namespace {

// Memory without a size, a few bytes at a time.
class PipeSupply : public ByteSupply {
 public:
  explicit PipeSupply(std::span<const std::byte> bytes) : left_(bytes) {}
  std::size_t read(std::span<std::byte> to) override {
    const std::size_t count = std::min({to.size(), left_.size(), std::size_t{13}});
    std::copy_n(left_.begin(), count, to.begin());
    left_ = left_.subspan(count);
    return count;
  }

 private:
  std::span<const std::byte> left_;
};

void read_all(std::unique_ptr<ByteInput> input, std::size_t size) {
  if (!is_wav(*input)) return;
  try {
    const std::unique_ptr<FrameReader> reader = open_wav(std::move(input));
    if (!reader) return;
    check(reader->frames() <= static_cast<std::int64_t>(size), "a frame has a byte at least");
    check(reader->channels() >= 1 && reader->channels() <= 64, "channels are bounded");
    check(reader->sample_rate_hz() >= 4000, "rates are bounded");
    std::vector<float> block(static_cast<std::size_t>(reader->channels()) * 100);
    std::int64_t frames = reader->skip(1);
    while (const std::int64_t count = reader->read(block)) frames += count;
    check(frames <= static_cast<std::int64_t>(size), "no frame is made of nothing");
    check(reader->frames() < 0 || frames <= reader->frames(), "no more than was promised");
    std::vector<AudioNote> notes;
    reader->add_notes(notes);
  } catch (const Error&) {
  }
}

}  // namespace
}  // namespace verbatim

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace verbatim;
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
  read_all(memory_input(bytes, "fuzz.wav"), size);
  read_all(std::make_unique<ByteInput>(std::make_unique<PipeSupply>(bytes), "pipe"), size);
  return 0;
}
