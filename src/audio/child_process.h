// A helper program in a cage: one input descriptor, two pipes, and nothing else of ours.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/descriptor.h"

namespace verbatim {

struct ChildLimits {
  double cpu_s = 3600;
};

// The program runs in its own process group and an empty folder, with no environment, no descriptor
// but 0 (nothing), 1, 2 (pipes) and 3 (the input), no new privileges, 2 GiB of memory, no file it
// could write, no core, 16 descriptors, and without a network where the kernel lets us. Destroying
// the object kills the group and leaves no zombie.
class ChildProcess {
 public:
  // arguments[0] is the path of the program. Throws kNotFound or kIo naming it.
  ChildProcess(const std::vector<std::string>& arguments, int input_file,
               const ChildLimits& limits);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  int output() const { return output_.get(); }  // the reading end of its 1
  int errors() const { return errors_.get(); }  // the reading end of its 2
  // Whether it has ended within `wait_s`; then status() is what waitpid said.
  bool has_ended(double wait_s);
  int status() const { return status_; }
  void kill();

 private:
  pid_t pid_ = -1;
  Descriptor output_;
  Descriptor errors_;
  int status_ = 0;
  bool is_reaped_ = false;
};

}  // namespace verbatim
