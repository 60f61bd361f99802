// A block of a transformer: a text at once, and word by word with the keys and values of the past.
#include <algorithm>
#include <cstdio>

#include "tenon/array/math.hpp"
#include "tenon/array/random.hpp"
#include "tenon/array/slice.hpp"
#include "tenon/op/math/gelu.hpp"
#include "tenon/op/nn/attention.hpp"
#include "tenon/op/nn/layer_normalization.hpp"

namespace {
using namespace tenon;

constexpr int64_t width = 32, heads = 4, words = 8;
using Words = Tensor<float, Shape<1, dyn, width>>;
using Past = Tensor<float, Shape<1, heads, dyn, width / heads>>;

// Weights such as a training would leave; a seed stands for the same ones everywhere.
template <int64_t... E>
Tensor<float, Shape<E...>> weights(uint64_t seed) {
  return normal<float, Shape<E...>>(seed, 0, 0.2);
}

struct Block {
  Tensor<float, Shape<width>> norm1 = weights<width>(1), norm2 = weights<width>(2);
  Tensor<float, Shape<width, width>> query = weights<width, width>(3), key = weights<width, width>(4),
                                     value = weights<width, width>(5), out = weights<width, width>(6);
  Tensor<float, Shape<width, 4 * width>> up = weights<width, 4 * width>(7);
  Tensor<float, Shape<4 * width, width>> down = weights<4 * width, width>(8);

  // y = a + mlp(norm(a)) for a = x + attention(norm(x)). New keys and values follow the past ones.
  Words operator()(const Words& x, Past& keys, Past& values) const {
    constexpr op::Attention attention{.is_causal = 1, .kv_num_heads = heads, .q_num_heads = heads};
    const auto h = apply<op::LayerNormalization{}>(x, norm1);
    auto [mixed, all_keys, all_values] =
        apply<attention, 3>(matmul(h, query), matmul(h, key), matmul(h, value), none, keys, values);
    keys = std::move(all_keys), values = std::move(all_values);

    const Words a = x + matmul(mixed, out);
    return a + matmul(apply<op::Gelu{}>(matmul(apply<op::LayerNormalization{}>(a, norm2), up)), down);
  }
};
}  // namespace

int main() {
  const Block block;
  const Words text = weights<1, words, width>(9);
  Past keys({1, heads, 0, width / heads}), values({1, heads, 0, width / heads});
  const Words at_once = block(text, keys, values);

  keys = Past({1, heads, 0, width / heads}), values = keys.clone();
  float difference = 0;
  for (int64_t k = 0; k < words; ++k) {
    const auto one = range(k, k + 1);
    const Words y = block(slice(text, all, one), keys, values);
    difference = std::max(difference, max(abs(y - slice(at_once, all, one))).item());
  }
  std::printf("keys and values held: %s\n", to_string(keys.extents()).c_str());
  std::printf("word by word as at once: %s\n", difference < 1e-5f ? "yes" : "no");
  return difference < 1e-5f ? 0 : 1;
}
