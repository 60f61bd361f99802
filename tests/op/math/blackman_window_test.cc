#include "tenon/op/math/blackman_window.hpp"

#include "tests/op/cosine_window.hpp"

namespace tenon {
TEST_CASE("BlackmanWindow") { test::check_window<op::BlackmanWindow>(0.42, 0.5, 0.08); }
}  // namespace tenon
