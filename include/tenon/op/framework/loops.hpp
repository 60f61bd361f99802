// Loops: how an operator's work divides into parts that compute the same results.
#pragma once

#include <numeric>

#include "tenon/op/framework/infer.hpp"

namespace tenon::TENON_ABI::op {

struct BodyRef;

/// An axis of an operand or of a result. It may consist of several stretches of equal length, each of which
/// has elements of all iterations.
struct LoopAxis {
  int operand = 0, axis = -1;
  int64_t stretches = 1;
};

/// A loop over parts of the work that do not depend on each other. A part, of any of the iterations, is the
/// same operator on slices of the operands, and its results are slices of the results, or addends of them.
struct WorkLoop {
  int64_t count = 0;  ///< iterations; each is extent / stretches / count elements of a stretch of the axes
  std::vector<LoopAxis> in;                    ///< operands that lack the loop are needed whole by each part
  std::vector<LoopAxis> out;                   ///< if empty, the results are the sums of the parts' results
  std::vector<int> once{};                     ///< of a sum: optional operands that only one part gets
  std::vector<std::string_view> attributes{};  ///< integers of which each part gets its share
  std::vector<LoopAxis> elements{};            ///< the same of elements of operands, by their place
  /// Of a sum: an operand whose elements are numbers of iterations, negative ones counted from the end, and
  /// the axis of output 0 at which its axes begin. A part has zeros for the iterations of others.
  LoopAxis lookup{-1, -1};

  /// The loop's axis in a list, null if there is none.
  static const LoopAxis* find(std::span<const LoopAxis> list, int operand) {
    for (const LoopAxis& a : list)
      if (a.operand == operand) return &a;
    return nullptr;
  }
};

/// Receives an operator's loops from its `loops`:
///
///     template <class L>
///     void loops(L& l) const {
///       l.over({{0, 0}}, {{0, 0}});  // axis 0 of input 0 is axis 0 of output 0
///     }
class Loops {
 public:
  using Axis = LoopAxis;
  using Axes = std::vector<Axis>;

  Loops(std::span<const Info> in, std::span<const Info> out) : in_(in), out_(out) {}

  const Info& in(int k) const { return at(in_, k); }
  const Dims& dims(int k) const { return at(in_, k).dims; }
  const Dims& out(int k) const { return at(out_, k).dims; }
  bool has(int k) const { return in(k).present(); }
  int inputs() const { return static_cast<int>(in_.size()); }
  int outputs() const { return static_cast<int>(out_.size()); }
  /// Appends the elements of an int64 input, none if it is left out. Whether they are known.
  bool integers(int k, Ints& list) const {
    const Info& i = in(k);
    if (!i.present()) return true;
    if (i.type.element != DType::int64 || !i.dims.count().known() || i.dims.count().value() > list.capacity())
      return false;
    for (int64_t j = 0; j < i.dims.count().value(); ++j)
      if (i.data != nullptr) list.push_back(static_cast<const int64_t*>(i.data)[j]);
      else if (i.propagated.known() && i.propagated[j].known()) list.push_back(i.propagated[j].value());
      else return false;
    return true;
  }
  std::vector<WorkLoop> take() && { return std::move(loops_); }

  /// A loop over an axis, with one iteration for each element, or `count` of them. Axes of -1, and operands
  /// and results that are left out, are skipped. Discarded if it has fewer than 2 iterations, as far as is
  /// known, or an extent that is unknown.
  WorkLoop& over(std::vector<LoopAxis> in, std::vector<LoopAxis> out, Dim count = {}) {
    bool fits = true;
    const bool sums = out.empty();
    const auto skip = [&](std::vector<LoopAxis>& list, std::span<const Info> infos) {
      std::erase_if(list, [&](const LoopAxis& a) { return a.axis == -1 || !at(infos, a.operand).present(); });
      for (const LoopAxis& a : list) fits = fits && a.axis >= 0 && a.axis < at(infos, a.operand).dims.rank();
    };
    skip(in, in_), skip(out, out_);
    if (fits && count == Dim() && !in.empty()) count = dims(in[0].operand)[in[0].axis];
    fits = fits && count.known() && count.value() > 1;
    const auto divides = [&](Dim extent, int64_t stretches) {
      return stretches > 0 && (extent % stretches).is(0) && (extent / stretches % count).is(0);
    };
    for (const LoopAxis& a : in) fits = fits && divides(dims(a.operand)[a.axis], a.stretches);
    for (const LoopAxis& a : out) fits = fits && divides(this->out(a.operand)[a.axis], a.stretches);
    for (int k = 0; k < outputs(); ++k)  // results without the loop would be sums
      fits = fits && (sums || !at(out_, k).present() || WorkLoop::find(out, k) != nullptr);
    WorkLoop& loop = fits ? loops_.emplace_back() : discarded_;
    loop = {.count = fits ? count.value() : 0, .in = std::move(in), .out = std::move(out)};
    return loop;
  }
  /// A loop over the axes of operands, over which output 0 is a sum.
  WorkLoop& sum(std::vector<LoopAxis> in) { return over(std::move(in), {}); }

  /// The axis of operand k that numpy's broadcasting lays on axis `axis` of a tensor of rank `rank`; -1 if it
  /// has none there, or one element, -2 if that is unknown.
  int stretched(int k, int axis, int rank) const {
    if (!has(k)) return -1;
    const Dims& d = dims(k);
    if (!d.ranked()) return -2;
    const int own = axis - rank + d.rank();
    return own < 0 || d[own].is(1) ? -1 : d[own].known() ? own : -2;
  }
  /// Axes `first` to `last` - 1 of input 0, in which all operands stretch, and of all outputs.
  void each_axis(int first, int last, int except = -1) {
    const int rank = dims(0).rank();
    for (int axis = first; axis < last; ++axis) {
      if (axis == except) continue;
      std::vector<LoopAxis> in{{0, axis}}, out;
      for (int k = 1; k < inputs(); ++k) in.push_back({k, stretched(k, axis, rank)});
      for (int k = 0; k < outputs(); ++k) out.push_back({k, axis});
      over(std::move(in), std::move(out));
    }
  }
  /// Axes of output 0 over which all operands stretch.
  void each_stretched_axis() {
    const int rank = out(0).rank();
    for (int axis = 0; axis < rank && out(0).ranked(); ++axis) {
      std::vector<LoopAxis> in;
      for (int k = 0; k < inputs(); ++k) in.push_back({k, stretched(k, axis, rank)});
      over(std::move(in), {{0, axis}}, out(0)[axis]);
    }
  }
  /// Elements that keep their order: over axes of input 0 and output 0 between which the same elements lie,
  /// and over axes of groups of axes that become each other. (b, 6, 4) as (b, 2, 12) loops over b, and over 2
  /// halves of axis 1 that are the elements of axis 1. (b, 24) as (b, 3, 8) loops over 3 parts of axis 1, and
  /// over the 8 elements of each of 3 stretches. `shape`: an input that states the result's extents; -1:
  /// none.
  void same_order(int shape = -1) {
    const Dims &x = dims(0), &y = out(0);
    if (!x.ranked() || !y.ranked()) return;
    // Axes that become each other. `before` counts the elements of the axes before one, and the stretches of
    // an axis make up for what it has fewer of before it.
    const auto add = [&](int first_x, int end_x, int first_y, int end_y) {
      Dim before_x = 1;
      for (int of_x = first_x; of_x < end_x; before_x = before_x * x[of_x++]) {
        Dim before_y = 1;
        for (int of_y = first_y; of_y < end_y; before_y = before_y * y[of_y++]) {
          const Dim in_x = before_x.below(before_y) ? before_y / before_x : Dim(1),
                    in_y = before_y.below(before_x) ? before_x / before_y : Dim(1);
          if (!(before_x * in_x).same(before_y * in_y)) continue;
          const Dim of_stretch_x = x[of_x] / in_x, of_stretch_y = y[of_y] / in_y;
          if (!of_stretch_x.known() || !of_stretch_y.known()) continue;
          WorkLoop& loop = over({{0, of_x, in_x.value()}}, {{0, of_y, in_y.value()}},
                                std::gcd(of_stretch_x.value(), of_stretch_y.value()));
          if (shape >= 0) loop.elements = {{shape, of_y}};
        }
      }
    };
    int first_x = 0, first_y = 0;  // the axes before these hold the same elements
    const auto skip_ones = [](const Dims& d, int& first) {
      while (first < d.rank() && d[first].is(1)) ++first;
    };
    for (;;) {
      skip_ones(x, first_x), skip_ones(y, first_y);
      if (first_x == x.rank() || first_y == y.rank()) return;
      int end_x = first_x, end_y = first_y;
      Dim of_x = x[end_x++], of_y = y[end_y++];
      while (!of_x.same(of_y)) {
        if (!of_x.known() || !of_y.known() || of_x.is(0) || of_y.is(0)) break;
        if (of_x.below(of_y) && end_x < x.rank()) of_x = of_x * x[end_x++];
        else if (of_y.below(of_x) && end_y < y.rank()) of_y = of_y * y[end_y++];
        else break;
      }
      if (!of_x.same(of_y)) break;
      add(first_x, end_x, first_y, end_y);
      first_x = end_x, first_y = end_y;
    }
    // The same from the end, as far as it is not done.
    int last_x = x.rank(), last_y = y.rank();
    while (last_x > first_x && last_y > first_y) {
      const int end_x = last_x, end_y = last_y;
      Dim of_x = x[--last_x], of_y = y[--last_y];
      while (!of_x.same(of_y)) {
        if (!of_x.known() || !of_y.known() || of_x.is(0) || of_y.is(0)) return;
        if (of_x.below(of_y) && last_x > first_x) of_x = of_x * x[--last_x];
        else if (of_y.below(of_x) && last_y > first_y) of_y = of_y * y[--last_y];
        else return;
      }
      add(last_x, end_x, last_y, end_y);
    }
  }

 private:
  static const Info& at(std::span<const Info> list, int k) {
    static constexpr Info none;
    return static_cast<std::size_t>(k) < list.size() ? list[static_cast<std::size_t>(k)] : none;
  }

  std::span<const Info> in_, out_;
  std::vector<WorkLoop> loops_;
  WorkLoop discarded_;
};

/// What an operator's `multiplications` reads, where its loops do not show its products:
///
///     template <class L>
///     double multiplications(const L& l) const {
///       return l.elements(l.out(0)) * l.extent(l.dims(1), -2);
///     }
class WorkEstimate : public Loops {
 public:
  using Loops::Loops;
  /// The multiplications of one run of a body.
  virtual double body(const BodyRef& body) const = 0;
  // Extents that are not known count as 1.
  static double extent(Dim d) { return d.known() ? static_cast<double>(d.value()) : 1; }
  static double extent(const Dims& d, int axis) {
    return d.ranked() ? extent(d[resolve_axis(axis, d.rank())]) : 1;
  }
  static double elements(const Dims& d) {
    double count = 1;
    for (const Dim e : d) count *= extent(e);
    return count;
  }

 protected:
  ~WorkEstimate() = default;
};

/// The operator's own `loops`, or null if it has none.
template <class Op>
constexpr auto loops_function() -> void (*)(const void* object, Loops& loops) {
  if constexpr (requires(const Op& op, Loops& loops) { op.loops(loops); })
    return [](const void* object, Loops& loops) { static_cast<const Op*>(object)->loops(loops); };
  else return nullptr;
}
/// The operator's own `multiplications`, or null if it has none.
template <class Op>
constexpr auto multiplications_function() -> double (*)(const void* object, const WorkEstimate& l) {
  if constexpr (requires(const Op& op, const WorkEstimate& l) { op.multiplications(l); })
    return [](const void* object, const WorkEstimate& l) {
      return static_cast<const Op*>(object)->multiplications(l);
    };
  else return nullptr;
}

}  // namespace tenon::TENON_ABI::op
