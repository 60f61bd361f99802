// What the tables of random numbers share.
#pragma once

#include <cmath>
#include <utility>

#include "tests/op/stated.hpp"

namespace tenon::test {

/// Mean and standard deviation of a tensor's elements.
inline std::pair<double, double> moments(const Value& v) {
  const AnyView x = v.tensor().view();
  double sum = 0, squares = 0;
  for (int64_t k = 0; k < x.size(); ++k) sum += as_double(x, k), squares += as_double(x, k) * as_double(x, k);
  const double n = static_cast<double>(x.size());
  return {sum / n, std::sqrt(squares / n - sum / n * sum / n)};
}

/// Elements of type `type` have these moments, within about five standard errors of 10,000 numbers.
inline void check_moments(const Value& v, DType type, double mean, double deviation) {
  CHECK(v.type() == Type(type));
  const auto [m, d] = moments(v);
  CHECK(std::abs(m - mean) <= 0.06 * deviation);
  CHECK(std::abs(d - deviation) <= 0.05 * deviation);
}

/// Runs give the same numbers with a seed, whatever it is, and others without one.
template <class R>
void check_seeds(R op, const std::vector<Value>& in) {
  const auto first = [&](Opt<float> seed) {
    op.seed = seed;
    return run(op, in)[0].template view<float>()[0];
  };
  for (float seed : {5.0f, -1.0f, 0x1p32f, -INFINITY, INFINITY}) CHECK(first(seed) == first(seed));
  CHECK(first(5.0f) != first(6.0f));
  CHECK(first({}) != first({}));
  CHECK(first(NAN) != first(NAN));
  CHECK_FALSE(R::spec.deterministic);
}

/// What RandomNormal and RandomUniform share, apart from their numbers.
template <class R>
void check_random() {
  check_seeds(R{.shape = {3}}, {});
  CHECK(run(R{}, {})[0].tensor().rank() == 0);
  CHECK(run(R{.shape = {0, 3}}, {})[0].tensor().size() == 0);
  check_fails(R{.shape = {2, -1}}, {}, "extent: -1, expected at least 0");
  check_fails(R{.dtype = 7, .shape = {2}}, {}, "output cannot be tensor(int64)");
  check_fails(R{.dtype = 16, .shape = {2}}, {}, "output cannot be tensor(bfloat16)", 1, 1);
  check_fails(R{.dtype = 0, .shape = {2}}, {}, "'dtype' is 0, which is no type");
  check_fails(R{.shape = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}}, {}, "rank 17 is above 16");
  for (int version : {1, 22}) check_refused<R>(version, {}, "'shape' is required");
  const auto out = infer(R{.dtype = 10, .shape = {2, 3}}, {})[0];
  CHECK((out.dims == Dims{2, 3} && out.type == Type(DType::float16)));
}

/// What RandomNormalLike and RandomUniformLike share, apart from their numbers.
template <class R>
void check_random_like() {
  const Value f = t<float>({2}, {0, 0});
  check_seeds(R{}, {f});
  const struct {
    Value like;
    Opt<int64_t> dtype;
    DType type;
  } rows[] = {
      {cast<float16>({1, 2}, {0, 0}), {}, DType::float16}, {cast<bfloat16>({}, {0}), {}, DType::bfloat16},
      {t<int64_t>({1}, {0}), 1, DType::float32},           {t<bool>({2}, {true, true}), 10, DType::float16},
      {t<std::string>({2}, {"", ""}), 11, DType::float64}, {t<float>({0, 2}, {}), {}, DType::float32},
  };
  for (const auto& row : rows) {
    const Value out = run(R{.dtype = row.dtype}, {row.like})[0];
    CHECK(out.type() == Type(row.type));
    CHECK(out.tensor().extents() == row.like.tensor().extents());
  }
  const Value i = t<int32_t>({1}, {1});
  check_fails(R{}, {i}, "output cannot be tensor(int32)");
  check_fails(R{.dtype = 6}, {f}, "output cannot be tensor(int32)");
  check_fails(R{.dtype = 16}, {f}, "output cannot be tensor(bfloat16)", 1, 1);
  check_fails(R{.dtype = 99}, {f}, "'dtype' is 99, which is no type");
  check_fails(R{.dtype = 1}, {cast<bfloat16>({1}, {1})}, "input cannot be tensor(bfloat16)", 1, 1);
  const auto n = Dim::symbol(1);
  const auto out = infer(R{.dtype = 11}, {info(DType::int8, {n, 3})})[0];
  CHECK((out.dims == Dims{n, 3} && out.type == Type(DType::float64)));
}

}  // namespace tenon::test
