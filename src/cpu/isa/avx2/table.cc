// The AVX2 table. Only templates over Lanes are instantiated here, so that no code compiled for
// AVX2 can stand in for a function of another object.
#include "cpu/isa/avx2/lanes.h"
#include "cpu/kernel_table.h"
#include "cpu/kernels/attention.h"
#include "cpu/kernels/depthwise.h"
#include "cpu/kernels/elementwise.h"
#include "cpu/kernels/linear.h"
#include "cpu/kernels/linear_bf16.h"
#include "cpu/kernels/linear_f16.h"
#include "cpu/kernels/linear_f32.h"
#include "cpu/kernels/linear_pack.h"
#include "cpu/kernels/norm.h"

namespace verbatim::avx2 {

bool runs_here();

namespace {

constexpr LinearKernel kLinear[]{
    {&kFormatF32, &f32_packed_bytes, &pack_f32, &run_linear<Lanes, F32Panels<Lanes>>},
    {&kFormatF16, &half_packed_bytes, &pack_f16, &run_linear<Lanes, F16Panels<Lanes>>},
    {&kFormatBF16, &half_packed_bytes, &pack_bf16, &run_linear<Lanes, Bf16Panels<Lanes>>},
};

}  // namespace

extern const KernelTable kTable;
constinit const KernelTable kTable{
    .isa = "avx2",
    .runs_here = &runs_here,
    .linear = kLinear,
    .depthwise = &Depthwise<Lanes>::run,
    .attention = AttentionKernels<Lanes, KvCodecs>::kAll,
    .attention_rows = kAttentionRows,
    .attention_scratch_bytes = &attention_scratch_bytes<Lanes>,
    .rms_norm = &rms_norm<Lanes>,
    .swiglu = &swiglu<Lanes>,
    .add = &add<Lanes>,
    .rope = &rope<Lanes>,
    .arg_max = &arg_max<Lanes>,
};

}  // namespace verbatim::avx2
