// Tensors with labelled axes, multiplied and summed over labels: Einstein's convention, by transposes and
// batched matrix products, two tensors at a time.
#pragma once

#include "tenon/base/scratch.hpp"
#include "tenon/kernels/elementwise/elementwise.hpp"
#include "tenon/kernels/gemm/gemm.hpp"
#include "tenon/kernels/move/move.hpp"
#include "tenon/kernels/reduce/reduce.hpp"

namespace tenon::TENON_ABI::kernels {

/// The maximum number of labels: letters of both cases, and the axes of an ellipsis.
inline constexpr int max_labels = 52 + max_rank;

/// A tensor whose axes have labels, each at most once, and strides in elements.
template <class T>
struct Labelled {
  const T* data = nullptr;
  InlineVector<int, max_labels> labels;
  InlineVector<int64_t, max_labels> strides;

  bool has(int label) const { return std::find(labels.begin(), labels.end(), label) != labels.end(); }
  /// The stride of a label, 0 where the tensor does not have it.
  int64_t stride(int label) const {
    for (int k = 0; k < labels.size(); ++k)
      if (labels[k] == label) return strides[k];
    return 0;
  }
};

/// Sums of products. T: the types of gemm. Memory comes from `scratch`.
template <class T>
class Contraction {
 public:
  using Labels = InlineVector<int, max_labels>;

  /// `extents` has one entry for each label, none of them 0; `result` lists the labels of the result in
  /// order.
  Contraction(const int64_t* extents, const Labels& result, Scratch& scratch)
      : extents_(extents), result_(result), scratch_(scratch) {}

  /// The product of these tensors, summed over the labels that the result does not have; dense, in its own
  /// order. If that is the result's order, it is written to y unless y is null. Destroys `tensors`.
  Labelled<T> operator()(std::span<Labelled<T>> tensors, T* y) {
    std::size_t left = tensors.size();
    for (int label = 0; label < max_labels; ++label) count_[label] = 0;
    for (const Labelled<T>& t : tensors)
      for (int label : t.labels) ++count_[label];
    for (Labelled<T>& t : tensors) t = summed(t, left == 1 ? y : nullptr);
    while (left > 1) {
      // The two with the smallest product go first. They are chosen among the first 32 tensors: checking all
      // pairs of very many would take too long.
      const std::size_t some = std::min<std::size_t>(left, 32);
      std::size_t a = 0, b = 1;
      double least = -1;
      for (std::size_t i = 0; i < some; ++i)
        for (std::size_t j = i + 1; j < some; ++j)
          if (const double size = product_size(tensors[i], tensors[j]); least < 0 || size < least)
            least = size, a = i, b = j;
      for (const std::size_t k : {a, b})
        for (int label : tensors[k].labels) --count_[label];
      tensors[a] = product(tensors[a], tensors[b], left == 2 ? y : nullptr);
      for (int label : tensors[a].labels) ++count_[label];
      tensors[b] = tensors[--left];
    }
    return tensors[0];
  }

 private:
  static bool in(const Labels& labels, int label) {
    return std::find(labels.begin(), labels.end(), label) != labels.end();
  }
  int64_t extent(const Labels& labels) const {
    int64_t n = 1;
    for (int label : labels) n *= extents_[label];
    return n;
  }
  /// Positions of labels in the result; labels that the result lacks come last.
  int place(int label) const {
    const int k = static_cast<int>(std::find(result_.begin(), result_.end(), label) - result_.begin());
    return k < result_.size() ? k : k + label;
  }
  void sort(Labels& labels) const {
    std::sort(labels.begin(), labels.end(), [&](int a, int b) { return place(a) < place(b); });
  }
  /// Whether the result, or another tensor than `own` of the counted ones, has the label.
  bool kept(int label, int own) const { return in(result_, label) || count_[label] > own; }

  double product_size(const Labelled<T>& a, const Labelled<T>& b) const {
    double size = 1;
    for (int label : a.labels)
      if (kept(label, 1 + b.has(label))) size *= static_cast<double>(extents_[label]);
    for (int label : b.labels)
      if (!a.has(label) && kept(label, 1)) size *= static_cast<double>(extents_[label]);
    return size;
  }

  /// t, dense in the order of `labels`, which include all of t's.
  Labelled<T> packed(const Labelled<T>& t, const Labels& labels) {
    Labelled<T> r;
    r.labels = labels;
    r.strides.resize(labels.size());
    int64_t from[max_labels], extents[max_labels], size = 1;
    for (int k = labels.size(); k-- > 0; size *= extents[k]) {
      extents[k] = extents_[labels[k]];
      from[k] = t.stride(labels[k]);
      r.strides[k] = size;
    }
    T* to = scratch_.take<T>(size);
    r.data = to;
    move(dtype_of<T>, to, {0, r.strides.data()}, t.data, {0, from},
         {extents, static_cast<std::size_t>(labels.size())});
    return r;
  }

  /// The labels of t in the order in which it is dense; empty if it is not.
  Labels dense_order(const Labelled<T>& t) const {
    Labels order = t.labels;
    std::sort(order.begin(), order.end(), [&](int a, int b) { return t.stride(a) > t.stride(b); });
    int64_t step = 1;
    for (int k = order.size(); k-- > 0; step *= extents_[order[k]])
      if (t.stride(order[k]) != step) return {};
    return order;
  }

  /// t summed over the labels that no other tensor and not the result has. In the result's order it is
  /// written to y unless y is null.
  Labelled<T> summed(const Labelled<T>& t, T* y) {
    Labels left, gone;
    for (int label : t.labels) (kept(label, 1) ? left : gone).push_back(label);
    if (gone.empty()) return t;
    for (int label : gone) --count_[label];
    Labels order = dense_order(t);
    const T* data = t.data;
    if (order.empty()) {
      order = left;
      for (int label : gone) order.push_back(label);
      data = packed(t, order).data;
    }
    Labelled<T> r;
    int64_t extents[max_rank];
    uint32_t axes = 0;
    for (int k = 0; k < order.size(); ++k) {
      extents[k] = extents_[order[k]];
      if (in(gone, order[k])) axes |= 1u << k;
      else r.labels.push_back(order[k]);
    }
    T* to = y != nullptr && r.labels == result_ ? y : scratch_.take<T>(extent(left));
    reduce(ReduceOp::sum, data, to, reduce_plan({extents, static_cast<std::size_t>(order.size())}, axes));
    r.data = to;
    r.strides.resize(r.labels.size());
    for (int64_t k = r.labels.size(), step = 1; k-- > 0; step *= extents_[r.labels[k]]) r.strides[k] = step;
    return r;
  }

  /// Whether labels are walked with a single step, which is set.
  bool collapse(const Labelled<T>& t, const Labels& labels, int64_t& step) const {
    step = labels.empty() ? 0 : t.stride(labels.back());
    for (int k = 0; k + 1 < labels.size(); ++k)
      if (t.stride(labels[k]) != t.stride(labels[k + 1]) * extents_[labels[k + 1]]) return false;
    return true;
  }
  /// The steps of two groups of labels as rows and columns of matrices; t is packed if it has none.
  void matrices(Labelled<T>& t, const Labels& batch, const Labels& rows, const Labels& columns, int64_t& row,
                int64_t& column) {
    if (collapse(t, rows, row) && collapse(t, columns, column)) return;
    Labels order = batch;
    for (const Labels* group : {&rows, &columns})
      for (int label : *group) order.push_back(label);
    t = packed(t, order);
    collapse(t, rows, row);
    collapse(t, columns, column);
  }

  Labelled<T> product(Labelled<T> a, Labelled<T> b, T* y) {
    Labels batch, rows, columns, summed;
    for (int label : a.labels) {
      if (!b.has(label)) rows.push_back(label);
      else if (kept(label, 0)) batch.push_back(label);
      else summed.push_back(label);
    }
    for (int label : b.labels)
      if (!a.has(label)) columns.push_back(label);
    sort(batch), sort(rows), sort(columns);
    // The columns are the labels that the result walks last.
    if (!rows.empty() && (columns.empty() ? summed.empty() : place(rows.back()) > place(columns.back()))) {
      std::swap(a, b);
      std::swap(rows, columns);
    }
    std::sort(summed.begin(), summed.end(), [&](int k, int l) { return a.stride(k) > a.stride(l); });

    Labelled<T> c;
    for (const Labels* group : {&batch, &rows, &columns})
      for (int label : *group) c.labels.push_back(label);
    c.strides.resize(c.labels.size());
    int64_t size = 1;
    for (int k = c.labels.size(); k-- > 0; size *= extents_[c.labels[k]]) c.strides[k] = size;
    T* to = y != nullptr && c.labels == result_ ? y : scratch_.take<T>(size);
    c.data = to;
    if (summed.empty() && c.labels.size() <= max_rank) multiply(a, b, c, to, size);
    else multiply_matrices(a, b, c, to, batch, rows, columns, summed);
    return c;
  }

  void multiply(const Labelled<T>& a, const Labelled<T>& b, const Labelled<T>& c, T* to, int64_t size) {
    BroadcastPlan<2> plan;
    plan.size = size;
    int rank = 0;
    for (int label : c.labels) {
      plan.extents[rank] = extents_[label];
      plan.strides[0][rank] = a.stride(label);
      plan.strides[1][rank] = b.stride(label);
      if (rank > 0 && plan.strides[0][rank - 1] == plan.strides[0][rank] * plan.extents[rank] &&
          plan.strides[1][rank - 1] == plan.strides[1][rank] * plan.extents[rank]) {
        plan.extents[rank - 1] *= plan.extents[rank];
        plan.strides[0][rank - 1] = plan.strides[0][rank];
        plan.strides[1][rank - 1] = plan.strides[1][rank];
      } else {
        ++rank;
      }
    }
    plan.rank = rank > 0 ? rank : 1;
    if (rank == 0) plan.extents[0] = 1;
    binary<BinaryOp::mul>(a.data, b.data, to, plan);
  }

  void multiply_matrices(Labelled<T>& a, Labelled<T>& b, const Labelled<T>& c, T* to, const Labels& batch,
                         const Labels& rows, const Labels& columns, const Labels& summed) {
    GemmArgs<T> args;
    args.m = extent(rows);
    args.n = extent(columns);
    args.k = extent(summed);
    matrices(a, batch, rows, summed, args.a_row, args.a_col);
    matrices(b, batch, summed, columns, args.b_row, args.b_col);
    args.a = a.data;
    args.b = b.data;
    args.c = to;
    args.c_row = args.n;
    int64_t extents[max_labels], steps[3][max_labels];
    for (int k = 0; k < batch.size(); ++k) {
      extents[k] = extents_[batch[k]];
      steps[0][k] = a.stride(batch[k]);
      steps[1][k] = b.stride(batch[k]);
      steps[2][k] = c.stride(batch[k]);
    }
    args.batch = {.rank = batch.size(), .extents = extents, .a = steps[0], .b = steps[1], .c = steps[2]};
    gemm(args);
  }

  const int64_t* extents_;
  const Labels result_;
  Scratch& scratch_;
  int count_[max_labels];  // tensors that have a label
};

}  // namespace tenon::TENON_ABI::kernels
