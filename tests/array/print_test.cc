#include "tenon/array/print.hpp"

#include <doctest/doctest.h>

#include <iomanip>
#include <sstream>

#include "tenon/array/csv.hpp"
#include "tenon/array/npy.hpp"
#include "tenon/array/slice.hpp"

namespace tenon {
namespace {

template <class X, class... How>
std::string written(const X& x, How... how) {
  std::ostringstream s;
  (s << ... << how) << x;
  CHECK(s.width() == 0);
  return s.str();
}

}  // namespace

TEST_CASE("<<: what to_string says") {
  const Tensor<float, Shape<2, 2>> x{{1, 0.5f}, {-0.1f, 1e20f}};
  CHECK(written(x) == to_string(x));
  CHECK(written(x.view()) == to_string(x));
  CHECK(written(AnyTensor(x)) == to_string(AnyTensor(x)));
  CHECK(written(AnyTensor(x).view()) == to_string(AnyTensor(x)));
  CHECK(written(Value(x)) == to_string(Value(x)));
  CHECK(written(Value(Sequence{DType::float32, {x}})) == to_string(Value(Sequence{DType::float32, {x}})));
  CHECK(written(TensorView<float>()) == "none");
  CHECK(written(AnyView()) == "none");
  CHECK(written(Value()) == "none");
  const Tensor<int64_t> many = Tensor<int64_t>({2000});
  CHECK(written(many) == "[0, 0, 0, ..., 0, 0, 0]");
}

TEST_CASE("expressions and slices are written as the tensors that they give") {
  const Tensor<float, Shape<2, 2>> x{{1, 0.5f}, {-0.25f, 2}};
  CHECK(written(x * 2, std::fixed, std::setprecision(1)) == "[[ 2.0,  1.0],\n [-0.5,  4.0]]");
  CHECK(written(x(all, 0)) == "[1.0, -0.25]");
  CHECK(written(x(0, all)) == "[1.0, 0.5]");
  CHECK(to_string(x < 1) == "[[False,  True],\n [ True, False]]");
  CHECK(to_csv(x(all, 0) * 4) == "4\n-1\n");
  CHECK(to_npy(x + 1) == to_npy(eval(x + 1)));
}

TEST_CASE("<<: the stream's format") {
  const Tensor<float, Shape<2, 2>> x{{1, 0.5f}, {-0.25f, 2}};
  CHECK(written(x, std::fixed, std::setprecision(2)) == "[[ 1.00,  0.50],\n [-0.25,  2.00]]");
  CHECK(written(x, std::scientific, std::setprecision(1)) ==
        "[[ 1.0e+00,  5.0e-01],\n [-2.5e-01,  2.0e+00]]");
  CHECK(written(x, std::setw(6)) == "[[   1.0,    0.5],\n [ -0.25,    2.0]]");
  const Tensor<double, Shape<2>> v{3.14159265, -NAN};
  CHECK(written(v, std::setprecision(3)) == str_cat("[3.14, ", std::signbit(-NAN) ? "-nan" : "nan", "]"));
  CHECK(written(Tensor<double, Shape<1>>{0.1}, std::setprecision(0)) == "[0.1]");
  CHECK(written(Tensor<double, Shape<1>>{1e308}, std::fixed, std::setprecision(5000)).size() ==
        2 + 309 + 1 + 1074);
  CHECK(written(Tensor<int32_t, Shape<2>>{1, 20}, std::setw(3), std::fixed) == "[  1,  20]");
  CHECK(written(Tensor<complex64, Shape<1>>{complex64(1, -2)}, std::fixed, std::setprecision(1)) ==
        "[(1.0-2.0j)]");
  CHECK(written(Tensor<std::string, Shape<1>>{"a"}, std::setw(5)) == "[  \"a\"]");
  CHECK(written(AnyTensor(v.clone()), std::fixed, std::setprecision(1))
            .starts_with("tensor(double) (2) [3.1, "));
  CHECK(written(Tensor<float16>({1}, {float16(0.5f)}), std::hexfloat) == "[1.000000p-1]");
  CHECK(written(Tensor<float>({0}), std::fixed) == "[]");
}

}  // namespace tenon
