// Times ggml_mul_mat of ggml and of ik_llama.cpp: the same graphs over rotating copies of the
// weights. Formats are the library's type names; "+repack" lays them out as ggml's CPU backend
// does when it loads a model, ik_llama.cpp's packed types have names of their own.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "ggml-backend.h"
#include "ggml.h"
#include "protocol.h"
#ifdef PEER_IK
#include "iqk/iqk_quantize.h"
#else
#include "ggml-cpu.h"
#endif

#ifdef PEER_IK
// Its attention is not built, but what chooses it is; no graph here has any.
extern "C" {
void iqk_flash_attn_noalibi() {
  std::abort();
}
std::size_t iqk_fa_work_buffer_size() {
  std::abort();
}
}
#endif

namespace {

using peers::Request;

constexpr int kMadeRows = 64;  // rows that are quantised; the others repeat them
constexpr std::size_t kWeightBytes = std::size_t{640} << 20;
constexpr int kMostRows = 512;
constexpr int kSpareNodes = 8;  // of a graph, for its leaves

struct FreeContext {
  void operator()(ggml_context* context) const { ggml_free(context); }
};
struct FreeBuffer {
  void operator()(ggml_backend_buffer* buffer) const { ggml_backend_buffer_free(buffer); }
};
using Context = std::unique_ptr<ggml_context, FreeContext>;
using BackendBuffer = std::unique_ptr<ggml_backend_buffer, FreeBuffer>;

Context new_context(std::size_t tensors, std::size_t graphs, std::size_t nodes) {
  const std::size_t bytes =
      tensors * ggml_tensor_overhead() + graphs * ggml_graph_overhead_custom(nodes, false);
  return Context(ggml_init({bytes + 4096, nullptr, true}));
}

ggml_type type_named(const std::string& name) {
  for (int i = 0; i < GGML_TYPE_COUNT; ++i) {
    const auto type = static_cast<ggml_type>(i);
    const char* known = ggml_type_name(type);
    if (known != nullptr && name == known && ggml_type_size(type) > 0) return type;
  }
  throw std::runtime_error("no type is named " + name);
}

ggml_backend_buffer_type_t repacking_buffers() {
#ifndef PEER_IK
  ggml_backend_dev_t device = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
  const auto list =
      reinterpret_cast<ggml_backend_dev_get_extra_bufts_t>(ggml_backend_reg_get_proc_address(
          ggml_backend_dev_backend_reg(device), "ggml_backend_dev_get_extra_bufts"));
  for (ggml_backend_buffer_type_t* one = list == nullptr ? nullptr : list(device);
       one != nullptr && *one != nullptr; ++one) {
    if (std::string(ggml_backend_buft_name(*one)) == "CPU_REPACK") return *one;
  }
#endif
  throw std::runtime_error("this library has no repacking buffers");
}

void quantize_rows(ggml_type type, const float* from, void* to, int rows, int in) {
#ifdef PEER_IK
  if (type == GGML_TYPE_BF16_R16) {  // only ever repacked
    repack_f32_bf16_r16(from, to, rows, in);
    return;
  }
  ggml_quantize_chunk(type, from, to, 0, rows, in, nullptr, nullptr);
#else
  ggml_quantize_chunk(type, from, to, 0, rows, in, nullptr);
#endif
}

std::vector<float> uniform(std::size_t count, float most, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> draw(-most, most);
  std::vector<float> values(count);
  for (float& value : values) value = draw(random);
  return values;
}

// The weights of one format and shape, in as many copies as fill kWeightBytes.
class Weights {
 public:
  Weights(const std::string& format, int in, int out)
      : format_(format), in_(in), out_(out), made_(uniform(std::size_t{kMadeRows} * in, 0.05F, 1)) {
    constexpr const char kSuffix[] = "+repack";
    const bool repacks = format.ends_with(kSuffix);
    const ggml_type type =
        type_named(repacks ? format.substr(0, format.size() - std::strlen(kSuffix)) : format);
    if (out % kMadeRows != 0 || in % ggml_blck_size(type) != 0) {
      throw std::runtime_error("the shape has no whole blocks of " + format);
    }
    bytes_ = ggml_row_size(type, in) * out;
    const std::size_t stride = (bytes_ + 4095) / 4096 * 4096;
    const std::size_t copies = std::max<std::size_t>(2, kWeightBytes / stride + 1);
    context_ = new_context(copies, 0, 0);
    buffer_.reset(ggml_backend_buft_alloc_buffer(
        repacks ? repacking_buffers() : ggml_backend_cpu_buffer_type(), copies * stride));
    if (buffer_ == nullptr) throw std::runtime_error("no memory for the weights");
    auto* base = static_cast<char*>(ggml_backend_buffer_get_base(buffer_.get()));
    for (std::size_t i = 0; i < copies; ++i) {
      tensors_.push_back(ggml_new_tensor_2d(context_.get(), type, in, out));
      ggml_backend_tensor_alloc(buffer_.get(), tensors_.back(), base + i * stride);
    }
    if (repacks && tensors_.front()->extra == nullptr) {
      throw std::runtime_error("the library repacks no " + format);
    }
    fill(type);
  }

  bool is(const Request& request) const {
    return request.format == format_ && request.in == in_ && request.out == out_;
  }
  std::size_t bytes() const { return bytes_; }
  int in() const { return in_; }
  int out() const { return out_; }
  std::size_t copies() const { return tensors_.size(); }
  ggml_tensor* copy(std::size_t i) const { return tensors_[i % tensors_.size()]; }

  // Throws when the first outputs are not those of the weights before they were quantised.
  void check(const float* x, const float* y) const {
    double error = 0;
    double power = 0;
    for (int o = 0; o < kMadeRows; ++o) {
      double sum = 0;
      for (int i = 0; i < in_; ++i) sum += double{made_[std::size_t{1} * o * in_ + i]} * x[i];
      error += (sum - y[o]) * (sum - y[o]);
      power += sum * sum;
    }
    if (!(error < 0.04 * power)) {
      throw std::runtime_error(format_ + " multiplies wrongly: error " +
                               std::to_string(std::sqrt(error / power)));
    }
  }

 private:
  void fill(ggml_type type) {
    std::vector<char> rows(bytes_);
    const std::size_t part = ggml_row_size(type, in_) * kMadeRows;
    quantize_rows(type, made_.data(), rows.data(), kMadeRows, in_);
    for (std::size_t at = part; at < bytes_; at += part) {
      std::memcpy(rows.data() + at, rows.data(), part);
    }
    ggml_backend_tensor_set(tensors_.front(), rows.data(), 0, bytes_);
    for (std::size_t i = 1; i < tensors_.size(); ++i) {
      std::memcpy(tensors_[i]->data, tensors_.front()->data, bytes_);
    }
  }

  std::string format_;
  int in_;
  int out_;
  std::vector<float> made_;
  std::size_t bytes_ = 0;
  Context context_;
  BackendBuffer buffer_;
  std::vector<ggml_tensor*> tensors_;
};

struct Graph {
  ggml_cgraph* graph = nullptr;
  ggml_cplan plan{};
};

class MulMat final : public peers::Product {
 public:
  MulMat(const Weights& weights, int rows, int threads)
      : weights_(weights),
        rows_(rows),
        threads_(threads),
        x_(uniform(std::size_t{2} * kMostRows * weights.in(), 1, 2)),
        y_(std::size_t{1} * rows * weights.out()) {}

  std::size_t bytes() const override { return weights_.bytes(); }

  void prepare(int count) override {
    graphs_.clear();
    next_ = 0;
    const std::size_t graphs = std::max<std::size_t>(1, weights_.copies() / count);
    const auto products = static_cast<std::size_t>(count);
    context_ = new_context(graphs * (products + 2), graphs, products + kSpareNodes);
    std::size_t work_bytes = 0;
    for (std::size_t i = 0; i < graphs; ++i) {
      graphs_.push_back(graph_of(i * count, count));
      work_bytes = std::max(work_bytes, graphs_.back().plan.work_size);
    }
    work_.resize(work_bytes);
    for (Graph& one : graphs_) one.plan.work_data = work_.data();
    run();
    weights_.check(x_.data(), y_.data());
  }

  void run() override {
    Graph& one = graphs_[next_++ % graphs_.size()];
    if (ggml_graph_compute(one.graph, &one.plan) != GGML_STATUS_SUCCESS) {
      throw std::runtime_error("the graph was not computed");
    }
  }

 private:
  // Neighbours multiply different activations: nothing that was made of them is used twice.
  Graph graph_of(std::size_t first, int count) {
    Graph made;
    made.graph = ggml_new_graph_custom(context_.get(), count + kSpareNodes, false);
    ggml_tensor* x[2];
    for (int i = 0; i < 2; ++i) {
      x[i] = ggml_new_tensor_2d(context_.get(), GGML_TYPE_F32, weights_.in(), rows_);
      x[i]->data = x_.data() + std::size_t{1} * i * kMostRows * weights_.in();
    }
    for (int i = 0; i < count; ++i) {
      // The last one multiplies the activations that check() knows.
      ggml_tensor* y =
          ggml_mul_mat(context_.get(), weights_.copy(first + i), x[(count - 1 - i) % 2]);
      y->data = y_.data();
      ggml_build_forward_expand(made.graph, y);
    }
#ifdef PEER_IK
    made.plan = ggml_graph_plan(made.graph, threads_);
#else
    made.plan = ggml_graph_plan(made.graph, threads_, nullptr);
#endif
    return made;
  }

  const Weights& weights_;
  int rows_;
  int threads_;
  std::vector<float> x_;
  std::vector<float> y_;
  std::vector<std::uint8_t> work_;
  Context context_;
  std::vector<Graph> graphs_;
  std::size_t next_ = 0;
};

}  // namespace

int main() {
  ggml_backend_t backend = ggml_backend_cpu_init();  // makes the library's tables
  std::unique_ptr<Weights> weights;
  std::unique_ptr<MulMat> product;
  const int code = peers::serve([&](const Request& request) -> peers::Product& {
    product.reset();
    if (request.rows > kMostRows) throw std::runtime_error("too many rows");
    if (weights == nullptr || !weights->is(request)) {
      weights.reset();
      weights = std::make_unique<Weights>(request.format, request.in, request.out);
    }
    product = std::make_unique<MulMat>(*weights, request.rows, request.threads);
    return *product;
  });
  ggml_backend_free(backend);
  return code;
}
