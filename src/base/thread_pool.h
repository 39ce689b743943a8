// A device's workers: started once, spinning briefly and then parked. parallel_for cuts the range
// statically and allocates nothing.
#pragma once

#include <cstdint>
#include <memory>

namespace verbatim {

// A reference to a callable (first, last, worker); it must outlive the call.
class RangeBody {
 public:
  template <typename Body>
  RangeBody(const Body& body)  // NOLINT(google-explicit-constructor): made at the call
      : context_(&body),
        call_([](const void* context, std::int64_t first, std::int64_t last, int worker) {
          (*static_cast<const Body*>(context))(first, last, worker);
        }) {}
  void operator()(std::int64_t first, std::int64_t last, int worker) const {
    call_(context_, first, last, worker);
  }

 private:
  const void* context_;
  void (*call_)(const void*, std::int64_t, std::int64_t, int);
};

class ThreadPool {
 public:
  // threads: the caller's included; at least 1. pin: bind workers to cores of the cpuset. Every
  // worker flushes denormals; the caller does by flush_denormals().
  ThreadPool(int threads, bool pin);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const;
  // Calls body(first, last, worker) for at most threads() parts of [0, count), each a multiple of
  // `grain` long but the last; returns when all are done. The cut depends on count, grain and
  // threads alone; who runs a part does not: the caller, worker 0, takes over what no worker has
  // begun, and no two parts run at once as the same worker. From one thread at a time; a call from
  // inside a body runs alone, as worker `worker`. body must not throw.
  void parallel_for(std::int64_t count, std::int64_t grain, RangeBody body);

 private:
  struct Shared;
  std::unique_ptr<Shared> shared_;
};

// Denormals are zero in this thread from now on (FTZ and DAZ, or FPCR.FZ).
void flush_denormals();

}  // namespace verbatim
