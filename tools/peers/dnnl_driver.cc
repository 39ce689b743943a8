// Times oneDNN's matmul with weights in the layout it asks for. f32; bf16 with sums in float; u8s8
// and s8s8 with sums in int32. The rounding of activations and the scaling of sums are left out.
#include <omp.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <random>
#include <stdexcept>
#include <vector>

#include "protocol.h"

namespace {

using dnnl::memory;
using peers::Request;
using DataType = memory::data_type;

constexpr std::size_t kWeightBytes = std::size_t{640} << 20;

struct Format {
  const char* name;
  DataType x;
  DataType weights;
  DataType y;
};

constexpr Format kFormats[]{
    {"f32", DataType::f32, DataType::f32, DataType::f32},
    {"bf16", DataType::bf16, DataType::bf16, DataType::f32},
    {"u8s8", DataType::u8, DataType::s8, DataType::s32},
    {"s8s8", DataType::s8, DataType::s8, DataType::s32},
};

const Format& format_named(const std::string& name) {
  for (const Format& format : kFormats) {
    if (name == format.name) return format;
  }
  throw std::runtime_error("no format is named " + name);
}

// Whole numbers of at most 7 bits, which every type holds exactly.
std::vector<float> whole_numbers(std::size_t count, int least, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> draw(least, 100);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(draw(random));
  return values;
}

class MatMul final : public peers::Product {
 public:
  MatMul(const dnnl::engine& engine, const Request& request)
      : format_(format_named(request.format)),
        stream_(engine),
        primitive_(described(engine, request)),
        matmul_(primitive_),
        x_values_(whole_numbers(std::size_t{1} * request.rows * request.in,
                                format_.x == DataType::u8 ? 0 : -100, 1)),
        weight_values_(whole_numbers(std::size_t{1} * request.out * request.in, -100, 2)),
        x_(filled(engine, x_values_, {request.rows, request.in}, memory::format_tag::ab,
                  primitive_.src_desc())),
        y_(primitive_.dst_desc(), engine),
        in_(request.in) {
    const memory::desc weights = primitive_.weights_desc();
    const std::size_t copies = std::max<std::size_t>(2, kWeightBytes / weights.get_size() + 1);
    weights_.push_back(
        filled(engine, weight_values_, {request.in, request.out}, memory::format_tag::ba, weights));
    for (std::size_t i = 1; i < copies; ++i) {
      weights_.emplace_back(weights, engine);
      std::memcpy(weights_.back().get_data_handle(), weights_.front().get_data_handle(),
                  weights.get_size());
    }
  }

  std::size_t bytes() const override { return primitive_.weights_desc().get_size(); }
  void prepare(int count) override {
    count_ = count;
    run();
    check();
  }
  void run() override {
    for (int i = 0; i < count_; ++i) {
      matmul_.execute(stream_, {{DNNL_ARG_SRC, x_},
                                {DNNL_ARG_WEIGHTS, weights_[next_++ % weights_.size()]},
                                {DNNL_ARG_DST, y_}});
    }
    stream_.wait();
  }

 private:
  dnnl::matmul::primitive_desc described(const dnnl::engine& engine, const Request& request) const {
    const memory::desc x({request.rows, request.in}, format_.x, memory::format_tag::ab);
    const memory::desc weights({request.in, request.out}, format_.weights, memory::format_tag::any);
    const memory::desc y({request.rows, request.out}, format_.y, memory::format_tag::ab);
    return {dnnl::matmul::desc(x, weights, y), engine};
  }

  memory filled(const dnnl::engine& engine, std::vector<float>& values, const memory::dims& dims,
                memory::format_tag tag, const memory::desc& as) {
    memory from({dims, DataType::f32, tag}, engine, values.data());
    memory to(as, engine);
    dnnl::reorder(from, to).execute(stream_, from, to);
    stream_.wait();
    return to;
  }

  // The first outputs must be those of the values that went in.
  void check() const {
    for (int o = 0; o < 16; ++o) {
      double sum = 0;
      double size = 0;
      for (int i = 0; i < in_; ++i) {
        const double term = double{x_values_[i]} * weight_values_[std::size_t{1} * o * in_ + i];
        sum += term;
        size += std::fabs(term);
      }
      const void* y = y_.get_data_handle();
      const double found = format_.y == DataType::f32 ? static_cast<const float*>(y)[o]
                                                      : static_cast<const std::int32_t*>(y)[o];
      if (!(std::fabs(found - sum) <= 1e-5 * size)) {
        throw std::runtime_error(std::string(format_.name) + " multiplies wrongly: " +
                                 std::to_string(found) + " for " + std::to_string(sum));
      }
    }
  }

  const Format& format_;
  dnnl::stream stream_;
  dnnl::matmul::primitive_desc primitive_;
  dnnl::matmul matmul_;
  std::vector<float> x_values_;
  std::vector<float> weight_values_;
  memory x_;
  memory y_;
  int in_;
  std::vector<memory> weights_;
  std::size_t next_ = 0;
  int count_ = 1;
};

}  // namespace

int main() {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  std::unique_ptr<MatMul> product;
  return peers::serve([&](const Request& request) -> peers::Product& {
    product.reset();
    omp_set_num_threads(request.threads);
    product = std::make_unique<MatMul>(engine, request);
    return *product;
  });
}
