#include "tenon/op/math/hann_window.hpp"

#include "tests/op/cosine_window.hpp"

namespace tenon {
TEST_CASE("HannWindow") { test::check_window<op::HannWindow>(0.5, 0.5, 0); }
}  // namespace tenon
