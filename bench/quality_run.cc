// One session on a device of its own, carried as the replica carries it. Teacher forcing is one
// line: what was decided is replaced before the session takes it.
#include "bench/quality_run.h"

#include <algorithm>
#include <cmath>
#include <variant>

#include "base/cpu_topology.h"
#include "base/error.h"
#include "base/math.h"
#include "base/thread_pool.h"
#include "checkpoint/checkpoint.h"

namespace verbatim {
namespace {

// Of logits, whose largest is `best`.
double log_of_sum(std::span<const float> logits, float best) {
  double sum = 0;
  for (const float logit : logits) sum += math_exp(static_cast<double>(logit - best));
  return static_cast<double>(best) + math_log(sum);
}

Decision decision_of(std::span<const float> logits) {
  std::vector<std::int32_t> order(logits.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int32_t>(i);
  const std::size_t count = std::min(order.size(), Decision::kLikeliest);
  const auto logit_of = [&](std::int32_t token) { return logits[static_cast<std::size_t>(token)]; };
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                    [&](std::int32_t a, std::int32_t b) {
                      return logit_of(a) != logit_of(b) ? logit_of(a) > logit_of(b) : a < b;
                    });
  Decision made;
  made.token = order[0];
  made.count = static_cast<std::int32_t>(count);
  const double all = log_of_sum(logits, logit_of(order[0]));
  for (std::size_t i = 0; i < count; ++i) {
    made.tokens[i] = order[i];
    made.log_shares[i] = static_cast<double>(logit_of(order[i])) - all;
  }
  return made;
}

// What is left of a probability of one; never nought, so that its logarithm exists.
double remainder_of(double sum) {
  return std::max(1 - sum, 1e-12);
}

double divergence_of(const Decision& dense, std::span<const float> logits) {
  const double all = log_of_sum(logits, *std::max_element(logits.begin(), logits.end()));
  double sum = 0, dense_sum = 0, other_sum = 0;
  for (std::int32_t i = 0; i < dense.count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const double other =
        static_cast<double>(logits[static_cast<std::size_t>(dense.tokens[at])]) - all;
    const double share = math_exp(dense.log_shares[at]);
    sum += share * (dense.log_shares[at] - other);
    dense_sum += share;
    other_sum += math_exp(other);
  }
  const double rest = remainder_of(dense_sum);
  return sum + rest * (math_log(rest) - math_log(remainder_of(other_sum)));
}

std::string text_of(Session& session) {
  std::vector<Event> events;
  session.drain(events);
  for (Event& event : events) {
    if (Done* done = std::get_if<Done>(&event)) return std::move(done->transcript.text);
    if (const Failed* failed = std::get_if<Failed>(&event))
      throw Error(failed->code, failed->message);
  }
  check(false, "a session that is done says so");
  return "";
}

}  // namespace

class QualityModel::Judge {
 public:
  virtual ~Judge() = default;
  virtual std::int32_t decide(std::span<const float> logits) = 0;
};

double Agreement::share() const {
  return decisions > 0 ? static_cast<double>(same) / static_cast<double>(decisions) : 1;
}

double Agreement::mean_divergence() const {
  return decisions > 0 ? divergence / static_cast<double>(decisions) : 0;
}

void Agreement::append(const Agreement& more) {
  decisions += more.decisions;
  same += more.same;
  divergence += more.divergence;
}

QualityModel::QualityModel(const EngineOptions& options) : options_(options) {
  flush_denormals();
  const Checkpoint checkpoint = Checkpoint::open(options.model);
  const Family& family = recognise_family(checkpoint);
  DeviceOptions device;
  device.threads = options.threads;
  device.isa = options.isa;
  device.pin_threads = options.pin_threads;
  device_ = open_device(options.device, device);
  placement_ = place(options_, checkpoint, family, *device_);
  stages_ = {{device_.get(), 0, placement_.info.kv.layers}};
  LoadOptions load = load_options(options_);
  ThreadPool workers(options.threads > 0 ? options.threads : cpu_topology().default_threads,
                     options.pin_threads);
  load.bind.workers = &workers;
  load.bind.progress = options_.loading;
  model_ = family.load(checkpoint, stages_, load);
  device_->set_arena(Arena(device_->allocate(placement_.memory.arena)));
  pool_ = make_pool(placement_.info.kv, placement_.pages);
  if (placement_.encoder_pages > 0)
    encoder_pool_ = make_pool(placement_.info.encoder_kv, placement_.encoder_pages);
}

QualityModel::~QualityModel() = default;

std::unique_ptr<KvPool> QualityModel::make_pool(const KvLayout& layout, std::int32_t pages) {
  return std::make_unique<KvPool>(
      layout, placement_.codec, pages,
      device_->allocate(KvPool::storage_bytes(layout, placement_.codec, pages)));
}

Spoken QualityModel::speak(std::span<const float> pcm) {
  class Own final : public Judge {
   public:
    explicit Own(std::vector<Decision>& made) : made_(made) {}
    std::int32_t decide(std::span<const float> logits) override {
      made_.push_back(decision_of(logits));
      return made_.back().token;
    }

   private:
    std::vector<Decision>& made_;
  };
  Spoken spoken;
  Own own(spoken.decisions);
  spoken.words = spoken_words(run(pcm, own));
  return spoken;
}

Agreement QualityModel::follow(std::span<const float> pcm, const std::vector<Decision>& dense) {
  class Forced final : public Judge {
   public:
    explicit Forced(const std::vector<Decision>& dense) : dense_(dense) {}
    std::int32_t decide(std::span<const float> logits) override {
      check(next_ < dense_.size(), "a session that is forced takes the way of the other one");
      const Decision& was = dense_[next_++];
      const auto best = std::max_element(logits.begin(), logits.end());
      found.same += best - logits.begin() == was.token ? 1 : 0;
      found.divergence += divergence_of(was, logits);
      ++found.decisions;
      return was.token;
    }
    Agreement found;

   private:
    const std::vector<Decision>& dense_;
    std::size_t next_ = 0;
  };
  Forced forced(dense);
  run(pcm, forced);
  check(forced.found.decisions == static_cast<std::int64_t>(dense.size()),
        "a session that is forced takes the whole way");
  return forced.found;
}

std::string QualityModel::run(std::span<const float> pcm, Judge& judge) {
  SlotResources slot;
  slot.max_positions = placement_.context;
  slot.kv.push_back(std::make_unique<KvSequence>(*pool_));
  check(slot.kv[0]->reserve(placement_.held), "the pool was made for one session");
  if (encoder_pool_ != nullptr) {
    slot.kv.push_back(std::make_unique<KvSequence>(*encoder_pool_));
    check(slot.kv[1]->reserve(placement_.encoder_held), "the pool was made for one session");
  }
  slot.conv = model_->conv_states(*device_);
  const std::unique_ptr<Session> session = model_->open({}, slot, {});
  bool is_finished = false;
  while (!session->done()) {
    const std::size_t taken = std::min(session->room(), pcm.size());
    if (taken > 0) session->push(pcm.first(taken));
    pcm = pcm.subspan(taken);
    if (pcm.empty() && !is_finished) session->finish();
    is_finished = pcm.empty();
    EncodeBatch batch(options_.encode_room_s);
    session->plan(batch);
    if (!batch.empty()) {
      const ArenaScope scratch(device_->arena());
      model_->encode(*device_, batch, {});
      session->take(batch);
    }
    decode(*session, judge);
  }
  return text_of(*session);
}

void QualityModel::decode(Session& session, Judge& judge) {
  if (session.done()) return;
  DecodeBatch batch(options_.decode_room_rows);
  session.plan(batch);
  if (batch.empty()) return;
  for (DecodeBatch::Item& item : batch.items()) {
    if (item.want == Want::kToken) item.want = Want::kLogits;
  }
  model_->decode(stages_, batch, {});
  for (DecodeBatch::Item& item : batch.items()) {
    if (item.want == Want::kLogits) item.token = judge.decide(item.logits);
  }
  session.take(batch);
}

}  // namespace verbatim
