// Captures by libasound.so.2. Its few functions are declared here, as its ABI has had them since
// 2004: neither its headers are needed to build the program nor the library to start it.
#include "audio/source_alsa.h"

#include <dlfcn.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>

#include "audio/pcm.h"
#include "base/error.h"

namespace verbatim {
namespace {

constexpr const char* kLibrary = "libasound.so.2";

// Reference: alsa-lib, include/pcm.h and include/control.h.
struct Pcm;
struct PcmParams;
constexpr int kCapture = 1;      // SND_PCM_STREAM_CAPTURE
constexpr int kNonBlock = 1;     // SND_PCM_NONBLOCK
constexpr int kInterleaved = 3;  // SND_PCM_ACCESS_RW_INTERLEAVED

struct AlsaFormat {
  int alsa;  // snd_pcm_format_t
  SampleFormat format;
};
// The first that the device grants.
constexpr std::array<AlsaFormat, 4> kFormats{{{2, SampleFormat::kS16},     // S16_LE
                                              {14, SampleFormat::kF32},    // FLOAT_LE
                                              {10, SampleFormat::kS32},    // S32_LE
                                              {32, SampleFormat::kS24}}};  // S24_3LE

constexpr std::chrono::milliseconds kEmptyWait{10};
constexpr unsigned kPeriodUs = 20000;
constexpr unsigned kBufferUs = 2000000;  // what a reader that was kept waiting may be late

using ErrorHandler = void (*)(const char* file, int line, const char* function, int error,
                              const char* format, ...);
// The sentences are ours.
void say_nothing(const char*, int, const char*, int, const char*, ...) {}

struct Alsa {
  const char* (*strerror)(int);
  int (*error_set_handler)(ErrorHandler);
  int (*open)(Pcm**, const char* name, int stream, int mode);
  int (*close)(Pcm*);
  int (*prepare)(Pcm*);
  int (*start)(Pcm*);
  int (*wait)(Pcm*, int timeout_ms);
  long (*readi)(Pcm*, void* to, unsigned long frames);
  int (*params)(Pcm*, PcmParams*);
  int (*params_malloc)(PcmParams**);
  void (*params_free)(PcmParams*);
  int (*params_any)(Pcm*, PcmParams*);
  int (*set_rate_resample)(Pcm*, PcmParams*, unsigned);
  int (*set_access)(Pcm*, PcmParams*, int);
  int (*set_format)(Pcm*, PcmParams*, int);
  int (*set_channels_near)(Pcm*, PcmParams*, unsigned*);
  int (*set_rate_near)(Pcm*, PcmParams*, unsigned*, int*);
  int (*set_period_time_near)(Pcm*, PcmParams*, unsigned*, int*);
  int (*set_buffer_time_near)(Pcm*, PcmParams*, unsigned*, int*);
  int (*name_hint)(int card, const char* interface, void*** hints);
  char* (*name_get_hint)(const void* hint, const char* id);
  int (*name_free_hint)(void** hints);
};

template <typename Function>
bool find(void* library, const char* name, Function& to) {
  void* const symbol = ::dlsym(library, name);
  to = reinterpret_cast<Function>(symbol);
  return symbol != nullptr;
}

bool find_all(void* from, Alsa& to) {
  return find(from, "snd_strerror", to.strerror) &&
         find(from, "snd_lib_error_set_handler", to.error_set_handler) &&
         find(from, "snd_pcm_open", to.open) && find(from, "snd_pcm_close", to.close) &&
         find(from, "snd_pcm_prepare", to.prepare) && find(from, "snd_pcm_start", to.start) &&
         find(from, "snd_pcm_wait", to.wait) && find(from, "snd_pcm_readi", to.readi) &&
         find(from, "snd_pcm_hw_params", to.params) &&
         find(from, "snd_pcm_hw_params_malloc", to.params_malloc) &&
         find(from, "snd_pcm_hw_params_free", to.params_free) &&
         find(from, "snd_pcm_hw_params_any", to.params_any) &&
         find(from, "snd_pcm_hw_params_set_rate_resample", to.set_rate_resample) &&
         find(from, "snd_pcm_hw_params_set_access", to.set_access) &&
         find(from, "snd_pcm_hw_params_set_format", to.set_format) &&
         find(from, "snd_pcm_hw_params_set_channels_near", to.set_channels_near) &&
         find(from, "snd_pcm_hw_params_set_rate_near", to.set_rate_near) &&
         find(from, "snd_pcm_hw_params_set_period_time_near", to.set_period_time_near) &&
         find(from, "snd_pcm_hw_params_set_buffer_time_near", to.set_buffer_time_near) &&
         find(from, "snd_device_name_hint", to.name_hint) &&
         find(from, "snd_device_name_get_hint", to.name_get_hint) &&
         find(from, "snd_device_name_free_hint", to.name_free_hint);
}

// The library stays for as long as the program runs: it leaves handlers and caches behind that
// must not lose their code, and loading it again only counts.
bool load(Alsa& to, std::string& problem) {
  void* const library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    problem = formatted(
        "%s cannot be loaded, and microphones are heard through it: install ALSA's library "
        "(Debian: libasound2)",
        kLibrary);
    return false;
  }
  if (!find_all(library, to)) {
    problem = formatted("%s: expected ALSA's library, found one without its functions", kLibrary);
    return false;
  }
  to.error_set_handler(say_nothing);
  return true;
}

struct ClosePcm {
  int (*close)(Pcm*) = nullptr;
  void operator()(Pcm* pcm) const { close(pcm); }
};
using PcmOwner = std::unique_ptr<Pcm, ClosePcm>;

struct FreeParams {
  void (*free)(PcmParams*) = nullptr;
  void operator()(PcmParams* params) const { free(params); }
};
using ParamsOwner = std::unique_ptr<PcmParams, FreeParams>;

class AlsaCapture : public CaptureDevice {
 public:
  AlsaCapture(const Alsa& alsa, PcmOwner pcm, const RawFormat& format)
      : alsa_(alsa),
        pcm_(std::move(pcm)),
        format_(format),
        frame_bytes_(sample_bytes(format.format) * static_cast<std::size_t>(format.channels)) {}

  RawFormat format() const override { return format_; }

  Captured read(std::span<std::byte> to, std::chrono::milliseconds wait) override {
    if (!is_started_) {
      if (const int error = alsa_.start(pcm_.get()); error < 0) return failed(error);
      is_started_ = true;
    }
    const int ready = alsa_.wait(pcm_.get(), static_cast<int>(wait.count()));
    if (ready < 0) return failed(ready);
    const long frames = alsa_.readi(pcm_.get(), to.data(), to.size() / frame_bytes_);
    // One that says to have frames and gives none would be asked without a pause.
    if ((frames == 0 || frames == -EAGAIN) && ready > 0)
      std::this_thread::sleep_for(std::min(wait, kEmptyWait));
    if (frames < 0) return failed(frames);
    return {static_cast<std::size_t>(frames), Captured::State::kRunning, {}};
  }

 private:
  Captured failed(long error) {
    if (error == -EAGAIN || error == -EINTR) return {};
    if (error == -EPIPE && is_started_ && alsa_.prepare(pcm_.get()) >= 0) {
      is_started_ = false;
      return {0, Captured::State::kOverrun, {}};
    }
    return {0, Captured::State::kGone, alsa_.strerror(static_cast<int>(error))};
  }

  Alsa alsa_;
  PcmOwner pcm_;
  RawFormat format_;
  std::size_t frame_bytes_;
  bool is_started_ = false;
};

// What could not be set, and ALSA's number for why.
struct Refusal {
  const char* what = "";
  int error = 0;
};

// One channel, the rate that is wanted and few bytes a sample, or what comes nearest.
Refusal set_up(const Alsa& alsa, Pcm* pcm, PcmParams* params, RawFormat& format) {
  int error = alsa.params_any(pcm, params);
  if (error < 0) return {"its settings", error};
  // ALSA's own resampler is a poor one: ours follows.
  if (error = alsa.set_rate_resample(pcm, params, 0); error < 0) return {"its own rate", error};
  if (error = alsa.set_access(pcm, params, kInterleaved); error < 0)
    return {"interleaved samples", error};
  error = -EINVAL;
  for (const AlsaFormat& entry : kFormats) {
    error = alsa.set_format(pcm, params, entry.alsa);
    format.format = entry.format;
    if (error >= 0) break;
  }
  if (error < 0) return {"samples of 16, 24 or 32 bits", error};
  unsigned channels = 1;
  if (error = alsa.set_channels_near(pcm, params, &channels); error < 0)
    return {"its channels", error};
  auto rate_hz = static_cast<unsigned>(format.sample_rate_hz);
  if (error = alsa.set_rate_near(pcm, params, &rate_hz, nullptr); error < 0)
    return {"its rate", error};
  // Wishes: a device that grants neither has sizes of its own.
  unsigned period_us = kPeriodUs;
  unsigned buffer_us = kBufferUs;
  (void)alsa.set_period_time_near(pcm, params, &period_us, nullptr);
  (void)alsa.set_buffer_time_near(pcm, params, &buffer_us, nullptr);
  if (error = alsa.params(pcm, params); error < 0) return {"these settings", error};
  format.channels = static_cast<std::int32_t>(channels);
  format.sample_rate_hz = static_cast<std::int32_t>(rate_hz);
  return {};
}

std::string description_line(const char* text) {
  std::string line = text == nullptr ? "" : text;
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

struct Free {
  void operator()(char* text) const { ::free(text); }
};
using Text = std::unique_ptr<char, Free>;

}  // namespace

OpenedCapture open_alsa(const std::string& device, std::int32_t sample_rate_hz) {
  OpenedCapture opened;
  Alsa alsa{};
  if (!load(alsa, opened.problem)) return opened;
  const auto refused = [&](const char* what, int error) {
    opened.problem =
        formatted("microphone '%s': %s: %s", device.c_str(), what, alsa.strerror(error));
  };
  Pcm* raw = nullptr;
  if (const int error = alsa.open(&raw, device.c_str(), kCapture, kNonBlock); error < 0) {
    refused("cannot be opened", error);
    return opened;
  }
  PcmOwner pcm(raw, {alsa.close});
  PcmParams* raw_params = nullptr;
  if (const int error = alsa.params_malloc(&raw_params); error < 0) {
    refused("cannot be set up", error);
    return opened;
  }
  const ParamsOwner params(raw_params, {alsa.params_free});
  RawFormat format;
  format.sample_rate_hz = sample_rate_hz;
  const Refusal refusal = set_up(alsa, pcm.get(), params.get(), format);
  if (refusal.error < 0) {
    refused(formatted("does not grant %s", refusal.what).c_str(), refusal.error);
    return opened;
  }
  opened.device = std::make_unique<AlsaCapture>(alsa, std::move(pcm), format);
  return opened;
}

CaptureNames list_alsa() {
  CaptureNames names;
  Alsa alsa{};
  if (!load(alsa, names.problem)) return names;
  void** hints = nullptr;
  if (const int error = alsa.name_hint(-1, "pcm", &hints); error < 0) {
    names.problem = formatted("ALSA cannot list its devices: %s", alsa.strerror(error));
    return names;
  }
  for (void** hint = hints; *hint != nullptr; ++hint) {
    // Absent: it plays and captures.
    const Text direction(alsa.name_get_hint(*hint, "IOID"));
    if (direction && std::string_view(direction.get()) != "Input") continue;
    const Text name(alsa.name_get_hint(*hint, "NAME"));
    const Text description(alsa.name_get_hint(*hint, "DESC"));
    if (name) names.devices.push_back({name.get(), description_line(description.get())});
  }
  alsa.name_free_hint(hints);
  return names;
}

}  // namespace verbatim
