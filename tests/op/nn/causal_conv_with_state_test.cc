#include "tenon/op/nn/causal_conv_with_state.hpp"

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;

TEST_CASE("CausalConvWithState: cases") {
  const Value x = t<float>({1, 2, 3}, {1, 2, 3, 4, 5, 6}), w = t<float>({2, 1, 2}, {10, 1, 0, 2});
  const Value none_, bias = t<float>({2}, {100, -1}), past = t<float>({1, 2, 1}, {7, 8});
  const auto silu = [](float v) { return v / (1 + std::exp(-v)); };
  struct Row {
    op::CausalConvWithState op;
    std::vector<Value> in, out;
  } rows[] = {
      {{}, {x, w}, {t<float>({1, 2, 3}, {1, 12, 23, 8, 10, 12}), t<float>({1, 2, 1}, {3, 6})}},
      {{}, {x, w, bias}, {t<float>({1, 2, 3}, {101, 112, 123, 7, 9, 11}), t<float>({1, 2, 1}, {3, 6})}},
      {{}, {x, w, none_, past}, {t<float>({1, 2, 3}, {71, 12, 23, 8, 10, 12}), t<float>({1, 2, 1}, {3, 6})}},
      {{}, {x, w, bias, past}, {t<float>({1, 2, 3}, {171, 112, 123, 7, 9, 11}), t<float>({1, 2, 1}, {3, 6})}},
      {{.activation = "silu"},
       {t<float>({1, 1, 2}, {1, -1}), t<float>({1, 1, 1}, {2})},
       {t<float>({1, 1, 2}, {silu(2), silu(-2)}), t<float>({1, 1, 0}, {})}},
      {{.activation = "swish"},
       {t<float>({1, 1, 2}, {1, -1}), t<float>({1, 1, 1}, {2}), t<float>({1}, {1})},
       {t<float>({1, 1, 2}, {silu(3), silu(-1)}), t<float>({1, 1, 0}, {})}},
      // An input shorter than the state.
      {{},
       {t<float>({1, 1, 1}, {5}), t<float>({1, 1, 4}, {1, 2, 3, 4})},
       {t<float>({1, 1, 1}, {20}), t<float>({1, 1, 3}, {0, 0, 5})}},
      {{},
       {t<float>({1, 1, 1}, {5}), t<float>({1, 1, 4}, {1, 2, 3, 4}), none_, t<float>({1, 1, 3}, {1, 2, 3})},
       {t<float>({1, 1, 1}, {34}), t<float>({1, 1, 3}, {2, 3, 5})}},
      {{},
       {t<float>({1, 1, 0}, {}), t<float>({1, 1, 3}, {1, 2, 3}), none_, t<float>({1, 1, 2}, {1, 2})},
       {t<float>({1, 1, 0}, {}), t<float>({1, 1, 2}, {1, 2})}},
      {{}, {t<float>({0, 2, 3}, {}), w}, {t<float>({0, 2, 3}, {}), t<float>({0, 2, 1}, {})}},
      {{},
       {t<float>({1, 0, 3}, {}), t<float>({0, 1, 2}, {})},
       {t<float>({1, 0, 3}, {}), t<float>({1, 0, 1}, {})}},
      {{},
       {cast<float16>({1, 1, 2}, {1, 2}), cast<float16>({1, 1, 2}, {10, 1}), none_,
        cast<float16>({1, 1, 1}, {3})},
       {cast<float16>({1, 1, 2}, {31, 12}), cast<float16>({1, 1, 1}, {2})}},
      {{},
       {cast<bfloat16>({1, 1, 2}, {1, 2}), cast<bfloat16>({1, 1, 2}, {10, 1}), cast<bfloat16>({1}, {1})},
       {cast<bfloat16>({1, 1, 2}, {2, 13}), cast<bfloat16>({1, 1, 1}, {2})}},
  };
  for (const Row& row : rows) check(row.op, row.in, row.out);
  // 2049 is no float16: the sum becomes 2048 before the bias is added.
  check(op::CausalConvWithState{},
        {cast<float16>({1, 1, 1}, {683}), cast<float16>({1, 1, 1}, {3}), cast<float16>({1}, {1})},
        {cast<float16>({1, 1, 1}, {2048}), cast<float16>({1, 1, 0}, {})});
}

TEST_CASE("CausalConvWithState: pieces give what the whole gives") {
  constexpr int64_t batch = 2, channels = 5, length = 40, kernel = 4, cut = 17;
  const auto numbers = [](Extents e, int64_t from) {
    Tensor<float> v(e);
    for (int64_t k = 0; k < v.size(); ++k) v[k] = static_cast<float>((k + from) * 7919 % 101 - 50) / 8;
    return v;
  };
  const Tensor<float> x = numbers({batch, channels, length}, 0), w = numbers({channels, 1, kernel}, 5);
  const auto piece = [&](const Tensor<float>& v, int64_t first, int64_t last) {
    Tensor<float> p(Extents{batch, channels, last - first});
    for (int64_t r = 0; r < batch * channels; ++r)
      std::copy_n(v.data() + r * length + first, last - first, p.data() + r * (last - first));
    return p;
  };
  const op::CausalConvWithState op;
  const auto whole = run(op, {x.clone(), w.clone()}, 2);
  const auto first = run(op, {piece(x, 0, cut), w.clone()}, 2);
  const auto second = run(op, {piece(x, cut, length), w.clone(), Value(), first[1]}, 2);
  Tensor<float> y(Extents{batch, channels, length});
  std::copy_n(whole[0].view<float>().data(), y.size(), y.data());
  check_equal(first[0], piece(y, 0, cut));
  check_equal(second[0], piece(y, cut, length));
  check_equal(second[1], whole[1]);
}

TEST_CASE("CausalConvWithState: no elements, whatever the batch") {
  const Value x = Tensor<float>(Extents{int64_t{1} << 62, 4, 0});
  check(op::CausalConvWithState{}, {x, t<float>({4, 1, 1}, {1, 2, 3, 4})}, {x, x});
}

TEST_CASE("CausalConvWithState: errors, symbols, and typed") {
  const Value x = t<float>({1, 2, 3}, {1, 2, 3, 4, 5, 6}), w = t<float>({2, 1, 2}, {10, 1, 0, 2});
  const op::CausalConvWithState op;
  check_fails(op::CausalConvWithState{.activation = "relu"}, {x, w},
              "activation: 'relu', expected none, silu or swish", 2);
  check_fails(op, {t<float>({2, 3}, {1, 2, 3, 4, 5, 6}), w}, "input: rank 2, expected 3", 2);
  check_fails(op, {x, t<float>({2, 2}, {1, 2, 3, 4})}, "weight: rank 2, expected 3", 2);
  check_fails(op, {x, t<float>({1, 1, 2}, {1, 2})}, "channels of input and weight differ: 2 and 1", 2);
  check_fails(op, {x, t<float>({2, 2, 1}, {1, 2, 3, 4})}, "weight (2,2,1) is not (C,1,k)", 2);
  check_fails(op, {x, t<float>({2, 1, 0}, {})}, "weight's last extent: 0, expected at least 1", 2);
  check_fails(op, {x, w, t<float>({1}, {1})}, "channels of input and bias differ: 2 and 1", 2);
  check_fails(op, {x, w, Value(), t<float>({1, 2, 2}, {1, 2, 3, 4})},
              "k-1 and past_state's last extent differ: 1 and 2", 2);
  check_fails(op, {x, w, Value(), t<float>({2, 2, 1}, {1, 2, 3, 4})},
              "batches of input and past_state differ", 2);
  check_fails(op, {t<double>({1, 1, 1}, {1}), w}, "input input cannot be tensor(double)", 2);
  const auto n = Dim::symbol(1), length = Dim::symbol(2), k = Dim::symbol(3);
  const auto out = infer(op, {info(DType::float32, {n, 4, length}), info(DType::float32, {4, 1, 3})}, 2);
  CHECK(out[0].dims == Dims{n, 4, length});
  CHECK(out[1].dims == Dims{n, 4, 2});
  CHECK(infer(op, {info(DType::float32, Dims()), info(DType::float32, {4, 1, k})}, 2)[1].dims ==
        Dims{Dim(), 4, Dim()});
  Tensor<float, Shape<1, 1, 2>> a{{{1, 2}}};
  Tensor<float, Shape<1, 1, 2>> b{{{10, 1}}};
  const auto y = apply<op::CausalConvWithState{}, 2>(a, b);
  static_assert(std::is_same_v<std::tuple_element_t<1, std::remove_const_t<decltype(y)>>,
                               Tensor<float, Shape<1, 1, 1>>>);
  CHECK(std::get<0>(y)(0, 0, 1) == 12);
}
}  // namespace tenon
