// exp, SiLU and GELU of sixteen lanes, from additions, products and one division, so that every
// machine gives the same bits. Finite arguments; no result is denormal unless the argument is.
// Always inlined: g++ 12 hands lanes of several registers over in memory.
#pragma once

namespace verbatim {

// e^x for x <= 88 (above, that of 88), within 1 ulp; 0 where x < lowest. A `lowest` above the
// default keeps what the result is multiplied with out of the denormals too.
// x = n log 2 + r, |r| <= log(2) / 2: e^x = 2^n (1 + r + r^2 p(r)), p minimax in the relative
// error.
template <typename V>
[[gnu::always_inline]] inline V exp(V x, float lowest = -87.3365F) {
  const V bounded = V::min(V::set(88.0F), x);
  // The larger of a NaN and -126 is -126, so that pow2 never sees a NaN; r carries it on.
  const V n = V::max(V::round(V::mul(bounded, V::set(1.44269502F))), V::set(-126.0F));
  V r = V::fma(n, V::set(-0.693145752F), bounded);  // exact: the constant has 15 bits
  r = V::fma(n, V::set(-1.42860677e-6F), r);
  V p = V::set(0.00138146023F);
  p = V::fma(p, r, V::set(0.00836871658F));
  p = V::fma(p, r, V::set(0.041668389F));
  p = V::fma(p, r, V::set(0.166665211F));
  p = V::fma(p, r, V::set(0.49999994F));
  p = V::add(V::fma(V::mul(r, r), p, r), V::set(1.0F));
  return V::select_less(x, V::set(lowest), V::zero(), V::mul(p, V::pow2(n)));
}

// x / (1 + e^-x), written so that the exponent is never positive and neither tail cancels.
template <typename V>
[[gnu::always_inline]] inline V silu(V x) {
  const V e = exp<V>(V::neg(V::abs(x)));
  const V part = V::div(x, V::add(V::set(1.0F), e));
  return V::select_less(x, V::zero(), V::mul(part, e), part);
}

// x (1 + erf(x / sqrt 2)) / 2, the exact GELU. With h(x) = erfc(|x| / sqrt 2) / 2 it is x h(x)
// below zero and x - x h(x) above, so that the left tail does not cancel. h(x) = e^(-x^2 / 2) t
// p(t) with t = 1 / (1 + |x| / 4), p minimax in the relative error over |x| <= 13; below 2^-115 h
// counts as 0.
template <typename V>
[[gnu::always_inline]] inline V gelu(V x) {
  const V t = V::div(V::set(1.0F), V::fma(V::abs(x), V::set(0.25F), V::set(1.0F)));
  V p = V::set(0.0158563592F);
  p = V::fma(p, t, V::set(-0.0587274395F));
  p = V::fma(p, t, V::set(0.0417258404F));
  p = V::fma(p, t, V::set(0.0422401689F));
  p = V::fma(p, t, V::set(0.000684475119F));
  p = V::fma(p, t, V::set(0.0934542716F));
  p = V::fma(p, t, V::set(0.0695114732F));
  p = V::fma(p, t, V::set(0.0960835814F));
  p = V::fma(p, t, V::set(0.0994193032F));
  p = V::fma(p, t, V::set(0.0997519717F));
  const V e = exp<V>(V::mul(V::mul(x, x), V::set(-0.5F)), -76.0F);
  const V h = V::mul(V::mul(p, t), e);
  return V::select_less(x, V::zero(), V::mul(x, h), V::fma(V::neg(x), h, x));
}

}  // namespace verbatim
