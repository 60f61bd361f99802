// A program of two units, for packages_test.sh: it prints the version of the headers that were found.
#include <cstdio>

#include "tenon/base/version.hpp"
#include "tenon/op/math/add.hpp"

#if defined(TENON_COMPILED) || defined(TENON_COMPILED_SESSION)
#error the headers alone have all bodies in them
#endif

tenon::Tensor<float, tenon::Shape<2>> twice(const tenon::Tensor<float, tenon::Shape<2>>& x);

int main() {
  const tenon::Tensor<float, tenon::Shape<2>> x{1, 2};
  const auto y = tenon::op::Add{}(x, twice(x));
  std::printf("%s %g %g\n", tenon::library_version, static_cast<double>(y(0)), static_cast<double>(y(1)));
}
