// TfIdfVectorizer: how often n-grams occur in rows.   onnx.ai/onnx/operators/onnx__TfIdfVectorizer.html
#pragma once

#include "tenon/base/parallel.hpp"
#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op {

namespace tf_idf_vectorizer_detail {

/// An n-gram of the pool: its first item, how many follow, and its number in the pool.
template <class T>
struct Gram {
  const T* items;
  int64_t length;
  std::size_t number;
};

/// The pool's n-grams in lexicographic order, a prefix before the n-grams that it begins. All that begin with
/// the same items are adjacent.
template <class T>
class Grams {
 public:
  void add(const T* items, int64_t length, std::size_t number) { grams_.push_back({items, length, number}); }
  void sort() {
    std::sort(grams_.begin(), grams_.end(), [](const Gram<T>& a, const Gram<T>& b) {
      return std::lexicographical_compare(a.items, a.items + a.length, b.items, b.items + b.length);
    });
  }

  /// Calls found(number) for each n-gram of at least `least` and at most `most` items that begins the `count`
  /// items row[0], row[distance], row[2 * distance], ….
  template <class X, class F>
  void find(const X* row, int64_t distance, int64_t count, int64_t least, int64_t most, F found) const {
    auto from = grams_.begin(), to = grams_.end();
    for (int64_t k = 0; k < std::min(count, most) && from < to; ++k) {
      const X& x = row[k * distance];
      from = std::lower_bound(from, to, x, [k](const Gram<T>& g, const X& y) { return g.items[k] < y; });
      to = std::upper_bound(from, to, x, [k](const X& y, const Gram<T>& g) { return y < g.items[k]; });
      for (; from < to && from->length == k + 1; ++from)
        if (k + 1 >= least) found(from->number);
    }
  }

 private:
  std::vector<Gram<T>> grams_;
};

/// Calls found(number) for each n-gram in a row of `count` items, of which up to `skips` are left out between
/// two of an n-gram. An n-gram of one item is found once.
template <class T, class X, class F>
void find_all(const Grams<T>& grams, const X* row, int64_t count, int64_t least, int64_t most, int64_t skips,
              F found) {
  for (int64_t distance = 1; distance - 1 <= skips && distance <= std::max<int64_t>(count, 1); ++distance) {
    const int64_t shortest = distance == 1 ? least : std::max<int64_t>(least, 2);
    if (shortest > most) break;
    for (int64_t at = 0; at < count; ++at) {
      const int64_t items = (count - 1 - at) / distance + 1;
      if (items < shortest) break;
      grams.find(row + at, distance, items, shortest, most, found);
    }
  }
}

}  // namespace tf_idf_vectorizer_detail

/// Counts the pool's n-grams in X (C), or in each row of X (N,C), at the columns that ngram_indexes state.
/// The pool holds all 1-grams, then all 2-grams, and so on, each beginning where ngram_counts states. N-grams
/// of min_gram_length to max_gram_length items count, with up to max_skip_count items left out between two.
/// `mode` TF gives the counts, IDF the weights of n-grams that occur, TFIDF the counts by the weights.
/// op::TfIdfVectorizer{.max_gram_length = 1, .max_skip_count = 0, .min_gram_length = 1, .mode = "TF",
/// .ngram_counts = {0}, .ngram_indexes = {0, 1}, .pool_int64s = {5, 7}}(x) of (7,7) gives (0,2).
struct TfIdfVectorizer {
  Opt<int64_t> max_gram_length{};
  Opt<int64_t> max_skip_count{};
  Opt<int64_t> min_gram_length{};
  Opt<Str> mode{};
  std::vector<int64_t> ngram_counts{};
  std::vector<int64_t> ngram_indexes{};
  std::vector<int64_t> pool_int64s{};
  std::vector<std::string> pool_strings{};
  std::vector<float> weights{};

  static constexpr Spec spec{
      .name = "TfIdfVectorizer",
      .since = {9},
      .inputs = {{"X", "T"}},
      .outputs = {{"Y", "T1"}},
      .types = {{"T", types::string | types::int32 | types::int64}, {"T1", types::float32}},
      .workspace = Workspace::heap};
  static constexpr Attributes attributes{
      attr("max_gram_length", &TfIdfVectorizer::max_gram_length).required(),
      attr("max_skip_count", &TfIdfVectorizer::max_skip_count).required(),
      attr("min_gram_length", &TfIdfVectorizer::min_gram_length).required(),
      attr("mode", &TfIdfVectorizer::mode).required(),
      attr("ngram_counts", &TfIdfVectorizer::ngram_counts).required(),
      attr("ngram_indexes", &TfIdfVectorizer::ngram_indexes).required(),
      attr("pool_int64s", &TfIdfVectorizer::pool_int64s),
      attr("pool_strings", &TfIdfVectorizer::pool_strings),
      attr("weights", &TfIdfVectorizer::weights)};

  void infer(Infer& i) const {
    if (!max_gram_length || !max_skip_count || !min_gram_length || !mode)
      return i.fail("max_gram_length, max_skip_count, min_gram_length or mode is missing");
    if (!i.expect_choice("mode", *mode, {"TF", "IDF", "TFIDF"}) ||
        !i.expect_at_least("min_gram_length", *min_gram_length, 1) ||
        !i.expect_at_least("max_gram_length", *max_gram_length, *min_gram_length) ||
        !i.expect_at_least("max_skip_count", *max_skip_count, 0))
      return;
    check_pool(i);
    if (i.failed()) return;
    const Dims& x = i.dims(0);
    if (!x.ranked()) return;
    if (x.rank() != 1 && x.rank() != 2) return i.fail("X: ", x, ", expected (C) or (N,C)");
    const int64_t greatest = *std::max_element(ngram_indexes.begin(), ngram_indexes.end());
    if (greatest == std::numeric_limits<int64_t>::max()) return i.fail("ngram_indexes: ", greatest);
    if (x.rank() == 1) i.out(0, Dims{greatest + 1});
    else i.out(0, Dims{x[0], greatest + 1});
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<float> y) const {
    compute_with(prepare<T>(), x, y);
  }
  /// The pool, sorted.
  template <class T>
  auto prepare() const {
    return sorted_pool<std::conditional_t<std::is_same_v<T, std::string>, std::string, int64_t>>();
  }
  template <class T, class Item>
  void compute_with(const tf_idf_vectorizer_detail::Grams<Item>& grams, TensorView<const T> x,
                    TensorView<float> y) const {
    const int64_t rows = x.rank() == 1 ? 1 : x.extent(0), items = x.extent(x.rank() - 1),
                  columns = y.extent(y.rank() - 1);
    std::fill(y.begin(), y.end(), 0.0f);
    parallel_for(rows, 1, [&](int64_t begin, int64_t end) {
      std::vector<int64_t> counts(ngram_indexes.size());
      for (int64_t r = begin; r < end; ++r) {
        find_all(grams, x.data() + r * items, items, *min_gram_length, *max_gram_length, *max_skip_count,
                 [&](std::size_t number) { ++counts[number]; });
        for (std::size_t k = 0; k < counts.size(); ++k) {
          if (counts[k] == 0) continue;
          float& to = y[r * columns + ngram_indexes[k]];
          const float count = static_cast<float>(counts[k]), weight = weights.empty() ? 1.0f : weights[k];
          if (*mode == "IDF") to = weight;
          else to += *mode == "TF" ? count : weight * count;
          counts[k] = 0;
        }
      }
    });
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  /// Fails unless the pool is of X's type, its n-grams are whole, and each has an index and, if any, a
  /// weight.
  void check_pool(Infer& i) const {
    if (pool_int64s.empty() == pool_strings.empty())
      return i.fail("one of pool_int64s and pool_strings has to be stated");
    const DType d = i.dtype(0);
    if (d != DType::undefined && (d == DType::string) != pool_int64s.empty())
      return i.fail_type("X is tensor(", d, "), but the pool is of ",
                         pool_int64s.empty() ? "strings" : "integers");
    if (ngram_indexes.empty()) return i.fail("ngram_indexes is empty");
    for (int64_t index : ngram_indexes)
      if (!i.expect_at_least("ngram_indexes", index, 0)) return;
    if (!weights.empty() && !i.expect_entries("weights", weights.size(), std::ssize(ngram_indexes))) return;
    int64_t grams = 0;
    each_size([&](int64_t size, int64_t begin, int64_t end) {
      if (begin < 0 || end < begin || end > pool_size())
        return i.fail("ngram_counts: [", begin, ", ", end, ") of ", pool_size(), " items");
      if ((end - begin) % size != 0) return i.fail(end - begin, " items are no ", size, "-grams");
      grams += (end - begin) / size;
    });
    if (!i.failed() && grams > std::ssize(ngram_indexes))
      i.fail("ngram_indexes: ", ngram_indexes.size(), " entries for ", grams, " n-grams");
  }
  constexpr int64_t pool_size() const {
    return pool_int64s.empty() ? std::ssize(pool_strings) : std::ssize(pool_int64s);
  }
  /// Calls f(n, begin, end) for the range of the pool that holds its n-grams.
  template <class F>
  constexpr void each_size(F f) const {
    for (std::size_t k = 0; k < ngram_counts.size(); ++k)
      f(static_cast<int64_t>(k + 1), ngram_counts[k],
        k + 1 < ngram_counts.size() ? ngram_counts[k + 1] : pool_size());
  }
  template <class Item>
  tf_idf_vectorizer_detail::Grams<Item> sorted_pool() const {
    const Item* pool;
    if constexpr (std::is_same_v<Item, std::string>) pool = pool_strings.data();
    else pool = pool_int64s.data();
    tf_idf_vectorizer_detail::Grams<Item> grams;
    std::size_t number = 0;
    each_size([&](int64_t size, int64_t begin, int64_t end) {
      for (int64_t at = begin; at < end; at += size, ++number)
        if (size >= *min_gram_length && size <= *max_gram_length) grams.add(pool + at, size, number);
    });
    grams.sort();
    return grams;
  }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::TfIdfVectorizer)
