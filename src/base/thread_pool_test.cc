// Who runs which part, on which CPU, and that nothing is lost, allocated or left running.
#include "base/thread_pool.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <new>
#include <set>
#include <thread>
#include <vector>

#include "base/cpu_topology.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define VERBATIM_SANITIZED
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define VERBATIM_SANITIZED
#endif

#ifndef VERBATIM_SANITIZED  // a sanitizer brings its own operator new
namespace {

std::atomic<std::int64_t> allocations{0};

}  // namespace

// Not inlined: g++ would take the pair for a mismatch.
[[gnu::noinline]] void* operator new(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* const bytes = std::malloc(size > 0 ? size : 1); bytes != nullptr) return bytes;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* bytes) noexcept {
  std::free(bytes);
}
[[gnu::noinline]] void operator delete(void* bytes, std::size_t) noexcept {
  std::free(bytes);
}
#endif

namespace verbatim {
namespace {

struct Part {
  std::int64_t first;
  std::int64_t last;
  int worker;
  bool operator<(const Part& other) const { return first < other.first; }
};

std::vector<Part> parts_of(ThreadPool& pool, std::int64_t count, std::int64_t grain) {
  std::mutex mutex;
  std::vector<Part> parts;
  pool.parallel_for(count, grain, [&](std::int64_t first, std::int64_t last, int worker) {
    const std::lock_guard lock(mutex);
    parts.push_back({first, last, worker});
  });
  std::sort(parts.begin(), parts.end());
  return parts;
}

// One part for each worker, run by that worker: nobody leaves before all have begun, so that the
// caller finds no part to take over.
template <typename Body>
void on_every_worker(ThreadPool& pool, const Body& body) {
  std::atomic<int> begun{0};
  pool.parallel_for(pool.threads(), 1, [&](std::int64_t, std::int64_t, int worker) {
    ++begun;
    begun.notify_all();
    for (int now = begun; now < pool.threads(); now = begun) begun.wait(now);
    body(worker);
  });
}

TEST(ThreadPool, PartsCoverTheRangeInWholeGrains) {
  for (const int threads : {1, 2, 3, 7}) {
    ThreadPool pool(threads, false);
    ASSERT_EQ(pool.threads(), threads);
    for (const std::int64_t count : {1, 2, 6, 7, 8, 63, 64, 65, 1000}) {
      for (const std::int64_t grain : {1, 3, 16, 2000}) {
        const std::vector<Part> parts = parts_of(pool, count, grain);
        const std::int64_t grains = (count + grain - 1) / grain;
        ASSERT_EQ(static_cast<std::int64_t>(parts.size()), std::min<std::int64_t>(threads, grains));
        std::int64_t next = 0;
        std::set<int> workers;
        for (const Part& part : parts) {
          ASSERT_EQ(part.first, next);
          ASSERT_GT(part.last, part.first);
          ASSERT_TRUE(part.last == count || part.last % grain == 0);
          next = part.last;
          workers.insert(part.worker);
        }
        ASSERT_EQ(next, count);
        ASSERT_GE(*workers.begin(), 0);
        ASSERT_LT(*workers.rbegin(), threads);
      }
    }
  }
}

TEST(ThreadPool, EveryWorkerTakesAPartWhenNobodyIsInAHurry) {
  for (const int threads : {1, 2, 3, 7}) {
    ThreadPool pool(threads, false);
    for (int round = 0; round < 50; ++round) {
      std::mutex mutex;
      std::set<int> workers;
      on_every_worker(pool, [&](int worker) {
        const std::lock_guard lock(mutex);
        workers.insert(worker);
      });
      ASSERT_EQ(workers.size(), static_cast<std::size_t>(threads));
      ASSERT_EQ(*workers.rbegin(), threads - 1);
    }
  }
}

TEST(ThreadPool, TheSameRangeIsCutTheSameWayEveryTime) {
  ThreadPool pool(3, false);
  const std::vector<Part> once = parts_of(pool, 100, 7);
  for (int round = 0; round < 100; ++round) {
    const std::vector<Part> again = parts_of(pool, 100, 7);
    ASSERT_EQ(again.size(), once.size());
    for (std::size_t index = 0; index < once.size(); ++index) {
      ASSERT_EQ(again[index].first, once[index].first);
      ASSERT_EQ(again[index].last, once[index].last);
    }
  }
}

TEST(ThreadPool, NoPartIsTooLargeAndNoRangeTooLong) {
  ThreadPool pool(4, false);
  std::int64_t longest = 0;
  for (const Part& part : parts_of(pool, 1030, 10))
    longest = std::max(longest, part.last - part.first);
  EXPECT_EQ(longest, 260);
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(parts_of(pool, kLargest, 3).back().last, kLargest);
  EXPECT_TRUE(parts_of(pool, 0, 1).empty());
}

TEST(ThreadPool, WritesOfEveryRoundAreSeenByTheNext) {
  // More threads than CPUs as well, so that workers park between rounds.
  for (const int threads : {2, 16}) {
    ThreadPool pool(threads, false);
    std::vector<std::int64_t> values(64, 0);
    constexpr int kRounds = 2000;
    for (int round = 0; round < kRounds; ++round) {
      // Each element is moved on by a worker that did not write it last time.
      const std::int64_t count = 1 + round % 64;
      pool.parallel_for(count, 1, [&](std::int64_t first, std::int64_t last, int) {
        for (std::int64_t index = first; index < last; ++index) {
          ++values[static_cast<std::size_t>(63 - index)];
        }
      });
    }
    std::int64_t sum = 0;
    for (const std::int64_t value : values) sum += value;
    std::int64_t expected = 0;
    for (int round = 0; round < kRounds; ++round) expected += 1 + round % 64;
    EXPECT_EQ(sum, expected);
  }
}

TEST(ThreadPool, ACallFromInsideABodyRunsAloneAsThatWorker) {
  ThreadPool pool(4, false);
  std::atomic<int> wrong{0};
  std::atomic<int> parts{0};
  on_every_worker(pool, [&](int worker) {
    const std::thread::id here = std::this_thread::get_id();
    pool.parallel_for(100, 1, [&](std::int64_t first, std::int64_t last, int inner) {
      ++parts;
      if (first != 0 || last != 100 || inner != worker) ++wrong;
      if (std::this_thread::get_id() != here) ++wrong;
    });
  });
  EXPECT_EQ(parts, 4);
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(parts_of(pool, 4, 1).size(), 4u) << "a call after a nested one is cut again";
}

TEST(ThreadPool, APoolInsideAnotherPoolIsAPoolOfItsOwn) {
  ThreadPool outer(2, false);
  ThreadPool inner(3, false);
  std::atomic<int> parts{0};
  on_every_worker(outer, [&](int worker) {
    if (worker != 1) return;
    inner.parallel_for(3, 1, [&](std::int64_t, std::int64_t, int) { ++parts; });
    outer.parallel_for(9, 1, [&](std::int64_t, std::int64_t last, int again) {
      if (last == 9 && again == 1) ++parts;
    });
  });
  EXPECT_EQ(parts, 4);
}

TEST(ThreadPool, ParallelForAllocatesNothing) {
#ifdef VERBATIM_SANITIZED
  GTEST_SKIP() << "the sanitizer's operator new cannot be counted";
#else
  ThreadPool pool(3, false);
  std::atomic<std::int64_t> sum{0};
  const auto add = [&](std::int64_t first, std::int64_t last, int) { sum += last - first; };
  pool.parallel_for(10, 1, add);
  const std::int64_t before = allocations;
  for (int round = 0; round < 100; ++round) pool.parallel_for(10, 1, add);
  EXPECT_EQ(allocations, before);
  EXPECT_EQ(sum, 1010);
#endif
}

TEST(ThreadPool, WorkersFlushDenormals) {
  ThreadPool pool(2, false);
  std::vector<double> results(2, -1);
  volatile double denormal = 1e-310;
  on_every_worker(pool,
                  [&](int worker) { results[static_cast<std::size_t>(worker)] = denormal * 0.5; });
  EXPECT_EQ(results[1], 0);
  EXPECT_GT(results[0], 0) << "the caller decides for itself";
  double flushed = -1;
  std::thread other([&] {
    flush_denormals();
    flushed = denormal * 0.5;
  });
  other.join();
  EXPECT_EQ(flushed, 0);
}

TEST(ThreadPool, SignalsAreLeftToTheCaller) {
  sigset_t before;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  ThreadPool pool(2, false);
  bool blocked[2] = {false, false};
  on_every_worker(pool, [&](int worker) {
    sigset_t now;
    pthread_sigmask(SIG_SETMASK, nullptr, &now);
    blocked[worker] = sigismember(&now, SIGINT) == 1;
  });
  EXPECT_EQ(blocked[0], sigismember(&before, SIGINT) == 1);
  EXPECT_TRUE(blocked[1]);
}

TEST(ThreadPool, PinnedWorkersSitOnDifferentCpusOfTheSet) {
  const CpuTopology topology = cpu_topology();
  const int threads = static_cast<int>(std::min<std::size_t>(topology.cpuset.size(), 8));
  if (threads < 2) GTEST_SKIP() << "this process may use one CPU only";
  ThreadPool pool(threads, true);
  std::vector<std::vector<int>> cpus(static_cast<std::size_t>(threads));
  on_every_worker(pool, [&](int worker) {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0) return;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) cpus[static_cast<std::size_t>(worker)].push_back(cpu);
    }
  });
  EXPECT_EQ(cpus[0].size(), topology.cpuset.size()) << "the caller is bound to nothing";
  std::set<int> taken;
  for (std::size_t worker = 1; worker < cpus.size(); ++worker) {
    ASSERT_EQ(cpus[worker].size(), 1u) << "worker " << worker;
    EXPECT_TRUE(taken.insert(cpus[worker][0]).second);
    EXPECT_TRUE(std::count(topology.cpuset.begin(), topology.cpuset.end(), cpus[worker][0]));
  }
}

TEST(ThreadPool, EndsWhetherOrNotItWasUsed) {
  for (int round = 0; round < 50; ++round) {
    ThreadPool pool(5, round % 2 == 0);
    if (round % 3 == 0) parts_of(pool, round, 1);
  }
}

TEST(ThreadPoolDeathTest, APoolWithoutThreadsIsABrokenPromise) {
  EXPECT_DEATH(ThreadPool(0, false), "at least the caller's thread");
}

}  // namespace
}  // namespace verbatim
