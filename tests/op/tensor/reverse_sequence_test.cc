#include "tenon/op/tensor/reverse_sequence.hpp"

#include "tests/op/movement.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

TEST_CASE("ReverseSequence: every type and layout, against the definition") {
  const int64_t lengths[] = {4, 0, 1, 3};
  for (const Extents& in : {Extents{4, 4}, {4, 4, 3}, {4, 4, 2, 2}})
    for (int64_t batch : {0, 1})
      for_types(op::ReverseSequence::spec.types[0], [&](DType d) {
        const Value x = pattern(d, in);
        const Value y = run(op::ReverseSequence{.batch_axis = batch, .time_axis = 1 - batch},
                            {x, Tensor<int64_t>({4}, lengths, lengths + 4)})[0];
        check_moved(y.tensor(), x.tensor(), in, [&](Extents i) {
          const int64_t n = lengths[i[batch]];
          if (i[1 - batch] < n) i[1 - batch] = n - 1 - i[1 - batch];
          return place(in, i);
        });
      });
}

TEST_CASE("ReverseSequence: cases") {
  const Value x = t<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  check(op::ReverseSequence{}, {x, t<int64_t>({3}, {2, 1, 2})}, {t<float>({2, 3}, {4, 2, 6, 1, 5, 3})});
  check(stated<op::ReverseSequence>(10, {{"batch_axis", int64_t{0}}, {"time_axis", int64_t{1}}}),
        {x, t<int64_t>({2}, {3, 2})}, {t<float>({2, 3}, {3, 2, 1, 5, 4, 6})});
  check(op::ReverseSequence{}, {t<float>({2, 0}, {}), t<int64_t>({0}, {})}, {t<float>({2, 0}, {})});
  check(op::ReverseSequence{}, {t<float>({0, 1}, {}), t<int64_t>({1}, {0})}, {t<float>({0, 1}, {})});
}

TEST_CASE("ReverseSequence: errors, symbols, typed") {
  const Value x = t<float>({2, 1}, {1, 2}), n = t<int64_t>({1}, {1});
  check_fails(op::ReverseSequence{}, {x, t<int64_t>({1}, {3})}, "length 3 outside of [0, 2]");
  check_fails(op::ReverseSequence{}, {x, t<int64_t>({1}, {-1})}, "length -1 outside of [0, 2]");
  check_fails(op::ReverseSequence{}, {x, t<int64_t>({2}, {1, 1})},
              "extents of batch and sequence_lens differ: 1 and 2");
  check_fails(op::ReverseSequence{}, {x, t<int64_t>({}, {1})}, "sequence_lens: rank 0, expected 1");
  check_fails(op::ReverseSequence{}, {t<float>({1}, {1}), n}, "input: rank 1, expected at least 2");
  check_fails(op::ReverseSequence{.batch_axis = 2}, {x, n}, "batch_axis: 2, expected 0 or 1");
  check_fails(op::ReverseSequence{.time_axis = -1}, {x, n}, "time_axis: -1, expected 0 or 1");
  check_fails(op::ReverseSequence{.batch_axis = 0}, {x, n}, "batch_axis and time_axis are both 0");
  const auto s = Dim::symbol(1);
  CHECK(infer(op::ReverseSequence{}, {info(DType::float32, {s, 2}), info(DType::int64, {2})})[0].dims ==
        Dims{s, 2});
  auto y = apply<op::ReverseSequence{}>(Tensor<float, Shape<2, 2>>{{{1, 2}, {3, 4}}},
                                        Tensor<int64_t, Shape<2>>{2, 1});
  static_assert(std::is_same_v<decltype(y), Tensor<float, Shape<2, 2>>>);
  CHECK(y[0] == 3);
}
}  // namespace tenon
