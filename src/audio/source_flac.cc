// FLAC through libFLAC, native or in Ogg, 4 to 32 bits: v / 2^(bits-1).
#include <FLAC/stream_decoder.h>

#include <algorithm>
#include <exception>
#include <string_view>
#include <utility>

#include "audio/frames.h"
#include "base/error.h"

namespace verbatim {
namespace {

constexpr std::size_t kOggPayload = 28;  // behind the header of a page with one segment

class FlacReader : public FrameReader {
 public:
  FlacReader(std::unique_ptr<ByteInput> input, bool in_ogg)
      : input_(std::move(input)), decoder_(FLAC__stream_decoder_new()) {
    check(decoder_ != nullptr, "libFLAC makes a decoder");
    const FLAC__StreamDecoderInitStatus status =
        in_ogg
            ? FLAC__stream_decoder_init_ogg_stream(decoder_.get(), on_read, nullptr, nullptr,
                                                   nullptr, nullptr, on_frame, on_metadata,
                                                   on_error, this)
            : FLAC__stream_decoder_init_stream(decoder_.get(), on_read, nullptr, nullptr, nullptr,
                                               nullptr, on_frame, on_metadata, on_error, this);
    if (status != FLAC__STREAM_DECODER_INIT_STATUS_OK)
      fail(Code::kUnsupported, "%s: libFLAC: %s", name(),
           FLAC__StreamDecoderInitStatusString[status]);
    decode_until([this] { return sample_rate_hz_ != 0; });
    if (sample_rate_hz_ == 0)
      fail(Code::kCorrupt, "%s: not a whole FLAC file: no STREAMINFO names its sample rate",
           name());
    check_audio_shape(name(), sample_rate_hz_, channels_);
    decode_until([this] { return !samples_.empty(); });
    if (samples_.empty()) fail(Code::kCorrupt, "%s: holds no audio", name());
  }

  std::int32_t sample_rate_hz() const override { return sample_rate_hz_; }
  std::int32_t channels() const override { return channels_; }
  std::int64_t frames() const override { return total_frames_; }

  std::int64_t read(std::span<float> interleaved) override {
    decode_until([this] { return first_ < samples_.size(); });
    const std::size_t count = std::min(interleaved.size(), samples_.size() - first_);
    std::copy_n(samples_.begin() + static_cast<std::ptrdiff_t>(first_), count, interleaved.begin());
    first_ += count;
    return static_cast<std::int64_t>(count) / channels_;
  }

  void add_notes(std::vector<AudioNote>& notes) const override {
    if (is_at_end_ && decoded_frames_ < total_frames_)
      notes.push_back({"audio_truncated", formatted("the audio ends after %lld of the %lld frames "
                                                    "that the header says",
                                                    static_cast<long long>(decoded_frames_),
                                                    static_cast<long long>(total_frames_))});
  }

 private:
  struct Deleter {
    void operator()(FLAC__StreamDecoder* decoder) const { FLAC__stream_decoder_delete(decoder); }
  };

  const char* name() const { return input_->name().c_str(); }
  bool has_all() const { return total_frames_ >= 0 && decoded_frames_ >= total_frames_; }

  template <typename Condition>
  void decode_until(Condition condition) {
    while (!condition() && !is_at_end_) {
      const bool went_on = FLAC__stream_decoder_process_single(decoder_.get()) != 0;
      if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
      if (problem_ != nullptr)
        fail(Code::kCorrupt, "%s: not a whole FLAC file: %s after %.2f s", name(), problem_,
             sample_rate_hz_ == 0 ? 0.0 : static_cast<double>(decoded_frames_) / sample_rate_hz_);
      const FLAC__StreamDecoderState state = FLAC__stream_decoder_get_state(decoder_.get());
      is_at_end_ = has_all() || state == FLAC__STREAM_DECODER_END_OF_STREAM;
      if (!went_on && !is_at_end_)
        fail(Code::kCorrupt, "%s: not a whole FLAC file: %s", name(),
             FLAC__StreamDecoderStateString[state]);
    }
  }

  static FlacReader& self(void* client) { return *static_cast<FlacReader*>(client); }

  // libFLAC is C: what the input throws is kept and thrown again behind it.
  static FLAC__StreamDecoderReadStatus on_read(const FLAC__StreamDecoder*, FLAC__byte bytes[],
                                               std::size_t* count, void* client) {
    FlacReader& reader = self(client);
    try {
      *count = reader.input_->read_units(std::as_writable_bytes(std::span(bytes, *count)), 1);
      reader.has_input_ended_ = *count == 0;
      return *count == 0 ? FLAC__STREAM_DECODER_READ_STATUS_END_OF_STREAM
                         : FLAC__STREAM_DECODER_READ_STATUS_CONTINUE;
    } catch (...) {
      reader.failure_ = std::current_exception();
      return FLAC__STREAM_DECODER_READ_STATUS_ABORT;
    }
  }

  static void on_metadata(const FLAC__StreamDecoder*, const FLAC__StreamMetadata* metadata,
                          void* client) {
    FlacReader& reader = self(client);
    if (metadata->type != FLAC__METADATA_TYPE_STREAMINFO || reader.sample_rate_hz_ != 0) return;
    const FLAC__StreamMetadata_StreamInfo& info = metadata->data.stream_info;
    reader.sample_rate_hz_ = static_cast<std::int32_t>(info.sample_rate);
    reader.channels_ = static_cast<std::int32_t>(info.channels);
    if (info.total_samples > 0)
      reader.total_frames_ = static_cast<std::int64_t>(info.total_samples);
  }

  static FLAC__StreamDecoderWriteStatus on_frame(const FLAC__StreamDecoder*,
                                                 const FLAC__Frame* frame,
                                                 const FLAC__int32* const planes[], void* client) {
    FlacReader& reader = self(client);
    const FLAC__FrameHeader& header = frame->header;
    if (static_cast<std::int32_t>(header.channels) != reader.channels_ ||
        static_cast<std::int32_t>(header.sample_rate) != reader.sample_rate_hz_) {
      reader.problem_ = "the rate or the number of channels changes";
      return FLAC__STREAM_DECODER_WRITE_STATUS_ABORT;
    }
    std::size_t count = header.blocksize;
    if (reader.total_frames_ >= 0)
      count = static_cast<std::size_t>(
          std::min<std::int64_t>(header.blocksize, reader.total_frames_ - reader.decoded_frames_));
    const float scale = 1.0F / static_cast<float>(std::uint32_t{1} << (header.bits_per_sample - 1));
    reader.samples_.resize(count * header.channels);
    reader.first_ = 0;
    for (std::size_t channel = 0; channel < header.channels; ++channel)
      for (std::size_t i = 0; i < count; ++i)
        reader.samples_[i * header.channels + channel] =
            static_cast<float>(planes[channel][i]) * scale;
    reader.decoded_frames_ += static_cast<std::int64_t>(count);
    return FLAC__STREAM_DECODER_WRITE_STATUS_CONTINUE;
  }

  static void on_error(const FLAC__StreamDecoder*, FLAC__StreamDecoderErrorStatus status,
                       void* client) {
    FlacReader& reader = self(client);
    // Tags that other programs hang behind the last frame are no loss, and a frame that the end of
    // the file cuts is told by add_notes().
    if (!reader.has_all() && !reader.has_input_ended_ && reader.problem_ == nullptr)
      reader.problem_ = FLAC__StreamDecoderErrorStatusString[status];
  }

  std::unique_ptr<ByteInput> input_;
  std::unique_ptr<FLAC__StreamDecoder, Deleter> decoder_;
  std::int32_t sample_rate_hz_ = 0;
  std::int32_t channels_ = 0;
  std::int64_t total_frames_ = -1;
  std::int64_t decoded_frames_ = 0;
  std::vector<float> samples_;  // of the last block, interleaved
  std::size_t first_ = 0;       // of samples_: not yet given
  bool has_input_ended_ = false;
  bool is_at_end_ = false;
  const char* problem_ = nullptr;
  std::exception_ptr failure_;
};

bool has_text(std::span<const std::byte> bytes, std::size_t offset, std::string_view text) {
  return bytes.size() >= offset + text.size() &&
         std::equal(text.begin(), text.end(), bytes.begin() + static_cast<std::ptrdiff_t>(offset),
                    [](char a, std::byte b) { return static_cast<std::byte>(a) == b; });
}

bool is_ogg_flac(ByteInput& input) {
  const std::span<const std::byte> start = input.peek(kOggPayload + 5);
  return has_text(start, 0, "OggS") && has_text(start, kOggPayload,
                                                "\x7F"
                                                "FLAC");
}

}  // namespace

bool is_flac(ByteInput& input) {
  const std::span<const std::byte> start = input.peek(10);
  if (has_text(start, 0, "fLaC")) return true;
  if (!has_text(start, 0, "ID3") || start.size() < 10) return is_ogg_flac(input);
  // ID3v2: a length of four times seven bits, its own ten bytes not counted.
  std::uint64_t size = 0;
  for (const std::byte byte : start.subspan(6, 4))
    size = size << 7 | (std::to_integer<std::uint64_t>(byte) & 0x7FU);
  if (!input.size()) return false;
  const std::uint64_t position = input.position();
  input.skip(10 + size);
  const bool found = has_text(input.peek(4), 0, "fLaC");
  input.seek(position);
  return found;
}

std::unique_ptr<FrameReader> open_flac(std::unique_ptr<ByteInput> input) {
  const bool in_ogg = is_ogg_flac(*input);
  return std::make_unique<FlacReader>(std::move(input), in_ogg);
}

}  // namespace verbatim
