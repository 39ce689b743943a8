// The table of one instruction set: every kernel over its lanes. Only templates over the lanes are
// instantiated here, so that no code compiled for a set can stand in for a function of another
// object.
#pragma once

#include "cpu/kernel_table.h"
#include "cpu/kernels/attention.h"
#include "cpu/kernels/depthwise.h"
#include "cpu/kernels/elementwise.h"
#include "cpu/kernels/linear.h"
#include "cpu/kernels/linear_bf16.h"
#include "cpu/kernels/linear_coded.h"
#include "cpu/kernels/linear_f16.h"
#include "cpu/kernels/linear_f32.h"
#include "cpu/kernels/linear_int4.h"
#include "cpu/kernels/linear_int8.h"
#include "cpu/kernels/linear_int8_asymmetric.h"
#include "cpu/kernels/linear_int8_run.h"
#include "cpu/kernels/linear_pack.h"
#include "cpu/kernels/linear_pack_coded.h"
#include "cpu/kernels/norm.h"
#include "cpu/kernels/quantize_rows.h"
#include "cpu/kernels/quantize_rows_asymmetric.h"
#include "kv/codecs.h"

namespace verbatim {

// One line per weight format. D: how the set multiplies bytes.
template <typename V, typename D>
struct LinearKernels {
  using Halves = typename D::Halves;
  static constexpr LinearKernel kAll[]{
      {&kFormatF32, &f32_packed_bytes, &pack_f32, &run_linear<V, F32Panels<V>>},
      {&kFormatF16, &half_packed_bytes, &pack_f16, &run_linear<V, F16Panels<V>>},
      {&kFormatBF16, &half_packed_bytes, &pack_bf16, &run_linear<V, Bf16Panels<V>>},
      {&kFormatW8A8, &w8a8_packed_bytes, &pack_w8a8, &run_int8<V, D, W8Codes<D>>},
      {&kFormatW4A8, &w4a8_packed_bytes, &pack_w4a8, &run_int8<V, Halves, W4Codes<Halves>>},
      {&kFormat8da8w, &asymmetric_8w_packed_bytes, &pack_asymmetric_8w,
       &run_int8_asymmetric<V, D, W8Codes<D>>},
      {&kFormat8da4w, &asymmetric_4w_packed_bytes, &pack_asymmetric_4w,
       &run_int8_asymmetric<V, Halves, W4Codes<Halves>>},
      {&kFormatNf4, &nibble_packed_bytes, &pack_nf4, &run_coded<V, Nf4Codes<V>>, &can_pack_coded},
      {&kFormatInt4, &nibble_packed_bytes, &pack_int4, &run_coded<V, Int4Codes<V>>,
       &can_pack_coded},
      {&kFormatInt8, &int8_packed_bytes, &pack_int8, &run_coded<V, Int8Codes<V>>, &can_pack_coded},
  };
};

template <typename V, typename D>
consteval KernelTable make_table(const char* isa, bool (*runs_here)()) {
  return {
      .isa = isa,
      .runs_here = runs_here,
      .linear = LinearKernels<V, D>::kAll,
      .round_row = &round_row<V, D>,
      .round_row_asymmetric = &round_row_asymmetric<V, D>,
      .filter_rows = D::kFilterRows,
      .depthwise = &Depthwise<V>::run,
      .attention = AttentionKernels<V, KvCodecs>::kAll,
      .attention_rows = kAttentionRows,
      .attention_scratch_bytes = &attention_scratch_bytes<V>,
      .rms_norm = &rms_norm<V>,
      .swiglu = &swiglu<V>,
      .add = &add<V>,
      .rope = &rope<V>,
      .rope_interleaved = &rope_interleaved<V>,
      .arg_max = &arg_max<V>,
  };
}

}  // namespace verbatim
