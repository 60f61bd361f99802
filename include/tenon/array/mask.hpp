// Elements chosen by a condition: x(x < 0.0f) = 0.0f, x(m) += y, Tensor<float> negative = x(x < 0.0f).
#pragma once

#include "tenon/array/slice.hpp"
#include "tenon/op/tensor/compress.hpp"

namespace tenon::TENON_ABI {

/// The elements of a part of a tensor selected by a mask of bools, which broadcasts to the part. Refers to
/// both, and is meant to be assigned or read immediately.
///
/// Assignment of a number, or of y, which is broadcast, replaces the selected elements: x(m) = y is x =
/// where(m, y, x), and x(m) /= y is x(m) = x / y, which divides the other elements, too. Reading gives a
/// vector of the elements in row-major order, and requires a mask with the part's extents: op::Compress.
template <class Part, class Mask>
class MaskedSlice {
 public:
  using value_type = std::remove_const_t<typename Part::value_type>;
  using shape_type = Shape<dyn>;

  MaskedSlice(const Part& part, Mask&& mask) : part_(part), mask_(std::move(mask)) {}
  MaskedSlice(const MaskedSlice&) = default;

  /// Error{invalid_shape} if the mask or y does not broadcast to the part.
  template <class Y>
    requires(Array<Y> || array_detail::Scalar<Y>)
  MaskedSlice& operator=(const Y& y) {
    if constexpr (!array_detail::any_invalid<Y>)
      part_ = array_detail::of_held<op::Where>(Mask(mask_), array_detail::hold<op::Where, value_type>(y),
                                               array_detail::hold<op::Where, value_type>(part_));
    return *this;
  }
  MaskedSlice& operator=(const MaskedSlice& y) { return operator= <MaskedSlice>(y); }
  /// The selected elements become Op(*this, y): +=, -=, …
  template <class Op, class Y>
  void update(const Y& y) {
    *this = array_detail::chain<Op>(part_, y);
  }

  /// The elements as a new tensor. Error{invalid_shape} if the mask has other extents.
  Tensor<value_type, shape_type> eval() const {
    const auto& holds = array_detail::as_operand(mask_);
    if (!array_detail::present(holds)) op::detail::raise_missing(op::Compress::spec, 1);
    if (!std::ranges::equal(holds.extents(), part_.extents()))
      raise(ErrorCode::invalid_shape, "slice", "a mask of extents ", to_string(holds.extents()),
            " reads a part of extents ", to_string(part_.extents()));
    const auto& part = op::ready(part_);
    using Flat = TensorView<const value_type, Shape<dyn>>;  // Compress takes no scalar
    const TensorView<const bool, Shape<dyn>> condition(holds.data(), {holds.size()});
    return op::Compress{}(Flat(part.data(), {part.size()}), condition).template as<shape_type>();
  }
  template <class To>
    requires(widens<shape_type, To>())
  operator Tensor<value_type, To>() const {
    return eval();
  }

 private:
  Part part_;
  Mask mask_;
};

namespace array_detail {

template <class Part, class Mask>
struct Source<MaskedSlice<Part, Mask>> {
  using element = typename MaskedSlice<Part, Mask>::value_type;
  using shape = Shape<dyn>;
  static Held<element, shape> hold(const MaskedSlice<Part, Mask>& s) { return s.eval(); }
};

template <class M>
concept MaskArray = Array<M> && std::is_same_v<element_of<M>, bool>;

template <class Part, class M>
auto masked(const Part& part, M&& mask) {
  using Mask = std::remove_cvref_t<decltype(hold<op::Where, bool>(std::forward<M>(mask)))>;
  return MaskedSlice<Part, Mask>(part, hold<op::Where, bool>(std::forward<M>(mask)));
}

}  // namespace array_detail

/// The elements of x selected by a mask, see MaskedSlice. slice(x, x < 0.0f) = 0.0f is x(x < 0.0f) = 0.0f.
template <class T, class S, array_detail::MaskArray M>
auto slice(const TensorView<T, S>& x, M&& mask) {
  return array_detail::masked(slice(x), std::forward<M>(mask));
}
template <class T, class S, array_detail::MaskArray M>
auto slice(Tensor<T, S>& x, M&& mask) {
  return slice(x.view(), std::forward<M>(mask));
}
template <class T, class S, array_detail::MaskArray M>
auto slice(const Tensor<T, S>& x, M&& mask) {
  return slice(x.view(), std::forward<M>(mask));
}
template <class T, class S, array_detail::MaskArray M>
auto slice(Tensor<T, S>&& x, M&& mask) = delete;  // its elements would be gone
template <class T, class S, array_detail::MaskArray M>
auto slice(const StridedSlice<T, S>& x, M&& mask) {
  return array_detail::masked(x, std::forward<M>(mask));
}

}  // namespace tenon::TENON_ABI
