// exp, log, sin, cos and erf of our own, in double, so that no bit depends on the C library, the
// machine or the thread's way with denormals. Errors are below 1 ulp; math_test.cc measures them.
#pragma once

namespace verbatim {

double math_exp(double x);            // 0 below -708.39, where the result would be a denormal
double math_log(double x);            // -infinity for 0, NaN below
double math_pow(double x, double y);  // exp(y log x); NaN for x < 0, whatever y is
double math_sin(double x);            // |x| up to 2^40: reduced exactly; NaN beyond
double math_cos(double x);
double math_erf(double x);

}  // namespace verbatim
