// Chains against the operators one by one, at each level.
#include "tenon/array/arithmetic.hpp"

#include <doctest/doctest.h>

namespace tenon {
namespace {

/// Numbers of all kinds; integers are small and not 0.
template <class T>
Tensor<T> numbers(const Extents& extents, uint32_t seed) {
  Tensor<T> t(extents);
  for (int64_t i = 0; i < t.size(); ++i) {
    seed = seed * 1664525u + 1013904223u;
    const auto r = static_cast<int>(seed >> 16) % 2000 - 1000;
    if constexpr (std::is_same_v<T, bool>) t[i] = r > 0;
    else if constexpr (std::is_integral_v<T>) t[i] = static_cast<T>(r % 50 == 0 ? 1 : r % 50);
    else t[i] = static_cast<T>(static_cast<float>(r) / 173.0f);
  }
  if constexpr (!std::is_integral_v<T>)
    if (t.size() > 9) {
      const float special[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1e-40f, 3e38f, 0.5f, 1.0f};
      for (int k = 0; k < 9; ++k) t[k] = static_cast<T>(special[k]);
    }
  return t;
}

/// Which NaN comes of two is left open.
template <class T>
bool same_bits(const Tensor<T>& a, const Tensor<T>& b) {
  const auto same = [](T x, T y) { return std::memcmp(&x, &y, sizeof x) == 0 || (!(x == x) && !(y == y)); };
  return std::ranges::equal(a.extents(), b.extents()) &&
         std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}

/// f of a product, and a sum with it, which a compiler might round once instead of twice.
template <class T, class F, class Op>
void check_unary(F f, Op op) {
  for (const int64_t n : {int64_t{1}, int64_t{7}, int64_t{1027}}) {
    const auto x = numbers<T>({n}, 1), y = numbers<T>({n}, 2);
    CHECK(same_bits<T>(f(x * y) + x, op::Add{}(op(op::Mul{}(x, y)), x)));
  }
}
template <class T, class F, class Op>
void check_binary(F f, Op op) {
  for (const int64_t n : {int64_t{1}, int64_t{7}, int64_t{1027}}) {
    const auto x = numbers<T>({n}, 3), y = numbers<T>({n}, 4);
    CHECK(same_bits<T>(f(x * y, y) - x, op::Sub{}(op(op::Mul{}(x, y), y), x)));
  }
}

TEST_CASE("chains have the same bits as the operators one by one") {
  check_unary<float>([](auto&& v) { return exp(std::move(v)); }, op::Exp{});
  check_unary<float>([](auto&& v) { return log(std::move(v)); }, op::Log{});
  check_unary<float>([](auto&& v) { return sqrt(std::move(v)); }, op::Sqrt{});
  check_unary<float>([](auto&& v) { return tanh(std::move(v)); }, op::Tanh{});
  check_unary<float>([](auto&& v) { return sigmoid(std::move(v)); }, op::Sigmoid{});
  check_unary<float>([](auto&& v) { return relu(std::move(v)); }, op::Relu{});
  check_unary<float>([](auto&& v) { return abs(std::move(v)); }, op::Abs{});
  check_unary<float>([](auto&& v) { return sign(std::move(v)); }, op::Sign{});
  check_unary<float>([](auto&& v) { return erf(std::move(v)); }, op::Erf{});
  check_unary<float>([](auto&& v) { return sin(std::move(v)); }, op::Sin{});
  check_unary<float>([](auto&& v) { return floor(std::move(v)); }, op::Floor{});
  check_unary<float>([](auto&& v) { return round(std::move(v)); }, op::Round{});
  check_unary<float>([](auto&& v) { return softplus(std::move(v)); }, op::Softplus{});
  check_unary<float>([](auto&& v) { return reciprocal(std::move(v)); }, op::Reciprocal{});
  check_unary<float>([](auto&& v) { return -std::move(v); }, op::Neg{});
  check_binary<float>([](auto a, auto&& b) { return a + b; }, op::Add{});
  check_binary<float>([](auto a, auto&& b) { return a - b; }, op::Sub{});
  check_binary<float>([](auto a, auto&& b) { return a * b; }, op::Mul{});
  check_binary<float>([](auto a, auto&& b) { return a / b; }, op::Div{});
  check_binary<float>([](auto a, auto&& b) { return min(a, b); }, op::Min{});
  check_binary<float>([](auto a, auto&& b) { return max(a, b); }, op::Max{});
  check_binary<float>([](auto a, auto&& b) { return pow(a, b); }, op::Pow{});
  check_unary<double>([](auto&& v) { return exp(std::move(v)); }, op::Exp{});
  check_binary<double>([](auto a, auto&& b) { return a * b; }, op::Mul{});
  const auto p = numbers<float>({1027}, 1);
  for (const float e : {2.0f, 0.5f, -1.0f, 1.7f})
    CHECK(same_bits<float>(pow(p, e) + p, op::Add{}(op::Pow{}(p, Tensor<float>({}, {e})), p)));
  const auto x = numbers<float16>({100}, 5), y = numbers<float16>({100}, 6);
  CHECK(same_bits<float16>(exp(x * y) + x, op::Add{}(op::Exp{}(op::Mul{}(x, y)), x)));
  const auto i = numbers<int32_t>({100}, 7), j = numbers<int32_t>({100}, 8);
  CHECK(same_bits<int32_t>(-(i * j) / j + max(i, j),
                           op::Add{}(op::Div{}(op::Neg{}(op::Mul{}(i, j)), j), op::Max{}(i, j))));
  CHECK(same_bits<int32_t>((i & j) ^ ~i, op::BitwiseXor{}(op::BitwiseAnd{}(i, j), op::BitwiseNot{}(i))));
}

TEST_CASE("operands broadcast, whatever their axes") {
  struct Case {
    Extents x, y, z;
  };
  const Case cases[] = {
      {{2, 3}, {3}, {}},         {{40, 3}, {3}, {1}},
      {{7, 600}, {600}, {7, 1}}, {{5, 2000}, {2000}, {5, 1}},
      {{2, 1, 4}, {3, 1}, {4}},  {{3, 1, 5, 1}, {7, 1, 9}, {1, 1}},
      {{0, 3}, {3}, {1, 1}},     {{1}, {1, 1}, {}},
      {{}, {}, {2, 2}},          {{30, 1, 50}, {20, 1}, {50}},
      {{33000}, {1}, {33000}},   {{4, 9000}, {4, 1}, {9000}},
  };
  for (const Case& c : cases) {
    CAPTURE(to_string(c.x));
    const auto x = numbers<float>(c.x, 1), y = numbers<float>(c.y, 2), z = numbers<float>(c.z, 3);
    CHECK(same_bits<float>(x * y + z, op::Add{}(op::Mul{}(x, y), z)));
    CHECK(same_bits<float>(exp(z) - (x + y) * 3, op::Sub{}(op::Exp{}(z), op::Mul{}(op::Add{}(x, y), 3.0f))));
    CHECK(same_bits<float>(where(x < y, z, x), op::Where{}(op::Less{}(x, y), z, x)));
    CHECK(same_bits<float>(pow(x + y, z + 1) * y,
                           op::Mul{}(op::Pow{}(op::Add{}(x, y), op::Add{}(z, 1.0f)), y)));
    const auto i = numbers<int64_t>(c.x, 1), j = numbers<int64_t>(c.y, 2), k = numbers<int64_t>(c.z, 3);
    CHECK(same_bits<int64_t>(i * j + k, op::Add{}(op::Mul{}(i, j), k)));
  }
}

}  // namespace
}  // namespace tenon
