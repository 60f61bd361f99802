#include "tenon/op/nn/rotary_embedding.hpp"

#include <cmath>

#include "tenon/base/convert.hpp"
#include "tests/op/check.hpp"

namespace tenon {
using namespace test;

namespace {

struct Case {
  int64_t batch = 2, heads = 3, steps = 4, size = 8, rotated = 0;
  int64_t interleaved = 0;
  bool ids = true, packed = false;
};

template <class T>
void check_case(const Case& k, double tolerance) {
  const int64_t pairs = (k.rotated ? k.rotated : k.size) / 2, positions = 9;
  const Extents ex =
      k.packed ? Extents{k.batch, k.steps, k.heads * k.size} : Extents{k.batch, k.heads, k.steps, k.size};
  const Extents ec = k.ids ? Extents{positions, pairs} : Extents{k.batch, k.steps, pairs};
  const std::span<const int64_t> of_x(ex), of_cache(ec);
  Tensor<T> x(of_x), y(of_x), cos(of_cache), sin(of_cache);
  Tensor<int64_t> ids({k.batch, k.steps});
  for (int64_t i = 0; i < x.size(); ++i) x[i] = convert<T>(static_cast<double>(i * 37 % 101) / 50 - 1);
  for (int64_t i = 0; i < cos.size(); ++i)
    cos[i] = convert<T>(std::cos(0.3 * static_cast<double>(i))),
    sin[i] = convert<T>(std::sin(0.3 * static_cast<double>(i)));
  for (int64_t i = 0; i < ids.size(); ++i) ids[i] = i % 3 == 2 ? -1 - i % positions : i * 5 % positions;
  for (int64_t b = 0; b < k.batch; ++b)
    for (int64_t h = 0; h < k.heads; ++h)
      for (int64_t s = 0; s < k.steps; ++s) {
        const int64_t at = k.packed ? ((b * k.steps + s) * k.heads + h) * k.size
                                    : ((b * k.heads + h) * k.steps + s) * k.size;
        int64_t angle = b * k.steps + s;
        if (k.ids) angle = ids[angle] < 0 ? ids[angle] + positions : ids[angle];
        for (int64_t i = 0; i < k.size; ++i) y[at + i] = x[at + i];
        for (int64_t p = 0; p < pairs; ++p) {
          const int64_t u = at + (k.interleaved ? 2 * p : p), v = k.interleaved ? u + 1 : u + pairs;
          const auto c = convert<double>(cos[angle * pairs + p]), n = convert<double>(sin[angle * pairs + p]);
          const auto xu = convert<double>(x[u]), xv = convert<double>(x[v]);
          y[u] = convert<T>(c * xu - n * xv);
          y[v] = convert<T>(n * xu + c * xv);
        }
      }
  op::RotaryEmbedding op{.interleaved = k.interleaved, .rotary_embedding_dim = k.rotated};
  if (k.packed) op.num_heads = k.heads;
  Value positions_of;
  if (k.ids) positions_of = std::move(ids);
  const Value in[] = {std::move(x), std::move(cos), std::move(sin)};
  check(op, {in[0], in[1], in[2], positions_of}, {std::move(y)}, tolerance, tolerance);
}

}  // namespace

TEST_CASE("RotaryEmbedding: layouts, caches, part of a head, types") {
  for (bool packed : {false, true})
    for (int64_t interleaved : {0, 1})
      for (bool ids : {false, true})
        for (int64_t rotated : {0, 4}) {
          const Case k{.rotated = rotated, .interleaved = interleaved, .ids = ids, .packed = packed};
          check_case<float>(k, 1e-6);
          check_case<float16>(k, 2e-3);
          check_case<bfloat16>(k, 2e-2);
        }
  check_case<float>({.batch = 1, .heads = 16, .steps = 33, .size = 64}, 1e-6);
  check_case<float>({.batch = 0}, 1e-6);
  check_case<float>({.steps = 0, .packed = true}, 1e-6);
}

TEST_CASE("RotaryEmbedding: NaN stays with its pair") {
  check(op::RotaryEmbedding{},
        {t<float>({1, 1, 1, 4}, {NAN, 1, 2, 3}), t<float>({1, 2}, {1, 1}), t<float>({1, 2}, {0, 0}),
         t<int64_t>({1, 1}, {0})},
        {t<float>({1, 1, 1, 4}, {NAN, 1, NAN, 3})});
}

TEST_CASE("RotaryEmbedding: errors") {
  const auto zeros = [](const Extents& e) -> Value { return Tensor<float>(e); };
  const Value x = zeros({1, 2, 3, 4}), packed = zeros({1, 3, 8}), cache = zeros({5, 2}),
              own = zeros({1, 3, 2}), ids = t<int64_t>({1, 3}, {0, 1, 4});
  using R = op::RotaryEmbedding;
  check(R{}, {x, cache, cache, ids}, {x});
  check_fails(R{}, {x, cache, cache, t<int64_t>({1, 3}, {0, 1, 5})}, "position 5 outside of 5");
  check_fails(R{}, {x, cache, cache, t<int64_t>({1, 3}, {0, INT64_MIN, 1})}, "outside of 5");
  check_fails(R{}, {zeros({2, 3}), cache, cache, ids}, "X: rank 2, expected 3 or 4");
  check_fails(R{}, {packed, cache, cache, ids}, "X of rank 3 needs num_heads");
  check_fails(R{.num_heads = 0}, {packed, cache, cache, ids}, "num_heads: 0, expected at least 1");
  check_fails(R{.num_heads = 3}, {packed, cache, cache, ids}, "8 numbers do not make 3 heads");
  check_fails(R{.num_heads = 8}, {packed, cache, cache, ids}, "heads of size 1 are no pairs");
  check_fails(R{.rotary_embedding_dim = 3}, {x, cache, cache, ids}, "expected an even number");
  check_fails(R{.rotary_embedding_dim = -2}, {x, cache, cache, ids}, "expected an even number");
  check_fails(R{.rotary_embedding_dim = 6}, {x, cache, cache, ids}, "heads are of size 4");
  check_fails(R{}, {x, cache, cache}, "cos_cache: rank 2, expected 3");
  check_fails(R{}, {x, own, own, ids}, "cos_cache: rank 3, expected 2");
  check_fails(R{}, {x, zeros({1, 2, 2}), own}, "cos_cache: (1,2,2), expected (1,3,?)");
  check_fails(R{}, {x, zeros({5, 1}), zeros({5, 1}), ids}, "cos_cache: (5,1), expected 2 angles a position");
  check_fails(R{}, {x, zeros({5, 3}), zeros({5, 3}), ids}, "cos_cache: (5,3), expected 2 angles a position");
  check_fails(R{}, {x, zeros({1, 3, 3}), zeros({1, 3, 3})},
              "cos_cache: (1,3,3), expected 2 angles a position");
  check_fails(R{.rotary_embedding_dim = 2}, {x, cache, cache, ids},
              "cos_cache: (5,2), expected 1 angles a position");
  check_fails(R{.interleaved = 7}, {x, cache, cache, ids}, "interleaved: 7, expected 0 or 1");
  check_fails(R{}, {x, cache, cache, t<int64_t>({1, 3}, {0, -6, 1})}, "position -6 outside of 5");
  check_fails(R{}, {x, cache, zeros({4, 2}), ids}, "extents of cos_cache and sin_cache differ: 5 and 4");
  check_fails(R{}, {x, cache, cache, t<int64_t>({3}, {0, 1, 2})}, "position_ids: (3), expected (1,3)");
}

TEST_CASE("RotaryEmbedding: symbols, a typed call") {
  const auto b = Dim::symbol(1), s = Dim::symbol(2);
  const auto cache = info(DType::float32, {9, 4});
  CHECK(infer(op::RotaryEmbedding{},
              {info(DType::float32, {b, 3, s, 8}), cache, cache, info(DType::int64, {b, s})})[0]
            .dims == Dims{b, 3, s, 8});
  CHECK(infer(op::RotaryEmbedding{.num_heads = 2},
              {info(DType::float32, {b, s, Dim()}), cache, cache, info(DType::int64, Dims())})[0]
            .dims == Dims{b, s, Dim()});
  CHECK(!infer(op::RotaryEmbedding{},
               {info(DType::float32, Dims()), cache, cache, info(DType::int64, Dims())})[0]
             .dims.ranked());
  const Tensor<float> x({1, 1, 1, 2}, {1, 2}), cos({1, 1}, {0}), sin({1, 1}, {1});
  const Tensor<int64_t> ids({1, 1}, {0});
  const auto y = op::RotaryEmbedding{}(x, cos, sin, ids);
  CHECK(y[0] == -2);
  CHECK(y[1] == 1);
}
}  // namespace tenon
