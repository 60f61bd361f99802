#include "tenon/kernels/reduce/arg_reduce.hpp"

#include <cmath>
#include <type_traits>
#include <vector>

#include "tests/kernels/data.hpp"

using namespace tenon;

namespace {

struct Extents {
  int64_t outer, axis, inner;
};

/// Whether x is before y as an extremum. 64-bit integers are compared as they are:
/// doubles would make neighbours equal.
template <class T>
bool before(T x, T y, bool greatest) {
  if constexpr (std::is_integral_v<T>) {
    return greatest ? x > y : x < y;
  } else {
    const double v = static_cast<double>(x), w = static_cast<double>(y);
    return !std::isnan(w) && (std::isnan(v) || (greatest ? v > w : v < w));
  }
}

}  // namespace

TEST_CASE("arg_reduce finds the first or last of equals, and NaN before all numbers") {
  const auto run = []<class T>() {
    const Extents cases[] = {{1, 1, 1},   {3, 7, 1},    {2, 1000, 1}, {3, 5, 2},  {2, 9, 300},
                             {0, 4, 2},   {2, 65, 17},  {5, 64, 1},   {4, 33, 1}, {1, 901, 7},
                             {300, 7, 1}, {130, 47, 1}, {2, 301, 12}};
    for (const auto& [outer, axis, inner] : cases) {
      for (bool strange : {false, true}) {
        const int64_t n = outer * axis * inner;
        const auto x = strange ? test::strange_numbers<T>(n, 0, 6) : test::numbers<T>(n, 0, 6);
        std::vector<int64_t> y(static_cast<std::size_t>(outer * inner));
        for (bool greatest : {false, true})
          for (bool last : {false, true}) {
            kernels::arg_reduce(greatest, last, x.data(), y.data(), outer, axis, inner);
            std::vector<int64_t> expected;
            for (int64_t o = 0; o < outer * inner; ++o) {
              const T* line = x.data() + o / inner * axis * inner + o % inner;
              int64_t best = 0;
              for (int64_t i = 1; i < axis; ++i) {
                const T v = line[i * inner], b = line[best * inner];
                if (before(v, b, greatest) || (last && !before(b, v, greatest))) best = i;
              }
              expected.push_back(best);
            }
            CHECK_MESSAGE(y == expected, "bytes ", sizeof(T), " extents ", outer, ",", axis, ",", inner);
          }
      }
    }
  };
  test::for_each_float(run);
  test::for_each_integer(run);
}
