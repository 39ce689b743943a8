// A helper program in a cage. Between clone and exec the child shares our memory while we stand
// still, as with vfork: no page tables of a loaded model are copied. It makes system calls only.
#include "audio/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <utility>

#include "base/error.h"

namespace verbatim {
namespace {

constexpr int kInputFile = 3;
constexpr int kStatusFile = 4;  // ours, closed by exec; carries errno when that fails
constexpr int kFirstSpare =
    16;  // descriptors are moved up here before they are put in their places
constexpr std::size_t kStackBytes = std::size_t{64} << 10;
// An empty folder in which nothing can be made, on every Linux; needs no cleaning up.
constexpr const char* kEmptyFolder = "/proc/tty/ldisc";
constexpr rlim_t kMemoryBytes = rlim_t{2} << 30;
constexpr rlim_t kFiles = 16;

struct Launch {
  const char* program;
  char* const* arguments;
  int files[5];  // what becomes 0 to 4
  unsigned open_files_limit;
  rlim_t cpu_s;
};

long set_limit(int resource, rlim_t value) {
  const rlimit limit{value, value};
  return syscall(SYS_prlimit64, 0, resource, &limit, nullptr);
}

[[noreturn]] void give_up(int error) {
  syscall(SYS_write, kStatusFile, &error, sizeof error);
  syscall(SYS_exit_group, 127);
  __builtin_unreachable();
}

// Runs in the child, on a stack of its own, in our memory: raw system calls, which neither a
// sanitizer nor the C library keeps books about.
__attribute__((no_sanitize("address", "thread", "undefined"))) int run_child(void* context) {
  const Launch& launch = *static_cast<const Launch*>(context);
  syscall(SYS_setpgid, 0, 0);
  // exec resets handlers but keeps what is ignored.
  const std::array<unsigned long, 4> default_action{};
  for (int signal = 1; signal <= 64; ++signal)
    syscall(SYS_rt_sigaction, signal, default_action.data(), nullptr, std::size_t{8});
  for (int place = 0; place <= kStatusFile; ++place)
    if (syscall(SYS_dup3, launch.files[place], place, place == kStatusFile ? O_CLOEXEC : 0) < 0)
      give_up(errno);
  if (syscall(SYS_close_range, kStatusFile + 1, ~0U, 0) != 0)
    for (unsigned file = kStatusFile + 1; file < launch.open_files_limit; ++file)
      syscall(SYS_close, file);
  if (syscall(SYS_chdir, kEmptyFolder) != 0 && syscall(SYS_chdir, "/") != 0) give_up(errno);
  if (set_limit(RLIMIT_AS, kMemoryBytes) != 0 || set_limit(RLIMIT_CPU, launch.cpu_s) != 0 ||
      set_limit(RLIMIT_FSIZE, 0) != 0 || set_limit(RLIMIT_NOFILE, kFiles) != 0 ||
      set_limit(RLIMIT_CORE, 0) != 0 || syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    give_up(errno);
  const std::array<unsigned long, 1> no_signals{};
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, no_signals.data(), nullptr, std::size_t{8});
  char* const no_environment[] = {nullptr};
  syscall(SYS_execve, launch.program, launch.arguments, no_environment);
  give_up(errno);
}

// With a network namespace where that is permitted: by our own right, or, for those who are not
// root, by that of a user namespace. (Root in one would lose the right to read others' files.)
// Signals wait while the child shares our memory, so that no handler of ours runs in it.
pid_t start(Launch& launch) {
  constexpr int kLikeVfork = CLONE_VM | CLONE_VFORK | SIGCHLD;
  const int extra[] = {CLONE_NEWNET, geteuid() == 0 ? 0 : CLONE_NEWUSER | CLONE_NEWNET, 0};
  std::vector<std::max_align_t> stack(kStackBytes / sizeof(std::max_align_t));
  sigset_t every;
  sigset_t before;
  sigfillset(&every);
  pthread_sigmask(SIG_SETMASK, &every, &before);
  pid_t pid = -1;
  for (const int flags : extra) {
    pid = clone(run_child, stack.data() + stack.size(), kLikeVfork | flags, &launch);
    if (pid >= 0) break;
  }
  const int error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return pid;
}

[[noreturn]] void fail_to_start(const char* program, int error) {
  fail(error == ENOENT ? Code::kNotFound : Code::kIo, "%s: cannot be started: %s", program,
       system_message(error).c_str());
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& arguments, int input_file,
                           const ChildLimits& limits) {
  const char* program = arguments.front().c_str();
  std::vector<std::string> copies = arguments;
  std::vector<char*> pointers;
  pointers.reserve(copies.size() + 1);
  for (std::string& argument : copies) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  int pipes[3][2];  // its 1, its 2, and how exec went
  std::array<Descriptor, 3> reading;
  std::array<Descriptor, 5> becomes;
  becomes[0].reset(open("/dev/null", O_RDWR | O_CLOEXEC));
  for (std::size_t i = 0; i < std::size(pipes); ++i) {
    if (pipe2(pipes[i], O_CLOEXEC) != 0) fail_to_start(program, errno);
    reading[i].reset(pipes[i][0]);
    becomes[i < 2 ? i + 1 : kStatusFile].reset(pipes[i][1]);
  }
  becomes[kInputFile].reset(fcntl(input_file, F_DUPFD_CLOEXEC, kFirstSpare));
  Launch launch{program, pointers.data(), {}, 0, static_cast<rlim_t>(limits.cpu_s)};
  for (std::size_t i = 0; i < becomes.size(); ++i) {
    if (becomes[i].get() < kFirstSpare)
      becomes[i].reset(fcntl(becomes[i].get(), F_DUPFD_CLOEXEC, kFirstSpare));
    if (becomes[i].get() < 0) fail_to_start(program, errno);
    launch.files[i] = becomes[i].get();
  }
  rlimit open_files{};
  getrlimit(RLIMIT_NOFILE, &open_files);
  launch.open_files_limit = static_cast<unsigned>(std::min<rlim_t>(open_files.rlim_cur, 65536));
  pid_ = start(launch);
  if (pid_ < 0) fail_to_start(program, errno);
  for (Descriptor& file : becomes) file.reset();
  int error = 0;
  ssize_t got = 0;
  do {
    got = read(reading[2].get(), &error, sizeof error);
  } while (got < 0 && errno == EINTR);
  if (got > 0) {
    waitpid(pid_, &status_, 0);
    fail_to_start(program, error);
  }
  output_ = std::move(reading[0]);
  errors_ = std::move(reading[1]);
}

ChildProcess::~ChildProcess() {
  kill();
  while (!is_reaped_ && waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
  }
}

void ChildProcess::kill() {
  if (!is_reaped_) ::kill(-pid_, SIGKILL);
}

bool ChildProcess::has_ended(double wait_s) {
  constexpr int kStepMs = 5;
  for (double waited_s = 0; !is_reaped_; waited_s += kStepMs * 1e-3) {
    const pid_t pid = waitpid(pid_, &status_, WNOHANG);
    is_reaped_ = pid == pid_;
    if (is_reaped_ || waited_s >= wait_s) break;
    poll(nullptr, 0, kStepMs);
  }
  return is_reaped_;
}

}  // namespace verbatim
