// What is asked of a session.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace verbatim {

// How VibeVoice draws the acoustic latent: its mean, the mean plus noise of the checkpoint's fixed
// width, or of a width that is itself drawn once per clip.
enum class AcousticSampling : std::uint8_t { kMode, kFix, kGaussian };
// How VibeVoice pads the last frame: as the layout's reference, or one of the two rules by name.
enum class Tail : std::uint8_t { kAsLayout, kMs, kHf };

struct SessionOptions {
  std::string language;  // a hint that is echoed; English name in lower case
  std::string context;   // what the recording is about
  std::vector<std::string> hotwords;
  double temperature = 0;
  double top_p = 1;
  std::uint64_t seed = 0;
  std::int64_t max_output_tokens = 0;  // 0: as many as the audio can hold
  AcousticSampling acoustic_sampling = AcousticSampling::kMode;
  Tail tail = Tail::kAsLayout;
  // Of Voxtral Realtime.
  std::int32_t delay_ms = 0;  // how far behind the audio text is decided; 0: as the checkpoint says
  bool stop_at_eos = false;   // the reference's offline policy: the end token ends the session
  double blank_rut_s = 8;     // speech without text that restarts the decoder; 0: off
};

}  // namespace verbatim
