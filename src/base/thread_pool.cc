// Workers with one ticket each: the caller hands out tickets, works on part 0 itself, then takes
// over the parts whose workers have not begun (they may be parked, or the machine busy), and waits
// for those that have. A worker without a part is neither woken nor waited for.
#include "base/thread_pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <system_error>
#include <thread>
#include <vector>

#include "base/cpu_topology.h"
#include "base/error.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace verbatim {
namespace {

// Rounds of waiting before a thread parks: some tens of microseconds, which covers the gap between
// two ops of a forward pass and costs little when there is none.
constexpr int kSpinRounds = 2000;

void pause_briefly() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

// Numbers of tickets, which wrap around: days of decoding hand out more than 31 bits of them.
using Number = std::uint32_t;

// Returns the first value of `word` that is not `old`.
Number wait_while(const std::atomic<Number>& word, Number old, int spin_rounds) {
  for (int round = 0; round < spin_rounds; ++round) {
    const Number value = word.load(std::memory_order_acquire);
    if (value != old) return value;
    pause_briefly();
  }
  word.wait(old, std::memory_order_acquire);
  return word.load(std::memory_order_acquire);
}

void pin_this_thread(int cpu) {
  const auto cpus = static_cast<std::size_t>(cpu) + 1;
  cpu_set_t* const set = CPU_ALLOC(cpus);
  if (set == nullptr) return;
  CPU_ZERO_S(CPU_ALLOC_SIZE(cpus), set);
  CPU_SET_S(static_cast<std::size_t>(cpu), CPU_ALLOC_SIZE(cpus), set);
  // A refusal (a cpuset that has just shrunk) costs speed, not correctness.
  pthread_setaffinity_np(pthread_self(), CPU_ALLOC_SIZE(cpus), set);
  CPU_FREE(set);
}

// The CPU of each worker: physical cores first, then their other threads; none when there are more
// workers than CPUs, where binding would only stop the kernel from sharing them out.
std::vector<int> pinning(const CpuTopology& topology, int threads) {
  if (static_cast<std::size_t>(threads) > topology.cpuset.size()) return {};
  std::vector<int> order = topology.physical;
  for (const int cpu : topology.cpuset) {
    if (std::find(order.begin(), order.end(), cpu) == order.end()) order.push_back(cpu);
  }
  return order;
}

// What this thread is running right now, so that a call from inside a body is recognised.
struct Running {
  const void* pool = nullptr;
  int worker = 0;
};

Running& running() {
  thread_local Running value;
  return value;
}

struct Job {
  const RangeBody* body = nullptr;
  std::int64_t count = 0;
  std::int64_t grain = 1;
  std::int64_t parts = 1;

  // Whole grains, as evenly as they go: the first `extra` parts hold one more.
  void run(const void* pool, std::int64_t part, int worker) const {
    const std::int64_t grains = (count - 1) / grain + 1;
    const std::int64_t each = grains / parts;
    const std::int64_t extra = grains % parts;
    const std::int64_t first = part * each + std::min(part, extra);
    const std::int64_t last = first + each + (part < extra ? 1 : 0);
    Running& now = running();
    const Running before = now;
    now = {pool, worker};
    (*body)(first * grain, last == grains ? count : last * grain, worker);
    now = before;
  }
};

}  // namespace

// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): the gaps keep cache lines apart.
struct ThreadPool::Shared {
  struct alignas(64) Ticket {
    std::atomic<Number> number{0};   // of the last part that was handed out
    std::atomic<Number> claimed{0};  // of the last part that somebody began
    bool claim(Number ticket) {
      Number before = ticket - 1;
      return claimed.compare_exchange_strong(before, ticket, std::memory_order_acq_rel);
    }
  };

  explicit Shared(int threads) : tickets(static_cast<std::size_t>(threads)) {}

  void work(int worker, int cpu);
  void count_down();
  void stop();

  // The job is written before a ticket is handed out and again only after everyone who claimed a
  // part has counted down, so it needs no lock.
  Job job;
  bool stopping = false;
  int spin_rounds = 0;
  std::vector<Ticket> tickets;  // by worker; that of the caller is unused
  std::vector<std::thread> workers;
  std::atomic<bool> busy{false};
  alignas(64) std::atomic<Number> pending{0};
};

void ThreadPool::Shared::work(int worker, int cpu) {
  if (cpu >= 0) pin_this_thread(cpu);
  flush_denormals();
  Ticket& ticket = tickets[static_cast<std::size_t>(worker)];
  Number seen = 0;
  for (;;) {
    seen = wait_while(ticket.number, seen, spin_rounds);
    if (!ticket.claim(seen)) continue;
    if (stopping) return;
    job.run(this, worker, worker);
    count_down();
  }
}

void ThreadPool::Shared::count_down() {
  if (pending.fetch_sub(1, std::memory_order_acq_rel) == 1) pending.notify_one();
}

void ThreadPool::Shared::stop() {
  stopping = true;
  for (Ticket& ticket : tickets) {
    ticket.number.fetch_add(1, std::memory_order_release);
    ticket.number.notify_one();
  }
  for (std::thread& worker : workers) worker.join();
}

ThreadPool::ThreadPool(int threads, bool pin)
    : shared_(std::make_unique<Shared>(std::max(threads, 1))) {
  check(threads >= 1, "a pool has at least the caller's thread");
  const CpuTopology topology = cpu_topology();
  const std::vector<int> cpus = pin ? pinning(topology, threads) : std::vector<int>{};
  // With more threads than CPUs a spinning thread holds back the one it waits for.
  const bool fits = static_cast<std::size_t>(threads) <= topology.cpuset.size();
  shared_->spin_rounds = fits ? kSpinRounds : 0;

  // Signals belong to the thread that started the process: its blocking reads must wake up.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    for (int worker = 1; worker < threads; ++worker) {
      const int cpu = cpus.empty() ? -1 : cpus[static_cast<std::size_t>(worker)];
      shared_->workers.emplace_back(
          [shared = shared_.get(), worker, cpu] { shared->work(worker, cpu); });
    }
  } catch (const std::system_error& error) {
    const std::size_t started = shared_->workers.size();
    shared_->stop();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    fail(Code::kExhausted, "thread %d of %d cannot be started: %s", static_cast<int>(started) + 2,
         threads, error.what());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

ThreadPool::~ThreadPool() {
  shared_->stop();
}

int ThreadPool::threads() const {
  return static_cast<int>(shared_->tickets.size());
}

void ThreadPool::parallel_for(std::int64_t count, std::int64_t grain, RangeBody body) {
  check(grain >= 1, "a part of a range is at least one element");
  if (count <= 0) return;
  Shared& shared = *shared_;
  if (running().pool == &shared) {
    body(0, count, running().worker);
    return;
  }
  const std::int64_t grains = (count - 1) / grain + 1;
  const std::int64_t parts = std::min<std::int64_t>(grains, threads());
  check(!shared.busy.exchange(true, std::memory_order_acquire), "one thread at a time uses a pool");
  shared.job = {&body, count, grain, parts};
  shared.pending.store(static_cast<Number>(parts) - 1, std::memory_order_relaxed);
  for (std::int64_t worker = 1; worker < parts; ++worker) {
    std::atomic<Number>& ticket = shared.tickets[static_cast<std::size_t>(worker)].number;
    ticket.fetch_add(1, std::memory_order_release);
    ticket.notify_one();
  }
  shared.job.run(&shared, 0, 0);
  for (std::int64_t worker = 1; worker < parts; ++worker) {
    Shared::Ticket& ticket = shared.tickets[static_cast<std::size_t>(worker)];
    if (!ticket.claim(ticket.number.load(std::memory_order_relaxed))) continue;
    shared.job.run(&shared, worker, 0);
    shared.count_down();
  }
  for (Number left = shared.pending.load(std::memory_order_acquire); left != 0;) {
    left = wait_while(shared.pending, left, shared.spin_rounds);
  }
  shared.busy.store(false, std::memory_order_release);
}

void flush_denormals() {
#if defined(__x86_64__)
  constexpr unsigned kFlushToZero = 0x8000;
  constexpr unsigned kDenormalsAreZero = 0x0040;
  _mm_setcsr(_mm_getcsr() | kFlushToZero | kDenormalsAreZero);
#elif defined(__aarch64__)
  std::uint64_t control = 0;
  asm volatile("mrs %0, fpcr" : "=r"(control));
  control |= std::uint64_t{1} << 24;
  asm volatile("msr fpcr, %0" ::"r"(control));
#endif
}

}  // namespace verbatim
