#include "tenon/array/mdspan.hpp"

#include <doctest/doctest.h>

namespace tenon {
namespace {

// As much of an mdspan as the conversions ask for: E is its static extents.
template <class T, class Index, std::size_t... E>
class Span {
 public:
  using element_type = T;
  using index_type = Index;

  Span(T* data, std::array<Index, sizeof...(E)> extents, std::array<Index, sizeof...(E)> strides)
      : data_(data), extents_(extents), strides_(strides) {}
  template <class... I>
    requires(sizeof...(I) == sizeof...(E))
  explicit Span(T* data, I... extents) : data_(data), extents_{static_cast<Index>(extents)...} {
    Index step = 1;
    for (std::size_t k = sizeof...(E); k-- > 0; step = static_cast<Index>(step * extents_[k]))
      strides_[k] = step;
  }

  static constexpr std::size_t rank() { return sizeof...(E); }
  static constexpr std::size_t static_extent(std::size_t axis) {
    const std::size_t extents[] = {E..., 0};
    return extents[axis];
  }
  Index extent(std::size_t axis) const { return extents_[axis]; }
  Index stride(std::size_t axis) const { return strides_[axis]; }
  T* data_handle() const { return data_; }

 private:
  T* data_;
  std::array<Index, sizeof...(E)> extents_{}, strides_{};
};
constexpr auto any = static_cast<std::size_t>(-1);

}  // namespace

TEST_CASE("mdspans as tensors") {
  float data[] = {1, 2, 3, 4, 5, 6};
  const Span<float, int, any, 3> m(data, {2, 3}, {3, 1});
  const auto v = view_of(m);
  static_assert(std::is_same_v<decltype(view_of(m)), TensorView<float, Shape<dyn, 3>>>);
  CHECK((v.data() == data && v(1, 2) == 6));
  const Span<const float, uint8_t, 2> c(data, 2);
  static_assert(std::is_same_v<decltype(view_of(c)), TensorView<const float, Shape<2>>>);
  CHECK(view_of(c)(1) == 2);
  CHECK(view_of(Span<float, int>(data)).item() == 1);
  // Strides do not count along axes of extent 1, nor where there is nothing.
  using Matrix = Span<float, int, any, any>;
  CHECK(view_of(Matrix(data, {1, 3}, {7, 1})).size() == 3);
  CHECK(view_of(Matrix(data, {3, 1}, {1, 9})).size() == 3);
  CHECK(view_of(Matrix(data, {3, 0}, {5, 5})).empty());
  CHECK_THROWS_WITH_AS(view_of(Matrix(data, {2, 3}, {1, 2})),
                       "view_of: axis 1 has a stride of 2, dense rows have 1", Error);
  CHECK_THROWS_AS(view_of(Matrix(data, {2, 2}, {3, 1})), Error);
  CHECK_THROWS_AS(view_of(Matrix(data, {-2, 2}, {2, 1})), Error);
}

TEST_CASE("tensors as mdspans") {
  Tensor<float, Shape<2, 3>> x{{1, 2, 3}, {4, 5, 6}};
  const auto m = as_mdspan<Span<float, int, any, 3>>(x);
  CHECK((m.extent(0) == 2 && m.stride(0) == 3 && m.data_handle() == x.data()));
  const auto c = as_mdspan<Span<const float, int, 2, any>>(std::as_const(x));
  CHECK(c.extent(1) == 3);
  CHECK_THROWS_AS((as_mdspan<Span<float, int, 3, 3>>(x)), Error);
  Tensor<uint8_t> large({300});
  CHECK_THROWS_AS((as_mdspan<Span<uint8_t, uint8_t, any>>(large)), Error);
  CHECK_THROWS_AS((as_mdspan<Span<uint8_t, int, any, any>>(large)), Error);
  CHECK_THROWS_AS((as_mdspan<Span<float, int, any>>(TensorView<float, Shape<2>>())), Error);
#ifdef __cpp_lib_mdspan
  static_assert(std::is_same_v<decltype(as_mdspan(x)), std::mdspan<float, std::extents<int64_t, 2, 3>>>);
  CHECK(as_mdspan(x).extent(1) == 3);
  CHECK(view_of(as_mdspan(x))(1, 2) == 6);
#endif
}

}  // namespace tenon
