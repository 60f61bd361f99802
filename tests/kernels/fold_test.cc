#include "tenon/kernels/elementwise/fold.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

namespace tenon {
using kernels::FoldOp;

/// Three operands (rows, columns), (columns), (rows, 1), folded by a plain loop and by the kernel.
template <class T>
void check_fold(FoldOp op, int64_t rows, int64_t columns) {
  std::vector<T> a(static_cast<std::size_t>(rows * columns)), b(static_cast<std::size_t>(columns)),
      c(static_cast<std::size_t>(rows));
  int64_t seed = 1;
  const auto next = [&] { return T((seed = seed * 75 % 65537) % 60 + 1); };
  for (T& v : a) v = next();
  for (T& v : b) v = next();
  for (T& v : c) v = next();
  std::vector<T> expected = a;
  for (int64_t i = 0; i < rows * columns; ++i) {
    const auto at = static_cast<std::size_t>(i);
    double v = static_cast<double>(a[at]);
    for (const double w : {static_cast<double>(b[at % b.size()]), static_cast<double>(c[at / b.size()])})
      v = op == FoldOp::min ? std::min(v, w) : op == FoldOp::max ? std::max(v, w) : v + w;
    expected[at] = T(op == FoldOp::mean ? v / 3 : v);
  }
  const int64_t all[] = {rows, columns}, last[] = {columns}, first[] = {rows, 1};
  const kernels::FoldOperand<T> x[] = {{b.data(), kernels::broadcast_plan(last, all)},
                                       {a.data(), kernels::broadcast_plan(all, all)},
                                       {c.data(), kernels::broadcast_plan(first, all)}};
  // In place of the second operand.
  kernels::fold(op, x, 3, a.data(), rows * columns);
  int64_t wrong = 0;
  for (std::size_t i = 0; i < a.size(); ++i) wrong += !(a[i] == expected[i]);
  CHECK(wrong == 0);
}

TEST_CASE("fold: every type and operation, against a plain loop") {
  for (const auto& [rows, columns] :
       {std::pair<int64_t, int64_t>{1, 1}, {3, 5}, {2, 700}, {700, 3}, {40, 1000}}) {
    for (FoldOp op : {FoldOp::sum, FoldOp::mean, FoldOp::min, FoldOp::max}) {
      check_fold<float16>(op, rows, columns);
      check_fold<bfloat16>(op, rows, columns);
      if (op == FoldOp::mean) continue;  // rounds otherwise than the plain loop's double
      check_fold<float>(op, rows, columns);
      check_fold<double>(op, rows, columns);
    }
    for (FoldOp op : {FoldOp::min, FoldOp::max}) {
      check_fold<int8_t>(op, rows, columns), check_fold<uint8_t>(op, rows, columns);
      check_fold<int16_t>(op, rows, columns), check_fold<uint16_t>(op, rows, columns);
      check_fold<int32_t>(op, rows, columns), check_fold<uint32_t>(op, rows, columns);
      check_fold<int64_t>(op, rows, columns), check_fold<uint64_t>(op, rows, columns);
    }
  }
}

TEST_CASE("fold: NaN in any operand, and one operand alone") {
  const int64_t three[] = {3};
  const float a[] = {1, NAN, -2}, b[] = {NAN, 3, 4};
  const auto plan = kernels::broadcast_plan(three, three);
  const kernels::FoldOperand<float> x[] = {{a, plan}, {b, plan}};
  float y[3];
  for (FoldOp op : {FoldOp::sum, FoldOp::mean, FoldOp::min, FoldOp::max}) {
    kernels::fold(op, x, 2, y, 3);
    CHECK(std::isnan(y[0]));
    CHECK(std::isnan(y[1]));
    CHECK(y[2] == (op == FoldOp::min ? -2 : op == FoldOp::max ? 4 : op == FoldOp::sum ? 2 : 1));
    kernels::fold(op, x, 1, y, 3);
    CHECK(y[0] == 1);
    CHECK(y[2] == -2);
  }
}
}  // namespace tenon
