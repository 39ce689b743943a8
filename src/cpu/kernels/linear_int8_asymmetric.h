// Projections over int8 activations whose rows have zeros: the same sums, with each row's zero
// times the sum of a group's codes taken off as zeros of a weight are.
#pragma once

#include "cpu/kernels/linear_int8_run.h"

namespace verbatim {

template <typename V, typename D, typename Codes>
void run_int8_asymmetric(const LinearCall& call) {
  LinearCall told = call;
  told.has_code_sums = true;
  run_int8<V, D, Codes>(told);
}

}  // namespace verbatim
