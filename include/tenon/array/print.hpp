// `stream << x` for tensors, views and values: the text of to_string(x) (tensor/print.hpp).
//
// Floats are written with just enough digits to be unique, unless the stream requests otherwise: std::fixed,
// std::scientific and std::hexfloat apply to all numbers, with the stream's precision. A precision other than
// the default 6 is the number of significant digits. std::setw is the minimum width of each number and, as
// usual, applies to one output.
//
//     std::cout << std::fixed << std::setprecision(2) << x;       [[1.00, 0.50],
//                                                                  [0.25, 2.00]]
#pragma once

#include <charconv>
#include <ostream>

#include "tenon/tensor/print.hpp"

namespace tenon::TENON_ABI {

namespace array_detail {

/// The number format that a stream requests.
struct NumberFormat {
  bool shortest = true;
  std::chars_format form = std::chars_format::general;
  int precision = 6;
  std::size_t width = 0;

  static NumberFormat of(const std::ios_base& stream) {
    NumberFormat f;
    const auto field = stream.flags() & std::ios_base::floatfield;
    const std::streamsize precision = stream.precision();
    f.shortest = field == std::ios_base::fmtflags{} && precision == 6;
    if (field == std::ios_base::fixed) f.form = std::chars_format::fixed;
    if (field == std::ios_base::scientific) f.form = std::chars_format::scientific;
    if (field == (std::ios_base::fixed | std::ios_base::scientific)) f.form = std::chars_format::hex;
    // No double has more digits after the point.
    f.precision = static_cast<int>(precision < 0 ? 6 : precision > 1074 ? 1074 : precision);
    f.width = stream.width() > 0 ? static_cast<std::size_t>(stream.width()) : 0;
    return f;
  }
  bool plain() const { return shortest && width == 0; }

  std::string text(double x) const {
    char digits[1500];
    return {digits, std::to_chars(digits, digits + sizeof digits, x, form, precision).ptr};
  }
  template <class T>
  std::string word(AnyView v, int64_t i) const {
    std::string word;
    if constexpr (is_float(dtype_of<T>)) word = shortest ? "" : text(static_cast<double>(T(v.as<T>()[i])));
    else if constexpr (is_complex(dtype_of<T>)) {
      const T x = v.as<T>()[i];
      if (!shortest) {
        const std::string imaginary = text(x.imag());
        word = str_cat("(", text(x.real()), imaginary[0] == '-' ? "" : "+", imaginary, "j)");
      }
    }
    if (word.empty()) word = tenon::detail::element_text_as<T>(v, i);
    return word.size() < width ? std::string(width - word.size(), ' ') + word : word;
  }
};

/// The data of a view for formatted output: elements_text passes the view on and does not read its data.
struct Formatted {
  AnyView elements;
  NumberFormat format;
};

template <class T>
std::string formatted_word(AnyView v, int64_t i) {
  const auto& f = *static_cast<const Formatted*>(v.data());
  return f.format.word<T>(f.elements, i);
}
inline std::string any_formatted_word(AnyView v, int64_t i) {
  std::string word;
  visit_dtype(v.dtype(), [&]<class T>() { word = formatted_word<T>(v, i); });
  return word;
}

inline std::string formatted(AnyView v, const NumberFormat& format, std::string (*word)(AnyView, int64_t)) {
  const Formatted f{v, format};
  return tenon::detail::elements_text(AnyView(v.dtype(), &f, Extents(v.extents()), v.size()), word);
}

/// The stream's format; resets the width, which applies to one output.
inline NumberFormat take_format(std::ostream& stream) {
  const NumberFormat format = NumberFormat::of(stream);
  stream.width(0);
  return format;
}

}  // namespace array_detail

/// The elements in nested brackets; "none" for an absent view.
template <class T, class S>
std::ostream& operator<<(std::ostream& stream, const TensorView<T, S>& v) {
  const auto format = array_detail::take_format(stream);
  if (!v || format.plain()) return stream << to_string(v);
  return stream << array_detail::formatted(v, format, array_detail::formatted_word<std::remove_const_t<T>>);
}
template <class T, class S>
std::ostream& operator<<(std::ostream& stream, const Tensor<T, S>& t) {
  return stream << t.view();
}
/// Expressions and strided slices are computed first.
template <Lazy E>
std::ostream& operator<<(std::ostream& stream, const E& e) {
  return stream << e.eval();
}
/// Type and extents come first: "tensor(float) (2) [1.0, 2.0]".
inline std::ostream& operator<<(std::ostream& stream, AnyView v) {
  const auto format = array_detail::take_format(stream);
  if (!v || format.plain()) return stream << to_string(v);
  return stream << to_string(Type(v.dtype())) << ' ' << to_string(v.extents()) << (v.rank() > 1 ? '\n' : ' ')
                << array_detail::formatted(v, format, array_detail::any_formatted_word);
}
inline std::ostream& operator<<(std::ostream& stream, const AnyTensor& t) { return stream << t.view(); }
/// Values other than tensors are written as by to_string.
inline std::ostream& operator<<(std::ostream& stream, const Value& v) {
  if (v.is_tensor()) return stream << v.tensor();
  stream.width(0);
  return stream << to_string(v);
}

}  // namespace tenon::TENON_ABI
