// Keys and values in their pages: every table writes the bytes that the codec defines, for any
// rows and slots, and nothing beside them.
#include <bit>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

#include "base/thread_pool.h"
#include "cpu/kernels/kernel_test.h"
#include "kv/codecs.h"
#include "tensor/half.h"

namespace verbatim {
namespace {

struct CodecOps {
  std::int64_t (*key_bytes)(std::int32_t head_dim);
  std::int64_t (*value_bytes)(std::int32_t head_dim);
  void (*store_key)(const float*, std::byte*, std::int32_t slot, std::int32_t head_dim);
  void (*store_value)(const float*, std::byte*, std::int32_t slot, std::int32_t head_dim);
};
template <typename... C>
std::vector<CodecOps> list_codecs(CodecList<C...>) {
  return {{C::key_bytes, C::value_bytes, C::store_key, C::store_value}...};
}

struct Rows {
  std::int32_t head_dim = 0;
  std::int32_t rows = 0;
  std::int32_t slot = 0;
  std::vector<float> k, v;  // [rows, stride]
  std::int64_t stride() const { return head_dim + 3; }
};

// What was in the page before stays where nothing is stored.
std::vector<std::byte> filled_page(const CodecOps& ops, std::int32_t head_dim) {
  return std::vector<std::byte>(
      static_cast<std::size_t>(ops.key_bytes(head_dim) + ops.value_bytes(head_dim)),
      std::byte{0x5a});
}

std::vector<std::byte> defined(const CodecOps& ops, const Rows& rows) {
  std::vector<std::byte> page = filled_page(ops, rows.head_dim);
  for (std::int32_t r = 0; r < rows.rows; ++r) {
    ops.store_key(rows.k.data() + r * rows.stride(), page.data(), rows.slot + r, rows.head_dim);
    ops.store_value(rows.v.data() + r * rows.stride(), page.data() + ops.key_bytes(rows.head_dim),
                    rows.slot + r, rows.head_dim);
  }
  return page;
}

void expect_defined_bytes(const Rows& rows) {
  const std::vector<CodecOps> codecs = list_codecs(KvCodecs{});
  for (const KernelTable* table : tables_here()) {
    for (std::size_t codec = 0; codec < codecs.size(); ++codec) {
      std::vector<std::byte> page = filled_page(codecs[codec], rows.head_dim);
      KvStoreCall call;
      call.k = rows.k.data();
      call.v = rows.v.data();
      call.k_stride = call.v_stride = rows.stride();
      call.rows = rows.rows;
      call.head_dim = rows.head_dim;
      call.slot = rows.slot;
      call.page = page.data();
      table->attention[codec].store(call);
      ASSERT_TRUE(page == defined(codecs[codec], rows))
          << table->isa << " " << table->attention[codec].codec << " head_dim " << rows.head_dim
          << ", " << rows.rows << " rows from slot " << rows.slot;
    }
  }
}

TEST(KvStore, EveryTableWritesTheBytesThatTheCodecDefines) {
  TestValues values(5);
  for (const std::int32_t head_dim : {1, 16, 24, 64, 80, 128}) {
    for (const auto& [rows, slot] : {std::pair(1, 0), std::pair(1, 63), std::pair(3, 17),
                                     std::pair(29, 35), std::pair(64, 0)}) {
      Rows some{head_dim, rows, slot, {}, {}};
      some.k = values.uniforms(rows * some.stride(), 3.0F);
      some.v = values.uniforms(rows * some.stride(), 0.01F);
      expect_defined_bytes(some);
    }
  }
}

// Ties, overflows, halves that are denormal, infinities and NaNs: those of every exponent and many
// mantissas, in a thread that flushes denormals as a pool's do.
TEST(KvStore, EveryKindOfNumberIsRoundedAsTheCodecSays) {
  std::thread([] {
    flush_denormals();
    constexpr std::uint32_t kMantissas[]{0,        1,        0xfff,    0x1000, 0x1001,  0x1fff,
                                         0x2000,   0x2fff,   0x3000,   0x3001, 0x40000, 0x7fefff,
                                         0x7ff000, 0x7ff001, 0x7fffff, 0x5555, 0x2aaaaa};
    Rows some{64, 64, 0, {}, {}};
    some.k.resize(static_cast<std::size_t>(some.rows * some.stride()));
    some.v.resize(some.k.size());
    std::size_t at = 0;
    for (std::uint32_t sign = 0; sign < 2; ++sign) {
      for (std::uint32_t exponent = 0; exponent < 256; ++exponent) {
        for (const std::uint32_t mantissa : kMantissas) {
          const float value = std::bit_cast<float>(sign << 31 | exponent << 23 | mantissa);
          some.k[at] = value;
          some.v[at] = value;
          at = (at + 1) % some.k.size();
          if (at == 0) expect_defined_bytes(some);
        }
      }
    }
    expect_defined_bytes(some);
  }).join();
}

}  // namespace
}  // namespace verbatim
