// Units with different flags make one program, in which they do the same.
#include <doctest/doctest.h>

#include <string>

namespace tenon::units {

// Of one inline namespace, so that the linker takes their functions for each other's.
std::string strict(std::string& abi);
std::string without_rtti(std::string& abi);
std::string optimised(std::string& abi);
// Each of its own: units with kernels from the library, and of another version.
std::string compiled(std::string& abi);
std::string other_version(std::string& abi);

TEST_CASE("units with different flags") {
  std::string abi, common;
  for (const auto& unit : {strict, without_rtti, optimised, compiled, other_version}) {
    CHECK(unit(abi) == R"([[2.5, 2.5],
 [0.5, 0.5]]
tensor(float) (2,2)
[[0.6666667, 0.6666667],
 [0.6666667, 0.6666667]]
tensor(float) (2,3)
[[1.0, 1.0, 1.0],
 [0.0, 0.0, 0.0]]
Reshape: (2,3) cannot become (7) [data: tensor(float) (2,3), shape: tensor(int64) (1)])");
    if (common.empty()) common = abi;
    CHECK((abi == common) == (unit != compiled && unit != other_version));
  }
}

}  // namespace tenon::units
