// The only user of zlib.
#include "transcript/deflate.h"

#include <zlib.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/error.h"

namespace verbatim {

namespace {

constexpr int kLevel = 6;
constexpr int kRawWindowBits = -15;  // negative: no zlib header and checksum around the stream
constexpr int kMemoryLevel = 8;      // zlib's default

}  // namespace

double compression_ratio(std::string_view text) {
  if (text.empty()) return 1;
  check(text.size() <= std::numeric_limits<uInt>::max() / 2,
        "a segment's text fits zlib's counter");
  z_stream stream{};
  check(deflateInit2(&stream, kLevel, Z_DEFLATED, kRawWindowBits, kMemoryLevel,
                     Z_DEFAULT_STRATEGY) == Z_OK,
        "zlib starts");
  std::string input(text);  // zlib takes a pointer that is not const
  std::vector<Bytef> output(deflateBound(&stream, static_cast<uLong>(input.size())));
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = output.data();
  stream.avail_out = static_cast<uInt>(output.size());
  const int status = deflate(&stream, Z_FINISH);
  const uLong compressed = stream.total_out;
  deflateEnd(&stream);
  check(status == Z_STREAM_END, "the bound of the compressed size holds");
  const double ratio = static_cast<double>(text.size()) / static_cast<double>(compressed);
  return std::round(ratio * 100) / 100;
}

}  // namespace verbatim
