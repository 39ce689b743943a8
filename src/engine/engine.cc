// Admission. One replica serves one model.
#include "engine/engine.h"

#include "engine/replica.h"

namespace verbatim {

Engine::Engine(const EngineOptions& options) {
  replicas_.push_back(std::make_unique<Replica>(options));
  threads_ = thread_count(options);
}

Engine::~Engine() = default;

std::unique_ptr<Stream> Engine::open(std::string_view model, const SessionOptions& options,
                                     double expected_audio_s) {
  Replica& replica = *replicas_.front();
  if (!model.empty() && model != replica.info().name) {
    fail(Code::kNotFound, "model '%.*s' is not served; '%s' is", static_cast<int>(model.size()),
         model.data(), replica.info().name.c_str());
  }
  return replica.open(options, expected_audio_s);
}

bool Engine::tick() {
  return replicas_.front()->tick();
}
std::string Engine::family() const {
  return replicas_.front()->info().family;
}
std::string Engine::name() const {
  return replicas_.front()->info().name;
}
std::int32_t Engine::sample_rate_hz() const {
  return replicas_.front()->info().sample_rate_hz;
}
bool Engine::is_live() const {
  return replicas_.front()->info().live;
}
MemoryUse Engine::memory() const {
  return replicas_.front()->memory();
}
std::string Engine::device_name() const {
  return replicas_.front()->device_name();
}
std::string Engine::quantization() const {
  return replicas_.front()->quantization();
}
std::vector<SeenInput> Engine::inputs() const {
  return replicas_.front()->inputs();
}
int Engine::threads() const {
  return threads_;
}
std::vector<ProfileRow> Engine::profile() const {
  return replicas_.front()->profile();
}

}  // namespace verbatim
