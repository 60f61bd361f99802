#include "tenon/simd/vector.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>

using namespace tenon;

namespace {

// The compiler's vectors and the arrays that stand in for them.
template <class T, int count>
using Plain = simd::detail::PlainVector<T, count>;
template <class T, int count>
using Own = simd::Vector<T, count>;

template <class A, class B>
void check_equal(const A& a, const B& b) {
  static_assert(sizeof(A) == sizeof(B));
  CHECK(std::memcmp(&a, &b, sizeof a) == 0);
}

// f of the vectors of both kinds that hold the numbers of x and y.
template <class T, int count, class F>
void check_both(const T (&x)[count], const T (&y)[count], F f) {
  Own<T, count> a, b;
  Plain<T, count> c, d;
  std::memcpy(&a, x, sizeof a), std::memcpy(&b, y, sizeof b);
  std::memcpy(&c, x, sizeof c), std::memcpy(&d, y, sizeof d);
  check_equal(f(a, b), f(c, d));
}

template <class T, int count>
void check_arithmetic(const T (&x)[count], const T (&y)[count]) {
  check_both(x, y, [](auto a, auto b) { return a + b; });
  check_both(x, y, [](auto a, auto b) { return a - b * b; });
  check_both(x, y, [](auto a, auto b) { return (a + b) / 2; });
  check_both(x, y, [](auto a, auto b) { return a == b; });
  check_both(x, y, [](auto a, auto b) { return (a < b) | (b > T(3)); });
  check_both(x, y, [](auto a, auto b) { return a += b; });
}

}  // namespace

TEST_CASE("arrays in place of vectors compute the same") {
  check_arithmetic<float>({1, 2.5f, -3, 1e30f}, {1, 7, -4, 1e-30f});
  check_arithmetic<double>({2.5, -3}, {2.5, 1e30});
  check_arithmetic<int32_t>({1, 200, -3, 5}, {1, 7, -4, 9});
  check_arithmetic<uint32_t>({1, 200, 0x80000000u, 5}, {1, 7, 3, 9});
  const int32_t x[] = {1, -200, 0x7fffffff, -1}, y[] = {3, 7, -4, 0};
  check_both(x, y, [](auto a, auto b) { return (a & b) ^ (~a | b); });
  check_both(x, y, [](auto a, auto b) { return a >> 31 & b; });
  check_both(x, y, [](auto a, auto b) { return a &= b; });
  check_both(x, y, [](auto a, auto b) { return a |= b; });
}

TEST_CASE("numbers of vectors are chosen, converted and rearranged") {
  const int32_t x[] = {1, -200, 5, -1}, y[] = {3, 7, -4, 0};
  check_both(x, y, [](auto a, auto b) { return simd::choose(a < b, a, b); });
  check_both(x, y, [](auto a, auto b) { return simd::shuffle<0, 4, 1, 5>(a, b); });
  check_both(x, y, [](auto a, auto b) { return simd::shuffle<7, 6>(a, b); });
  const float z[] = {1.5f, -2};
  Own<float, 2> a;
  Plain<float, 2> b;
  std::memcpy(&a, z, sizeof a), std::memcpy(&b, z, sizeof b);
  check_equal(simd::convert<Own<double, 2>>(a), simd::convert<Plain<double, 2>>(b));
}
