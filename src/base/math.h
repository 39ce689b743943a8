// exp, log, sin, cos and erf of our own, in double, so that no bit depends on the C library. Errors
// are below 2 ulp over the ranges stated; see math_test.cc.
#pragma once

namespace verbatim {

double math_exp(double x);
double math_log(double x);            // x > 0
double math_pow(double x, double y);  // x > 0: exp(y log x), within 4 ulp
double math_sin(double x);            // |x| up to 2^40: reduced exactly
double math_cos(double x);
double math_erf(double x);

}  // namespace verbatim
