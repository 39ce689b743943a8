// The header of a WAV, RF64 or W64 file: everything before the first sample.
// RIFF: id[4] size[4] body, padded to 2. W64: guid[16] size[8] (header included) body, padded to 8.
#include "audio/wav_header.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <string_view>

#include "audio/frames.h"
#include "audio/pcm.h"
#include "base/error.h"

namespace verbatim {
namespace {

// More than any real file has; an endless stream of chunks ends here.
constexpr int kMostChunks = 10000;
constexpr std::uint64_t kMostSkippedBytes = std::uint64_t{256} << 20;  // in a pipe

constexpr std::uint16_t kTagPcm = 1;
constexpr std::uint16_t kTagFloat = 3;
constexpr std::uint16_t kTagALaw = 6;
constexpr std::uint16_t kTagMuLaw = 7;
constexpr std::uint16_t kTagExtensible = 0xFFFE;

using Guid = std::array<unsigned char, 16>;
constexpr Guid kW64Riff = {'r',  'i',  'f',  'f',  0x2E, 0x91, 0xCF, 0x11,
                           0xA5, 0xD6, 0x28, 0xDB, 0x04, 0xC1, 0x00, 0x00};
constexpr std::array<unsigned char, 12> kW64Tail = {0xF3, 0xAC, 0xD3, 0x11, 0x8C, 0xD1,
                                                    0x00, 0xC0, 0x4F, 0x8E, 0xDB, 0x8A};

std::uint64_t little(std::span<const std::byte> bytes, std::size_t offset, int count) {
  std::uint64_t value = 0;
  for (int i = count; i-- > 0;)
    value =
        value << 8 | std::to_integer<std::uint64_t>(bytes[offset + static_cast<std::size_t>(i)]);
  return value;
}

std::string_view text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool is_chunk_id(std::span<const std::byte> id) {
  return id.size() >= 4 && std::all_of(id.begin(), id.begin() + 4, [](std::byte byte) {
           return byte >= std::byte{0x20} && byte < std::byte{0x7F};
         });
}

bool is_w64(std::span<const std::byte> start) {
  return start.size() >= 40 && std::memcmp(start.data(), kW64Riff.data(), 16) == 0 &&
         text(start.subspan(24, 4)) == "wave" &&
         std::memcmp(start.data() + 28, kW64Tail.data(), 12) == 0;
}

bool is_riff(std::span<const std::byte> start) {
  if (start.size() < 12 || text(start.subspan(8, 4)) != "WAVE") return false;
  const std::string_view id = text(start.first(4));
  return id == "RIFF" || id == "RF64" || id == "BW64";
}

struct Chunk {
  std::string id;
  std::uint64_t size = 0;   // of the body
  bool is_unknown = false;  // as writers to a pipe leave it
};

// What programs that cannot go back write: all ones (ffmpeg), or the largest positive size less
// about a page (sox, arecord).
bool is_placeholder(std::uint64_t size) {
  return size >= 0xFFFFF000U || (size >= 0x7FFFF000U && size <= 0x80000000U);
}

class WavParser {
 public:
  explicit WavParser(ByteInput& input) : input_(input), wide_(is_w64(input.peek(40))) {}

  std::optional<WavHeader> parse() {
    input_.skip(wide_ ? 40 : 12);
    Chunk chunk;
    bool has_data = false;
    std::uint64_t data_start = 0;
    Chunk data;
    for (int count = 0; !(has_data && has_format_); ++count) {
      if (count == kMostChunks) corrupt("more than 10000 chunks before its audio");
      if (!next_chunk(chunk)) corrupt(has_data ? "holds no 'fmt ' chunk" : "holds no 'data' chunk");
      if (chunk.id == "data" && !has_data) {
        has_data = true;
        data = chunk;
        data_start = input_.position();
        if (has_format_) break;
        if (!input_.size() || chunk.is_unknown)
          corrupt("its 'data' comes before its 'fmt ' and cannot be passed over");
      }
      if (chunk.id == "fmt " && !has_format_) {
        if (!read_format(chunk)) return std::nullopt;
      } else {
        if (chunk.id == "ds64") read_sizes(chunk);
        skip_body(chunk.size);
      }
    }
    if (input_.position() != data_start) input_.seek(data_start);
    settle_length(data);
    return header_;
  }

 private:
  [[noreturn]] void corrupt(const char* what) const {
    fail(Code::kCorrupt, "%s: not a whole WAV file: %s", input_.name().c_str(), what);
  }

  bool next_chunk(Chunk& chunk) {
    const std::size_t bytes = wide_ ? 24 : 8;
    const std::span<const std::byte> head = input_.peek(bytes);
    if (head.size() < bytes) return false;
    if (!is_chunk_id(head))
      fail(Code::kCorrupt, "%s: not a whole WAV file: no chunk begins at byte %llu",
           input_.name().c_str(), static_cast<unsigned long long>(input_.position()));
    chunk.id.assign(text(head.first(4)));
    if (wide_) {
      const std::uint64_t size = little(head, 16, 8);
      chunk.is_unknown = size == 0 || size >= std::uint64_t{1} << 62;
      if (!chunk.is_unknown && size < bytes) corrupt("a chunk is shorter than its own header");
      chunk.size = chunk.is_unknown ? 0 : size - bytes;
    } else {
      chunk.size = little(head, 4, 4);
      chunk.is_unknown = is_placeholder(chunk.size);
      if (chunk.id == "data" && chunk.size == 0xFFFFFFFFU && long_data_bytes_ != 0) {
        chunk.size = long_data_bytes_;
        chunk.is_unknown = chunk.size >= std::uint64_t{1} << 62;
      }
    }
    input_.skip(bytes);
    return true;
  }

  // From the start of a body to the next chunk. Some writers forget the byte that pads an odd size.
  void skip_body(std::uint64_t size) {
    if (!input_.size()) {
      skipped_ += size;
      if (skipped_ > kMostSkippedBytes) corrupt("more than 256 MiB before its audio");
    }
    input_.skip(size);
    if (wide_) {
      input_.skip((8 - size % 8) % 8);
    } else if (size % 2 != 0) {
      const std::span<const std::byte> next = input_.peek(4);
      if (!next.empty() && (next[0] == std::byte{0} || !is_chunk_id(next))) input_.skip(1);
    }
  }

  // ds64: riff size, data size, sample count, then a table that nothing here needs.
  void read_sizes(const Chunk& chunk) {
    const std::span<const std::byte> body = input_.peek(16);
    if (chunk.size >= 16 && body.size() == 16) long_data_bytes_ = little(body, 8, 8);
  }

  // False: a coding that is not PCM.
  bool read_format(const Chunk& chunk) {
    const std::span<const std::byte> body =
        input_.peek(static_cast<std::size_t>(std::min<std::uint64_t>(chunk.size, 40)));
    if (body.size() < 16 || body.size() < std::min<std::uint64_t>(chunk.size, 40))
      corrupt("its 'fmt ' chunk is shorter than 16 bytes or than it says");
    auto tag = static_cast<std::uint16_t>(little(body, 0, 2));
    if (tag == kTagExtensible) {
      if (body.size() < 40) corrupt("its extensible 'fmt ' chunk is shorter than 40 bytes");
      tag = static_cast<std::uint16_t>(little(body, 24, 2));
    }
    const std::uint64_t bits = little(body, 14, 2);
    if (!choose_format(tag, bits)) return false;
    const std::uint64_t channels = little(body, 2, 2);
    const std::uint64_t rate = little(body, 4, 4);
    check_audio_shape(input_.name(), static_cast<std::int64_t>(rate),
                      static_cast<std::int64_t>(channels));
    header_.sample_rate_hz = static_cast<std::int32_t>(rate);
    header_.channels = static_cast<std::int32_t>(channels);
    header_.frame_bytes = sample_bytes(header_.format) * channels;
    const std::uint64_t block_align = little(body, 12, 2);
    if (block_align != header_.frame_bytes)
      fail(Code::kCorrupt, "%s: block align %d, expected %d for %d channels of %d bits",
           input_.name().c_str(), static_cast<int>(block_align),
           static_cast<int>(header_.frame_bytes), static_cast<int>(channels),
           static_cast<int>(bits));
    skip_body(chunk.size);
    has_format_ = true;
    return true;
  }

  bool choose_format(std::uint16_t tag, std::uint64_t bits) {
    if (tag == kTagPcm) {
      if (bits == 0) corrupt("0 bits per sample");
      constexpr SampleFormat kByBytes[] = {SampleFormat::kU8, SampleFormat::kS16,
                                           SampleFormat::kS24, SampleFormat::kS32};
      if (bits > 32) return false;
      header_.format = kByBytes[(bits - 1) / 8];
      return true;
    }
    if (tag == kTagFloat && (bits == 32 || bits == 64)) {
      header_.format = bits == 32 ? SampleFormat::kF32 : SampleFormat::kF64;
      return true;
    }
    if ((tag == kTagALaw || tag == kTagMuLaw) && bits == 8) {
      header_.format = tag == kTagALaw ? SampleFormat::kALaw : SampleFormat::kMuLaw;
      return true;
    }
    return false;
  }

  // A length of 0 means "unknown" from some writers to pipes; it is meant when whole chunks follow.
  bool only_chunks_follow() {
    const std::uint64_t start = input_.position();
    const std::uint64_t size = *input_.size();
    bool whole = true;
    for (int count = 0; whole && input_.position() < size; ++count) {
      const std::span<const std::byte> head = input_.peek(8);
      whole = count < kMostChunks && head.size() == 8 && is_chunk_id(head) &&
              little(head, 4, 4) <= size - input_.position() - 8;
      if (whole) {
        const std::uint64_t body = little(head, 4, 4);
        input_.skip(8);
        skip_body(body);
      }
    }
    input_.seek(start);
    return whole;
  }

  // Some writers count the zeros that pad a chunk as its data.
  bool ends_with_frame_or_padding(std::uint64_t size) {
    const std::uint64_t rest = size % header_.frame_bytes;
    if (rest >= (wide_ ? 8 : 2)) return false;
    const std::uint64_t start = input_.position();
    input_.seek(start + size - rest);
    const std::span<const std::byte> end = input_.peek(static_cast<std::size_t>(rest));
    const bool is_padding =
        std::all_of(end.begin(), end.end(), [](std::byte byte) { return byte == std::byte{0}; });
    input_.seek(start);
    return is_padding;
  }

  void settle_length(const Chunk& data) {
    const std::optional<std::uint64_t> size = input_.size();
    const char* name = input_.name().c_str();
    if (!size) {
      if (!data.is_unknown && data.size > 0) header_.data_bytes = data.size;
    } else {
      const std::uint64_t there = *size - std::min(*size, input_.position());
      const bool is_unknown = (data.is_unknown && (wide_ || there < data.size)) ||
                              (!wide_ && data.size == 0 && there > 0 && !only_chunks_follow());
      header_.data_bytes = is_unknown ? there : std::min(data.size, there);
      header_.truncated =
          !is_unknown && (data.size > there || !ends_with_frame_or_padding(data.size));
    }
    const std::size_t first_bytes = input_.peek(header_.frame_bytes).size();
    if (first_bytes < header_.frame_bytes ||
        (header_.data_bytes && *header_.data_bytes < header_.frame_bytes)) {
      input_.finish();
      fail(Code::kCorrupt, "%s: holds no audio, expected at least one frame of %d bytes", name,
           static_cast<int>(header_.frame_bytes));
    }
  }

  ByteInput& input_;
  bool wide_;
  WavHeader header_;
  bool has_format_ = false;
  std::uint64_t long_data_bytes_ = 0;
  std::uint64_t skipped_ = 0;
};

}  // namespace

bool is_wav(ByteInput& input) {
  const std::span<const std::byte> start = input.peek(40);
  return is_riff(start) || is_w64(start);
}

std::optional<WavHeader> read_wav_header(ByteInput& input) {
  return WavParser(input).parse();
}

}  // namespace verbatim
