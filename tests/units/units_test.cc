// Units with different flags make one program, in which they do the same.
#include <doctest/doctest.h>

#include <string>

namespace tenon::units {

std::string strict();
std::string without_rtti();
std::string optimised();

TEST_CASE("units with different flags") {
  for (const auto& unit : {strict, without_rtti, optimised})
    CHECK(unit() == R"([[2.5, 2.5],
 [0.5, 0.5]]
tensor(float) (2,2)
[[0.6666667, 0.6666667],
 [0.6666667, 0.6666667]]
tensor(float) (2,3)
[[1.0, 1.0, 1.0],
 [0.0, 0.0, 0.0]]
tensor(float) (2,2)
[[0.6666667, 0.6666667],
 [0.6666667, 0.6666667]]
tensor(float) (2,3)
[[1.0, 1.0, 1.0],
 [0.0, 0.0, 0.0]]
Reshape: (2,3) cannot become (7) [data: tensor(float) (2,3), shape: tensor(int64) (1)])");
}

}  // namespace tenon::units
