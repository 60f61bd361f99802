#include "tenon/op/math/hamming_window.hpp"

#include "tests/op/cosine_window.hpp"

namespace tenon {
TEST_CASE("HammingWindow") { test::check_window<op::HammingWindow>(25.0 / 46, 21.0 / 46, 0); }
}  // namespace tenon
