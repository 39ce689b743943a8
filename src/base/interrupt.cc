// The interrupt flag: the other piece of process-wide state besides the log sink.
#include "base/interrupt.h"

#include <signal.h>

#include <atomic>

namespace verbatim {
namespace {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): the flag.
std::atomic<bool> interrupted_{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may set the flag");

void on_signal(int number) {
  if (!interrupted_.exchange(true)) return;
  // The user insists: end as the signal does by itself, once this handler has returned.
  signal(number, SIG_DFL);
  raise(number);
}

}  // namespace

void install_interrupt_handler() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  // No SA_RESTART: a blocking read must return so that its loop sees the flag.
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool is_interrupted() {
  return interrupted_.load(std::memory_order_relaxed);
}

void set_interrupted(bool value) {
  interrupted_.store(value);
}

}  // namespace verbatim
