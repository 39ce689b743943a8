// A microphone: samples as a device captures them, through its going away and its coming back.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "audio/resampler.h"
#include "audio/source.h"

namespace verbatim {

// What a device gave, and what has become of it since.
struct Captured {
  enum class State : std::uint8_t { kRunning, kOverrun, kGone };
  std::size_t frames = 0;
  State state = State::kRunning;  // kOverrun: it dropped frames before those that come next
  std::string reason;             // of kGone
};

// One thread at a time.
class CaptureDevice {
 public:
  virtual ~CaptureDevice() = default;
  virtual RawFormat format() const = 0;
  // Whole frames into `to`, as many as are there; waits this long at most for the first.
  virtual Captured read(std::span<std::byte> to, std::chrono::milliseconds wait) = 0;
};

struct OpenedCapture {
  std::unique_ptr<CaptureDevice> device;
  std::string problem;  // one sentence, where there is no device
};

// Audio that was not captured. It stands between the samples, which say nothing of it.
struct CaptureGap {
  double at_s = 0;  // of what read() gave
  double length_s = 0;
  bool was_away = false;  // else the device dropped frames that nobody took in time
};

struct MicrophoneSetup {
  std::int32_t sample_rate_hz = 0;                      // of what read() gives
  std::function<OpenedCapture()> open;                  // asked every second while it is gone
  std::function<void(const std::string& reason)> gone;  // once each time
  // Once frames come again, or at the end; also of those that the device dropped.
  std::function<void(const CaptureGap& gap)> gap;
  // Set by any thread: read() gives what has been captured and then 0.
  const std::atomic<bool>* end = nullptr;
  std::function<double()> now_s;  // of a clock that never goes back
  std::function<void(std::chrono::milliseconds)> pause;
};

// The mean of the device's channels at the rate that was asked for. All calls of the setup come
// from the thread that reads.
class Microphone : public AudioSource {
 public:
  Microphone(std::unique_ptr<CaptureDevice> device, MicrophoneSetup setup);

  std::int32_t sample_rate_hz() const override { return setup_.sample_rate_hz; }
  std::int32_t channels() const override { return format_.channels; }
  double duration_s() const override { return 0; }
  // Gives what is there and waits for no more.
  std::size_t read(std::span<float> block) override;
  std::vector<AudioNote> notes() const override;

 private:
  void begin(std::unique_ptr<CaptureDevice> device);
  void capture();
  void hear(std::size_t frames);
  void report_gap();
  void try_again();
  void end();
  std::size_t pull(std::span<float> block);

  MicrophoneSetup setup_;
  std::unique_ptr<CaptureDevice> device_;  // null: gone
  RawFormat format_;
  std::optional<Resampler> resampler_;  // where the device's rate is another
  std::vector<std::byte> bytes_;
  std::vector<float> samples_;  // interleaved, then mixed; those from next_ on have not been given
  std::size_t next_ = 0;
  std::size_t last_ = 0;

  double heard_at_s_ = 0;  // when the last frames came
  double tried_at_s_ = 0;  // when the device that is gone was last asked for
  bool has_gap_ = false;   // to be reported
  bool is_gone_ = false;   // as setup_.gone was told; a device that is opened is not yet back
  bool is_over_ = false;
  std::int64_t given_ = 0;
  std::int64_t bad_samples_ = 0;
};

}  // namespace verbatim
