// Operators on the caches of a State, which keep_caches puts in place of past inputs and present outputs. The
// number of steps that CacheAppend returns is an operand of whatever reads the cache, so that it is read
// after it has grown.
#pragma once

#include "tenon/graph/fused/fields.hpp"
#include "tenon/op/families/attention.hpp"
#include "tenon/op/families/copy_along.hpp"
#include "tenon/tensor/paged_rows.hpp"

namespace tenon::TENON_ABI::passes {

namespace detail {

inline StepCache& cache_of(const op::Context& c, int64_t number) {
  StepCache* const cache = c.cache(number);
  if (cache == nullptr) raise(ErrorCode::invalid_argument, "cache", "the run has no state");
  return *cache;
}

constexpr op::Spec cache_spec(std::string_view name, const op::InputParams& inputs,
                              const op::OutputParams& outputs) {
  op::Spec spec = op::own_spec(name, inputs, outputs, {{"T", types::floats_bf16}});
  spec.deterministic = false;
  return spec;
}

/// The extents of X (batch, heads, steps, size), or (batch, steps, heads * size) if `heads` is not 0.
constexpr Dims head_extents(const op::Infer& i, int64_t heads) {
  if (!i.ranked(0)) return Dims::of_rank(4);
  const Dims& x = i.dims(0);
  return heads > 0 ? Dims{x[0], heads, x[1], x[2] / heads} : x;
}

/// The number of steps that input `k` states, as far as it is known.
constexpr Dim stated_steps(const op::Infer& i, int k) { return i.propagates(k) ? i.propagated(k, 0) : Dim(); }

}  // namespace detail

/// Adds the steps of X to a cache. X is (batch, heads, steps, size), or (batch, steps, heads * size) if
/// `heads` is not 0. Returns the number of steps that the cache then has. `after` is a result of what comes
/// first.
struct CacheAppend {
  int64_t cache = 0;
  int64_t heads = 0;

  static constexpr op::Attributes fields{op::attr("cache", &CacheAppend::cache),
                                         op::attr("heads", &CacheAppend::heads)};
  static constexpr op::Spec spec = detail::cache_spec(
      "CacheAppend", {{"X", "T"}, {"after", "tensor(int64)", op::optional}}, {{"steps", "tensor(int64)"}});

  constexpr void infer(op::Infer& i) const {
    if (!i.expect_rank(0, heads > 0 ? 3 : 4)) return;
    if (heads > 0 && i.ranked(0) && (i.dims(0)[2] % heads).differs(0))
      return i.fail("X: ", i.dims(0)[2], " numbers do not make ", heads, " heads");
    i.out(0, Dims::of_rank(0));
  }
  template <class T>
  void compute(op::Context& c, TensorView<const T> x, TensorView<const int64_t>,
               TensorView<int64_t> steps) const {
    StepCache& to = detail::cache_of(c, cache);
    const int64_t parts = heads > 0 ? heads : x.extent(1), count = x.extent(-2);
    to.rows.expect(dtype_of<T>, x.extent(0), parts, heads > 0 ? x.extent(2) / parts : x.extent(3));
    const auto from = op::head_rows<const void>(dtype_of<T>, x.data(), x.extents(), parts);
    to.rows.write(to.past, count, x.data(), {from.batch, from.head, from.row});
    steps[0] = to.past + count;
  }
};

/// The steps that a cache has from earlier runs.
struct CacheSteps {
  int64_t cache = 0;

  static constexpr op::Attributes fields{op::attr("cache", &CacheSteps::cache)};
  static constexpr op::Spec spec = detail::cache_spec("CacheSteps", {}, {{"steps", "tensor(int64)"}});

  constexpr void infer(op::Infer& i) const { i.out(0, Dims::of_rank(0)); }
  void compute(op::Context& c, TensorView<int64_t> steps) const {
    steps[0] = detail::cache_of(c, cache).past;
  }
};

/// Of the extents (batch, heads, steps, size) of a cache of as many steps as stated, or (batch, heads, size,
/// steps), the ones from `start` on and before `end`; X is what CacheAppend adds.
struct CacheShape {
  int64_t heads = 0;
  int64_t columns = 0;
  int64_t start = 0, end = 4;

  static constexpr op::Attributes fields{
      op::attr("heads", &CacheShape::heads), op::attr("columns", &CacheShape::columns),
      op::attr("start", &CacheShape::start), op::attr("end", &CacheShape::end)};
  static constexpr op::Spec spec = detail::cache_spec("CacheShape", {{"X", "T"}, {"steps", "tensor(int64)"}},
                                                      {{"shape", "tensor(int64)"}});

  constexpr void infer(op::Infer& i) const {
    const int count = static_cast<int>(std::max<int64_t>(end - start, 0));
    i.out(0, {count});
    const Dims x = detail::head_extents(i, heads);
    if (!x.ranked() || !i.out(0).propagated.begin(count)) return;
    Dims all{x[0], x[1], detail::stated_steps(i, 1), x[3]};
    if (columns != 0) all = {all[0], all[1], all[3], all[2]};
    for (int64_t d = start; d < end; ++d) i.out(0).propagated.push_back(all[static_cast<int>(d)]);
  }
  template <class T>
  void compute(TensorView<const T> x, TensorView<const int64_t> steps, TensorView<int64_t> shape) const {
    const int64_t parts = heads > 0 ? heads : x.extent(1),
                  size = heads > 0 ? x.extent(2) / parts : x.extent(3);
    int64_t all[] = {x.extent(0), parts, steps[0], size};
    if (columns != 0) std::swap(all[2], all[3]);
    std::copy_n(all + start, shape.size(), shape.data());
  }
};

/// A dense copy of the first steps of a cache, as many as stated; X is what CacheAppend adds.
struct CacheRows {
  int64_t cache = 0;
  int64_t heads = 0;

  static constexpr op::Attributes fields{op::attr("cache", &CacheRows::cache),
                                         op::attr("heads", &CacheRows::heads)};
  static constexpr op::Spec spec =
      detail::cache_spec("CacheRows", {{"X", "T"}, {"steps", "tensor(int64)"}}, {{"rows", "T"}});

  constexpr void infer(op::Infer& i) const {
    const Dims x = detail::head_extents(i, heads);
    i.out(0, {x[0], x[1], i.element(1, 0), x[3]});
  }
  template <class T>
  void compute(op::Context& c, TensorView<const T>, TensorView<const int64_t>, TensorView<T> rows) const {
    const PagedRows& all = detail::cache_of(c, cache).rows;
    if (all.begin() > 0)
      raise(ErrorCode::invalid_argument, "cache", "the steps before ", all.begin(),
            " were released, and this run reads them");
    op::copy_steps(all, rows);
  }
};

/// Attention of Q to the steps of two caches, as many as key_steps and value_steps state. Q and Y are (batch,
/// heads, queries, size), or (batch, queries, heads * size) if `heads` is not 0. The other fields are those
/// of kernels::AttentionArgs; query i is at position i + the steps of earlier runs.
struct CachedAttention {
  int64_t keys = 0, values = 0;  ///< the caches
  int64_t heads = 0;
  int64_t value_size = 0;
  Opt<float> scale{};  ///< unless stated, 1 / sqrt(size)
  float softcap = 0;
  int64_t left = -1, right = -1;
  int64_t softmax_type = 0;     ///< of the softmax, by ONNX's number; 0: the type of all other computations
  int64_t one_key_for_all = 0;  ///< a mask of one key holds for all keys
  int64_t mask_widens = 0;      ///< scores are stretched to the mask's extents
  int64_t none_is_nan = 0;
  float hidden = 0;  ///< the score of keys that a mask of bool hides; 0: -infinity
  int64_t nan_is_zero = 0;

  static constexpr op::Attributes fields{op::attr("keys", &CachedAttention::keys),
                                         op::attr("values", &CachedAttention::values),
                                         op::attr("heads", &CachedAttention::heads),
                                         op::attr("value_size", &CachedAttention::value_size),
                                         op::attr("scale", &CachedAttention::scale),
                                         op::attr("softcap", &CachedAttention::softcap),
                                         op::attr("left", &CachedAttention::left),
                                         op::attr("right", &CachedAttention::right),
                                         op::attr("softmax_type", &CachedAttention::softmax_type),
                                         op::attr("one_key_for_all", &CachedAttention::one_key_for_all),
                                         op::attr("mask_widens", &CachedAttention::mask_widens),
                                         op::attr("none_is_nan", &CachedAttention::none_is_nan),
                                         op::attr("hidden", &CachedAttention::hidden),
                                         op::attr("nan_is_zero", &CachedAttention::nan_is_zero)};
  static constexpr op::Spec spec = [] {
    op::Spec s =
        op::own_spec("CachedAttention",
                     {{"Q", "T"},
                      {"key_steps", "tensor(int64)"},
                      {"value_steps", "tensor(int64)"},
                      {"mask", "U", op::optional}},
                     {{"Y", "T"}}, {{"T", types::floats_bf16}, {"U", types::numeric_bf16 | types::boolean}});
    s.deterministic = false;
    s.workspace = op::Workspace::unplanned;
    return s;
  }();

  constexpr void infer(op::Infer& i) const {
    if (!i.expect_rank(0, heads > 0 ? 3 : 4)) return;
    const Dims q = detail::head_extents(i, heads);
    Dims scores{q[0], q[1], q[2], detail::stated_steps(i, 1)};
    if (mask_widens != 0 && heads == 0) scores = op::masked_scores(i, 3, scores);
    else op::check_attention_mask(i, 3, scores, one_key_for_all != 0);
    if (heads > 0) i.out(0, {q[0], q[2], heads * value_size});
    else i.out(0, {scores[0], scores[1], scores[2], value_size});
  }
  template <class T>
  void compute(op::Context& c, TensorView<const T> q, TensorView<const int64_t> key_steps,
               TensorView<const int64_t> value_steps, AnyView mask, TensorView<T> y) const {
    const StepCache &k = detail::cache_of(c, keys), &v = detail::cache_of(c, values);
    const int64_t steps = key_steps[0], begin = k.rows.begin();
    if (steps != value_steps[0] || begin != v.rows.begin() || k.rows.page_steps() != v.rows.page_steps())
      raise(ErrorCode::invalid_shape, "cache", "there are keys of ", steps, " steps, and values of ",
            value_steps[0]);
    if (begin > 0 && (left < 0 || k.past - left < begin))
      raise(ErrorCode::invalid_argument, "cache", "the steps before ", begin,
            " were released, and this run reads steps from ",
            left < 0 ? 0 : std::max<int64_t>(k.past - left, 0), " on");
    if (y.empty()) return;
    kernels::AttentionArgs a;
    a.batch = y.extent(0), a.heads = heads > 0 ? heads : y.extent(1), a.kv_heads = k.rows.heads();
    a.queries = y.extent(-2), a.size = k.rows.size(), a.value_size = v.rows.size();
    if (q.extent(0) != k.rows.batch() || a.kv_heads == 0 || a.heads % a.kv_heads != 0 ||
        q.extent(-1) != a.size * (heads > 0 ? heads : 1) || a.value_size != value_size ||
        v.rows.heads() != a.kv_heads || v.rows.batch() != k.rows.batch())
      raise(ErrorCode::invalid_shape, "cache", "queries ", to_string(q.extents()),
            " do not fit a cache of keys for (", k.rows.batch(), ",", k.rows.heads(), ",", k.rows.size(),
            ")");
    Scratch scratch;
    const auto pages =
        static_cast<std::size_t>((steps - begin + k.rows.page_steps() - 1) / k.rows.page_steps());
    const std::span parts(scratch.take<kernels::AttentionPart>(static_cast<int64_t>(pages)), pages);
    const auto rows = [&](const PagedRows& r, const void* data) {
      const RowPlaces p = r.places();
      return op::for_batch({r.stored(), data, p.batch, p.head, p.step}, r.batch(), a.batch);
    };
    const auto scales = [&](const PagedRows& r, const void* data) {
      const int64_t apart = r.batch() == 1 ? 0 : r.heads() * r.page_steps();
      return kernels::HeadScales{r.scales(data), apart, r.page_steps(), 1};
    };
    std::size_t n = 0;
    k.rows.for_each_page([&](const void* data, int64_t first, int64_t count) {
      if (n < pages)
        parts[n++] = {rows(k.rows, data), {}, std::min(count, steps - first), scales(k.rows, data)};
    });
    n = 0;
    v.rows.for_each_page([&](const void* data, int64_t, int64_t) {
      if (n < pages) parts[n].v = rows(v.rows, data), parts[n++].v_scale = scales(v.rows, data);
    });
    a.parts = parts;
    a.q = heads > 0 ? op::head_rows<const void>(dtype_of<T>, q.data(), q.extents(), a.heads)
                    : op::stretched_rows(scratch, q, {a.batch, a.heads, a.queries, a.size});
    a.y = op::head_rows<void>(dtype_of<T>, y.data(), y.extents(), a.heads);
    a.scale = scale ? static_cast<double>(*scale) : 1 / std::sqrt(static_cast<double>(a.size));
    a.softcap = static_cast<double>(softcap);
    a.nan_is_zero = nan_is_zero != 0;
    a.left = left, a.right = right;
    a.offset = k.past - begin;
    if (softmax_type != 0) a.softmax_type = dtype_from_onnx(softmax_type);
    if (mask) {
      a.mask = op::attention_mask(mask);
      a.mask.stretched = one_key_for_all != 0 && a.mask.keys == 1;
      if (hidden != 0) a.mask.hidden = static_cast<double>(hidden);
      a.mask.none_is_nan = none_is_nan != 0;
      if (!a.mask.stretched && a.mask.keys > steps)
        raise(ErrorCode::invalid_shape, "cache", "the mask is for ", a.mask.keys, " keys, but there are ",
              steps);
      if (!a.mask.stretched) {
        // Its columns are steps from the first on, and released ones have no keys.
        const int64_t skipped = std::min(begin, a.mask.keys);
        a.mask.data = static_cast<const std::byte*>(a.mask.data) + skipped * (bits_of(mask.dtype()) / 8);
        a.mask.keys -= skipped;
      }
    }
    kernels::attention<compute_t<T>>(a);
  }
};

}  // namespace tenon::TENON_ABI::passes
