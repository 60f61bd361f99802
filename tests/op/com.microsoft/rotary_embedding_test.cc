#include "tenon/op/com.microsoft/rotary_embedding.hpp"

#include "tenon/op/com.microsoft/m_rotary_embedding.hpp"
#include "tests/op/recorded.hpp"

namespace tenon {
using namespace test;

TEST_CASE("com.microsoft.RotaryEmbedding: a position without axes") {
  const Value x = t<float>({1, 2, 2}, {1, 2, 3, 4}), cos = t<float>({3, 1}, {1, 0, -1}),
              sin = t<float>({3, 1}, {0, 1, 0});
  const op::com_microsoft::RotaryEmbedding op{};
  const Value expected = t<float>({1, 2, 2}, {-2, 1, -3, -4});
  check(op, {x, t<int64_t>({}, {1}), cos, sin}, {expected});
  check(op, {x, t<int64_t>({1}, {1}), cos, sin}, {expected});
  check_fails(op, {x, t<int64_t>({2}, {1, 2}), cos, sin}, "position_ids: (2), expected one element");
  check_fails(op, {x, t<int64_t>({1, 1, 1}, {1}), cos, sin}, "position_ids: rank 3, expected at most 2");
}

TEST_CASE("com.microsoft.RotaryEmbedding, MRotaryEmbedding: results of ONNX Runtime") {
  check_recorded("com.microsoft/rotary_embedding.txt",
                 {&operator_class<op::com_microsoft::RotaryEmbedding>,
                  &operator_class<op::com_microsoft::MRotaryEmbedding>});
}

TEST_CASE("com.microsoft.RotaryEmbedding: errors") {
  using op::com_microsoft::RotaryEmbedding;
  const Value x = t<float>({1, 1, 4}, {1, 2, 3, 4}), id = t<int64_t>({1}, {0}),
              cache = t<float>({1, 2}, {1, 0});
  check_fails(RotaryEmbedding{}, {id, id, cache, cache}, "input");
  check_fails(RotaryEmbedding{}, {t<float>({4}, {1, 2, 3, 4}), id, cache, cache},
              "input: rank 1, expected 3 or 4");
  check_fails(RotaryEmbedding{}, {x, t<int64_t>({2}, {0, 1}), cache, cache}, "position_ids");
  check_fails(RotaryEmbedding{.rotary_embedding_dim = 2}, {x, id, cache, cache},
              "rotary_embedding_dim needs num_heads");
  check_fails(RotaryEmbedding{}, {x, t<int64_t>({1}, {1}), cache, cache}, "position 1 outside of 1");
  const Dims open{Dim::symbol(1), Dim::symbol(2), 8};
  CHECK(infer(RotaryEmbedding{}, {info(DType::float32, open), info(DType::int64, {1}),
                                  info(DType::float32, {9, 4}), info(DType::float32, {9, 4})})[0]
            .dims == open);
}

TEST_CASE("com.microsoft.MRotaryEmbedding: what it refuses, symbols") {
  using op::com_microsoft::MRotaryEmbedding;
  const Value x = t<float>({1, 1, 4}, {1, 2, 3, 4}), ids = t<int64_t>({3, 1, 1}, {0, 0, 0}),
              cache = t<float>({1, 2}, {1, 0});
  const auto fails = [&](const MRotaryEmbedding& op, std::string_view text) {
    check_fails(op, {x, ids, cache, cache}, text);
  };
  fails({.num_heads = 1}, "mrope_section");
  fails({.mrope_section = {2}, .num_heads = 1}, "mrope_section: 1 entries, expected 3");
  fails({.mrope_section = {2, -1, 1}, .num_heads = 1}, "mrope_section: -1, expected at least 0");
  fails({.mrope_section = {0, 0, 0}, .num_heads = 1}, "mrope_section: 0 pairs, expected 1 to 65536");
  fails({.mrope_section = {1, int64_t{1} << 62, int64_t{1} << 62}, .num_heads = 1}, "expected 1 to 65536");
  fails({.mrope_section = {1, 1, 1}, .num_heads = 1}, "cos_cache: (1,2), expected (?,3)");
  fails({.mrope_section = {1, 1, 0}}, "input of rank 3 needs num_heads");
  fails({.mrope_section = {1, 1, 0}, .num_heads = 3}, "input: 4 numbers do not make 3 heads");
  fails({.mrope_section = {1, 1, 0}, .num_heads = 2}, "mrope_section: 2 pairs, but 2 numbers to rotate");
  fails({.mrope_section = {1, 1, 0}, .rotary_embedding_dim = 4}, "rotary_embedding_dim needs num_heads");
  fails({.mrope_layout = 2, .mrope_section = {1, 1, 0}, .num_heads = 1}, "mrope_layout: 2, expected 0 or 1");
  const MRotaryEmbedding op{.mrope_section = {1, 1, 0}, .num_heads = 1};
  check_fails(op, {x, t<int64_t>({1, 1}, {0}), cache, cache}, "position_ids: rank 2, expected 3");
  check_fails(op, {x, t<int64_t>({2, 1, 1}, {0, 0}), cache, cache},
              "position_ids: (2,1,1), expected (3,1,1)");
  check_fails(op, {x, t<int64_t>({3, 1, 1}, {0, 1, 0}), cache, cache}, "index 1 outside of");
  const Dims open{Dim::symbol(1), Dim::symbol(2), 8};
  CHECK(infer(MRotaryEmbedding{.mrope_section = {2, 1, 1}, .num_heads = 1},
              {info(DType::float32, open), info(DType::int64, {}), info(DType::float32, {9, 4}),
               info(DType::float32, {9, 4})})[0]
            .dims == open);
}
}  // namespace tenon
