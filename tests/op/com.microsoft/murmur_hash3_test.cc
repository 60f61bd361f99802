// Expected are ONNX Runtime's results.
#include "tenon/op/com.microsoft/murmur_hash3.hpp"

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;
using op::com_microsoft::MurmurHash3;

TEST_CASE("com.microsoft.MurmurHash3: cases") {
  const Value words = t<std::string>({7}, {"", "a", "ab", "abc", "abcd", "abcde", "hello world"});
  check(MurmurHash3{}, {words},
        {t<uint32_t>({7}, {0, 1009084850, 2613040991, 3017643002, 1139631978, 3902511862, 1586663183})}, 0,
        0);
  check(MurmurHash3{.positive = 0, .seed = 42}, {words},
        {t<int32_t>({7},
                    {142593372, -1293573533, -684913081, 1313807976, -396302900, -1361433616, -368272391})},
        0, 0);
  check(MurmurHash3{.positive = 2}, {t<std::string>({}, {"é"})}, {t<uint32_t>({}, {269551495})}, 0, 0);
  check(MurmurHash3{.seed = -1}, {t<std::string>({1, 1}, {"a"})}, {t<uint32_t>({1, 1}, {711476519})}, 0, 0);
  check(MurmurHash3{}, {t<std::string>({0}, {})}, {t<uint32_t>({0}, {})}, 0, 0);
  // Bytes of numbers, so that each type has its own hashes.
  check(MurmurHash3{}, {t<int32_t>({4}, {0, 1, -1, 3})},
        {t<uint32_t>({4}, {593689054, 4226891818, 1982413648, 847579505})}, 0, 0);
  check(MurmurHash3{.seed = 7}, {t<uint32_t>({3}, {0, 1, 3})},
        {t<uint32_t>({3}, {2565180293, 3775148407, 3471288749})}, 0, 0);
  check(MurmurHash3{.positive = 0}, {t<int64_t>({3}, {0, 1, -1})},
        {t<int32_t>({3}, {1669671676, 1392991556, 1651860712})}, 0, 0);
  check(MurmurHash3{}, {t<uint64_t>({2}, {0, 1})}, {t<uint32_t>({2}, {1669671676, 1392991556})}, 0, 0);
  check(MurmurHash3{}, {t<float>({3}, {0, -0.0f, 1.5f})},
        {t<uint32_t>({3}, {593689054, 2576668564, 376679366})}, 0, 0);
  check(MurmurHash3{}, {t<double>({2}, {0, 1.5})}, {t<uint32_t>({2}, {1669671676, 4034560987})}, 0, 0);
}
}  // namespace tenon
