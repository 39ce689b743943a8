// How compare.py talks with a driver: a line asks for one projection, a line answers. Both drivers
// time in the same way, which is that of verbatim-bench kernels.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <string>
#include <vector>

namespace peers {

struct Request {
  std::string format;
  int in = 0;
  int out = 0;
  int rows = 0;
  int threads = 0;
  double seconds = 0;  // to spend on it
};

// A projection whose weights lie in copies that no cache holds together.
class Product {
 public:
  virtual ~Product() = default;
  virtual std::size_t bytes() const = 0;  // of the weights of one product
  // Readies `count` products a call, so that run() does nothing else, and runs them once.
  virtual void prepare(int count) = 0;
  virtual void run() = 0;  // with the next copies
};

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

inline double timed(Product& product, int count) {
  const double start = now();
  product.run();
  return (now() - start) / count;
}

// Few rows are bound by reads: each sample takes 64 MB of weights. Others take 4 ms, so that a
// start costs nothing. Printed: best and median seconds of one product, and its bytes of weights.
inline void measure(Product& product, const Request& request) {
  constexpr std::size_t kLongRead = std::size_t{64} << 20;
  product.prepare(1);
  const double once = timed(product, 1);
  const int count = request.rows <= 8
                        ? static_cast<int>((kLongRead + product.bytes() - 1) / product.bytes())
                        : static_cast<int>(std::clamp(0.004 / once, 1.0, 100.0));
  if (count > 1) product.prepare(count);
  std::vector<double> samples;
  const double start = now();
  while (samples.size() < 2 || now() - start < request.seconds) {
    samples.push_back(timed(product, count));
  }
  std::sort(samples.begin(), samples.end());
  std::printf("%.9f %.9f %zu\n", samples.front(), samples[samples.size() / 2], product.bytes());
}

// Answers every line "FORMAT IN OUT ROWS THREADS SECONDS" until there are none; what is thrown is
// answered as "error MESSAGE".
inline int serve(const std::function<Product&(const Request&)>& find) {
  char line[256];
  while (std::fgets(line, sizeof line, stdin) != nullptr) {
    char format[64];
    Request request;
    if (std::sscanf(line, "%63s %d %d %d %d %lf", format, &request.in, &request.out, &request.rows,
                    &request.threads, &request.seconds) != 6) {
      std::printf("error expected FORMAT IN OUT ROWS THREADS SECONDS, found %s", line);
    } else {
      request.format = format;
      try {
        measure(find(request), request);
      } catch (const std::exception& error) {
        std::printf("error %s\n", error.what());
      }
    }
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace peers
