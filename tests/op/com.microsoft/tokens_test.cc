#include <limits>

#include "tenon/op/com.microsoft/bifurcation_detector.hpp"
#include "tenon/op/com.microsoft/dynamic_time_warping.hpp"
#include "tenon/op/com.microsoft/n_gram_hash_mapping.hpp"
#include "tenon/op/com.microsoft/n_gram_repeat_block.hpp"
#include "tests/op/recorded.hpp"

namespace tenon {
using namespace test;
using op::com_microsoft::BifurcationDetector, op::com_microsoft::DynamicTimeWarping,
    op::com_microsoft::NGramHashMapping, op::com_microsoft::NGramRepeatBlock;

TEST_CASE("Operators of com.microsoft on tokens: results of ONNX Runtime") {
  check_recorded("com.microsoft/tokens.txt",
                 {&operator_class<BifurcationDetector>, &operator_class<DynamicTimeWarping>,
                  &operator_class<NGramHashMapping>, &operator_class<NGramRepeatBlock>});
}

TEST_CASE("com.microsoft.DynamicTimeWarping: nothing, NaN, what it refuses, symbols, typed") {
  check(DynamicTimeWarping{}, {t<float>({0, 3}, {})}, {t<int32_t>({2, 0}, {})});
  check(DynamicTimeWarping{}, {t<float>({3, 0}, {})}, {t<int32_t>({2, 0}, {})});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  check(DynamicTimeWarping{}, {t<float>({2, 2}, {nan, nan, nan, nan})}, {t<int32_t>({2, 2}, {1, 1, 0, 1})});
  check_fails(DynamicTimeWarping{}, {t<float>({2, 1, 2}, {1, 2, 3, 4})},
              "input: (2,1,2), expected one matrix");
  check_fails(DynamicTimeWarping{}, {t<float>({2}, {1, 2})}, "input: (2), expected one matrix");
  CHECK(infer(DynamicTimeWarping{}, {info(DType::float32, {Dim::symbol(1), 3})})[0].dims == Dims{2, Dim()});
  const Value y = DynamicTimeWarping{}(Tensor<float>({1, 2}, {1, 2}));
  CHECK(y.view<int32_t>()[3] == 1);
}

TEST_CASE("com.microsoft.NGramRepeatBlock: what it refuses, symbols, typed") {
  const NGramRepeatBlock pairs{.ngram_size = 2};
  const Value scores = t<float>({1, 3}, {1, 2, 3});
  const float none = -std::numeric_limits<float>::infinity();
  check(pairs, {t<int64_t>({1, 3}, {9, 1, 9}), scores}, {t<float>({1, 3}, {1, none, 3})});
  check(pairs, {t<int64_t>({1, 0}, {}), scores}, {scores});
  check(pairs, {t<int64_t>({0, 4}, {}), t<float>({0, 3}, {})}, {t<float>({0, 3}, {})});
  check_fails(pairs, {t<int64_t>({1, 3}, {9, 3, 9}), scores}, "token 3 outside of [0, 2]");
  check_fails(pairs, {t<int64_t>({1, 3}, {9, -1, 9}), scores}, "token -1 outside of [0, 2]");
  check_fails(pairs, {t<int64_t>({2, 1}, {0, 0}), scores}, "entries of input_ids and scores");
  check_fails(NGramRepeatBlock{}, {t<int64_t>({1, 1}, {0}), scores}, "ngram_size");
  check_fails(pairs, {t<int64_t>({1}, {0}), scores}, "input_ids: rank 1, expected 2");
  const auto n = Dim::symbol(1);
  CHECK(infer(pairs, {info(DType::int64, {n, Dim()}), info(DType::float32, {Dim(), 9})})[0].dims ==
        Dims{n, 9});
  const Value y = pairs(Tensor<int64_t>({1, 3}, {0, 1, 0}), Tensor<float>({1, 2}, {5, 6}));
  CHECK(y.view<float>()[0] == 5);
}

TEST_CASE("com.microsoft.BifurcationDetector: what it refuses, symbols") {
  const auto ids = [](std::initializer_list<int64_t> list) {
    return t<int64_t>({static_cast<int64_t>(list.size())}, list);
  };
  check(BifurcationDetector{}, {ids({}), ids({}), t<int64_t>({}, {0}), ids({4})},
        {ids({4}), t<int64_t>({}, {-1})});
  check_fails(BifurcationDetector{}, {ids({1, 2}), ids({1}), ids({1}), ids({2})},
              "1 predictions do not fit 2 tokens from 1 on", 2);
  check_fails(BifurcationDetector{}, {ids({1, 2}), ids({1}), ids({3}), ids({})}, "from 3 on", 2);
  check_fails(BifurcationDetector{}, {ids({1, 2}), ids({1}), ids({-1}), ids({1, 2, 3, 4})}, "from -1 on", 2);
  check_fails(BifurcationDetector{.max_ngram_size = 1, .min_ngram_size = 2}, {ids({1}), ids({1}), ids({0})},
              "max_ngram_size: 1", 2);
  check_fails(BifurcationDetector{}, {ids({1}), ids({1}), ids({0, 0})},
              "prev_suffix_match_idx: (2), expected one element", 2);
  const std::vector<op::Info> out =
      infer(BifurcationDetector{},
            {info(DType::int64, {Dim()}), info(DType::int64, {Dim()}), info(DType::int64, {1})}, 2);
  CHECK(out[0].dims == Dims{Dim()});
  CHECK(out[1].dims == Dims{1});
}

TEST_CASE("com.microsoft.NGramHashMapping: nothing, what it refuses, symbols, typed") {
  const NGramHashMapping pairs{.max_ngram_size = 2, .n_head_per_ngram = 1, .pad_id = 0};
  const auto ids = [](std::initializer_list<int64_t> list) {
    return t<int64_t>({static_cast<int64_t>(list.size())}, list);
  };
  const Value row = t<int64_t>({1, 2}, {5, 6}), sizes = ids({100});
  check(pairs, {t<int64_t>({2, 0}, {}), ids({1, 3}), sizes, t<int64_t>({2, 1}, {8, 9})},
        {t<int64_t>({2, 0, 1}, {}), t<int64_t>({2, 1}, {8, 9})});
  check_fails(pairs, {row, ids({1, 3}), ids({0})}, "vocab_sizes: 0 at 0, expected at least 1", 2);
  check_fails(pairs, {row, ids({1}), sizes}, "multipliers: (1), expected (2)", 2);
  check_fails(pairs, {row, ids({1, 3}), ids({1, 2})}, "vocab_sizes: (2), expected (1)", 2);
  check_fails(pairs, {row, ids({1, 3}), sizes, t<int64_t>({1, 2}, {1, 2})}, "past_ids: (1,2), expected (1,1)",
              2);
  check_fails(pairs, {ids({1}), ids({1, 3}), sizes}, "input_ids: rank 1, expected 2", 2);
  check_fails(NGramHashMapping{.max_ngram_size = 1, .n_head_per_ngram = 1, .pad_id = 0},
              {row, ids({1}), ids({})}, "max_ngram_size: 1, expected at least 2", 2);
  check_fails(NGramHashMapping{.max_ngram_size = 2, .n_head_per_ngram = 1, .pad_id = int64_t{1} << 40},
              {t<int32_t>({1, 1}, {1}), t<int32_t>({2}, {1, 1}), t<int32_t>({1}, {9})},
              "pad_id 1099511627776 is no int32", 2);
  const auto n = Dim::symbol(1), s = Dim::symbol(2);
  const auto y = infer(NGramHashMapping{.max_ngram_size = 4, .n_head_per_ngram = 5, .pad_id = 0},
                       {info(DType::int64, {n, s}), info(DType::int64, {}), info(DType::int64, {})}, 2);
  CHECK(y[0].dims == Dims{n, s, 15});
  CHECK(y[1].dims == Dims{n, 3});
  const Value hashes =
      pairs(Tensor<int64_t>({1, 2}, {5, 6}), Tensor<int64_t>({2}, {1, 3}), Tensor<int64_t>({1}, {100}));
  CHECK(hashes.view<int64_t>()[1] == 9);
}
}  // namespace tenon
