#include "tenon/kernels/elementwise/steps.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tenon/kernels/elementwise/elementwise.hpp"

namespace tenon::kernels {
namespace {

using Function = ChainStep::Function;

std::vector<float> numbers(int64_t n, std::mt19937& random) {
  using L = std::numeric_limits<float>;
  constexpr float special[] = {0,       -0.0f, L::infinity(), -L::infinity(), L::quiet_NaN(), L::denorm_min(),
                               L::max()};
  std::uniform_real_distribution<float> real(-3, 3);
  std::vector<float> v(static_cast<std::size_t>(n));
  for (float& x : v) x = random() % 8 == 0 ? special[random() % std::size(special)] : real(random);
  return v;
}

// A step by the kernels of single functions.
void apply(const ChainStep& s, std::vector<float>& v) {
  const auto n = static_cast<int64_t>(v.size());
  const auto unary_by = [&](UnaryOp op) { unary(op, v.data(), v.data(), n, UnaryParams{s.number, s.bound}); };
  const auto binary_by = [&](BinaryOp op) {
    const int64_t all[] = {n}, one[] = {1};
    const std::span<const int64_t> whole(all), other(s.operand == nullptr ? one : all);
    const float* const operand = s.operand == nullptr ? &s.number : s.operand;
    std::vector<float> y(v.size());
    if (s.second) binary(op, operand, v.data(), y.data(), broadcast_plan(other, whole));
    else binary(op, v.data(), operand, y.data(), broadcast_plan(whole, other));
    v = y;
  };
  switch (s.function) {
    case Function::absolute: return unary_by(UnaryOp::absolute);
    case Function::negate: return unary_by(UnaryOp::negate);
    case Function::relu: return unary_by(UnaryOp::relu);
    case Function::sqrt: return unary_by(UnaryOp::sqrt);
    case Function::clip: return unary_by(UnaryOp::clip);
    case Function::add: return binary_by(BinaryOp::add);
    case Function::sub: return binary_by(BinaryOp::sub);
    case Function::mul: return binary_by(BinaryOp::mul);
    case Function::div: return binary_by(BinaryOp::div);
    case Function::min: return binary_by(BinaryOp::min);
    case Function::max: return binary_by(BinaryOp::max);
  }
}

int64_t differences(const std::vector<float>& a, const std::vector<float>& b) {
  int64_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    count +=
        std::isnan(a[i]) ? !std::isnan(b[i]) : std::bit_cast<uint32_t>(a[i]) != std::bit_cast<uint32_t>(b[i]);
  return count;
}

TEST_CASE("run_chain: every function alone and in chains gives the bits of unary and binary") {
  std::mt19937 random(5);
  constexpr int functions = static_cast<int>(Function::max) + 1;
  for (const int64_t n : {0, 1, 7, 16, 64, 129, 1000})
    for (int round = 0; round < 200; ++round) {
      CAPTURE(n);
      CAPTURE(round);
      const std::vector<float> x = numbers(n, random), a = numbers(n, random), b = numbers(n, random);
      std::vector<ChainStep> steps(round < functions ? 1 : 1 + random() % 7);
      for (ChainStep& s : steps) {
        s.function =
            static_cast<Function>(round < functions ? round : static_cast<int>(random() % functions));
        s.second = random() % 2 != 0;
        s.number = numbers(1, random)[0];
        if (std::isnan(s.number)) s.number = -1;
        s.bound = s.number + 1;
        if (s.function >= Function::add && random() % 2 != 0)
          s.operand = random() % 2 != 0 ? a.data() : b.data();
      }
      std::vector<float> expected = x, y(x.size());
      for (const ChainStep& s : steps) apply(s, expected);
      run_chain(steps, x.data(), y.data(), n);
      CHECK(differences(expected, y) == 0);
      // Over x, and over an operand.
      y = x;
      run_chain(steps, y.data(), y.data(), n);
      CHECK(differences(expected, y) == 0);
      y = a;
      for (ChainStep& s : steps)
        if (s.operand == a.data()) s.operand = y.data();
      run_chain(steps, x.data(), y.data(), n);
      CHECK(differences(expected, y) == 0);
    }
}

}  // namespace
}  // namespace tenon::kernels
