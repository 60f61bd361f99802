#include "tenon/op/nn/tf_idf_vectorizer.hpp"

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;
using V = op::TfIdfVectorizer;

namespace {
/// Of 1-grams 2, 3, 5, 4 and of 2-grams 5 6, 7 8, 6 7.
V numbers(int64_t least, int64_t most, int64_t skips, const char* mode, std::vector<float> weights = {}) {
  return {.max_gram_length = most,
          .max_skip_count = skips,
          .min_gram_length = least,
          .mode = mode,
          .ngram_counts = {0, 4},
          .ngram_indexes = {0, 1, 2, 3, 4, 5, 6},
          .pool_int64s = {2, 3, 5, 4, 5, 6, 7, 8, 6, 7},
          .weights = std::move(weights)};
}
}  // namespace

TEST_CASE("TfIdfVectorizer: numbers") {
  const Value row = t<int64_t>({12}, {1, 1, 3, 3, 3, 7, 8, 6, 7, 5, 6, 8});
  const Value rows = t<int32_t>({2, 6}, {1, 1, 3, 3, 3, 7, 8, 6, 7, 5, 6, 8});
  const std::vector<float> weights{1, 2, 3, 4, 5, 6, 7};
  struct Row {
    V op;
    Value x, y;
  } cases[] = {
      {numbers(2, 2, 0, "TF"), row, t<float>({7}, {0, 0, 0, 0, 1, 1, 1})},
      {numbers(2, 2, 5, "TF"), row, t<float>({7}, {0, 0, 0, 0, 1, 3, 1})},
      {numbers(1, 2, 5, "TF"), row, t<float>({7}, {0, 3, 1, 0, 1, 3, 1})},
      {numbers(1, 2, INT64_MAX, "TF"), row, t<float>({7}, {0, 3, 1, 0, 1, 3, 1})},
      {numbers(1, 1, INT64_MAX, "TF"), row, t<float>({7}, {0, 3, 1, 0, 0, 0, 0})},
      {numbers(1, INT64_MAX, 0, "TF"), row, t<float>({7}, {0, 3, 1, 0, 1, 1, 1})},
      {numbers(3, INT64_MAX, 9, "TF"), row, t<float>({7}, {0, 0, 0, 0, 0, 0, 0})},
      {numbers(2, 2, 0, "TF"), rows, t<float>({2, 7}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1})},
      {numbers(2, 2, 5, "IDF"), row, t<float>({7}, {0, 0, 0, 0, 1, 1, 1})},
      {numbers(1, 2, 5, "IDF", weights), row, t<float>({7}, {0, 2, 3, 0, 5, 6, 7})},
      {numbers(1, 2, 5, "TFIDF", weights), row, t<float>({7}, {0, 6, 3, 0, 5, 18, 7})},
      {numbers(1, 2, 5, "TFIDF"), row, t<float>({7}, {0, 3, 1, 0, 1, 3, 1})},
      {numbers(1, 2, 0, "TF"), t<int64_t>({0}, {}), t<float>({7}, {0, 0, 0, 0, 0, 0, 0})},
      {numbers(1, 2, 0, "TF"), t<int64_t>({1, 0}, {}), t<float>({1, 7}, {0, 0, 0, 0, 0, 0, 0})},
      {numbers(1, 2, 0, "TF"), t<int64_t>({0, 3}, {}), t<float>({0, 7}, {})},
  };
  for (const Row& c : cases) check(c.op, {c.x}, {c.y});
}

TEST_CASE("TfIdfVectorizer: strings, columns in any order, an n-gram that begins another") {
  const V words{.max_gram_length = 3,
                .max_skip_count = 1,
                .min_gram_length = 1,
                .mode = "TFIDF",
                .ngram_counts = {0, 2, 4},
                .ngram_indexes = {3, 0, 1, 5},
                .pool_strings = {"a", "b", "a", "b", "a", "b", "a"},
                .weights = {10, 100, 1000, 0.5f}};
  // a twice, b once; "a b" at 0 1 only; "a b a" at 0 1 2.
  check(words, {t<std::string>({3}, {"a", "b", "a"})}, {t<float>({6}, {100, 1000, 0, 20, 0, 0.5f})});
  // One left out between two: a x b and b x a.
  check(words, {t<std::string>({5}, {"a", "x", "b", "x", "a"})},
        {t<float>({6}, {100, 1000, 0, 20, 0, 0.5f})});
  check(words, {t<std::string>({1, 1}, {"c"})}, {t<float>({1, 6}, {0, 0, 0, 0, 0, 0})});
  // The same n-gram twice counts at both columns, and two n-grams may share one.
  V twice = words;
  twice.mode = "TF";
  twice.pool_strings[1] = "a";
  check(twice, {t<std::string>({1}, {"a"})}, {t<float>({6}, {1, 0, 0, 1, 0, 0})});
  twice.ngram_indexes[1] = 3;
  check(twice, {t<std::string>({1}, {"a"})}, {t<float>({6}, {0, 0, 0, 2, 0, 0})});
  twice.weights.clear();
  twice.mode = "IDF";
  check(twice, {t<std::string>({1}, {"a"})}, {t<float>({6}, {0, 0, 0, 1, 0, 0})});
}

TEST_CASE("TfIdfVectorizer: errors") {
  const Value x = t<int64_t>({1}, {2});
  const auto with = [](auto change) {
    V v = numbers(1, 2, 0, "TF");
    change(v);
    return v;
  };
  check_fails(V{}, {x}, "mode is missing");
  check_fails(numbers(1, 2, 0, "BM25"), {x}, "mode: 'BM25', expected TF, IDF or TFIDF");
  check_fails(numbers(0, 2, 0, "TF"), {x}, "min_gram_length: 0, expected at least 1");
  check_fails(numbers(3, 2, 0, "TF"), {x}, "max_gram_length: 2, expected at least 3");
  check_fails(numbers(1, 2, -1, "TF"), {x}, "max_skip_count: -1, expected at least 0");
  check_fails(numbers(1, 2, 0, "TF", {1}), {x}, "weights: 1 entries, expected 7");
  check_fails(numbers(1, 2, 0, "TF"), {t<std::string>({1}, {"a"})},
              "X is tensor(string), but the pool is of integers");
  check_fails(numbers(1, 2, 0, "TF"), {t<int64_t>({}, {2})}, "X: (), expected (C) or (N,C)");
  check_fails(numbers(1, 2, 0, "TF"), {t<int64_t>({1, 1, 1}, {2})}, "X: (1,1,1), expected");
  check_fails(numbers(1, 2, 0, "TF"), {t<float>({1}, {2})}, "input X cannot be tensor(float)");
  check_fails(with([](V& v) { v.pool_strings = {"a"}; }), {x}, "one of pool_int64s and pool_strings");
  check_fails(with([](V& v) { v.pool_int64s.clear(); }), {x}, "one of pool_int64s and pool_strings");
  check_fails(with([](V& v) { v.ngram_indexes.clear(); }), {x}, "ngram_indexes is empty");
  check_fails(with([](V& v) { v.ngram_indexes[3] = -1; }), {x}, "ngram_indexes: -1, expected at least 0");
  check_fails(with([](V& v) { v.ngram_indexes[3] = INT64_MAX; }), {x}, "ngram_indexes: 9223372036854775807");
  check_fails(with([](V& v) { v.ngram_indexes.pop_back(); }), {x}, "ngram_indexes: 6 entries for 7 n-grams");
  check_fails(with([](V& v) { v.ngram_counts[0] = -1; }), {x}, "ngram_counts: [-1, 4) of 10 items");
  check_fails(with([](V& v) { v.ngram_counts[1] = 11; }), {x}, "ngram_counts: [0, 11) of 10 items");
  check_fails(with([](V& v) { v.ngram_counts = {4, 2}; }), {x}, "ngram_counts: [4, 2) of 10 items");
  check_fails(with([](V& v) { v.ngram_counts[1] = 5; }), {x}, "5 items are no 2-grams");
}

TEST_CASE("TfIdfVectorizer: symbols, called") {
  const auto n = Dim::symbol(1);
  const V v = numbers(1, 2, 0, "TF");
  CHECK(infer(v, {info(DType::int32, {n})})[0].dims == Dims{7});
  CHECK(infer(v, {info(DType::int32, {n, 3})})[0].dims == Dims{n, 7});
  CHECK(infer(v, {info(DType::int32, {n, 3})})[0].type == Type(DType::float32));
  CHECK_FALSE(infer(v, {info(DType::int32, {})})[0].dims.ranked());
  check_equal(v(Tensor<int64_t, Shape<2>>{3, 3}), t<float>({7}, {0, 2, 0, 0, 0, 0, 0}));
}
}  // namespace tenon
