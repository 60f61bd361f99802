// Tensors and values as text: nested brackets as numpy prints them, numbers in the form that Cast gives them.
#pragma once

#include "tenon/base/convert.hpp"
#include "tenon/tensor/value.hpp"

namespace tenon::TENON_ABI {

namespace detail {

/// "a string\n", quoted.
inline std::string in_quotes(std::string_view s) {
  constexpr std::string_view hex = "0123456789abcdef";
  std::string text = "\"";
  for (char c : s) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') text += {'\\', c};
    else if (c == '\n') text += "\\n";
    else if (u < 0x20 || u == 0x7f) text += {'\\', 'x', hex[u >> 4], hex[u & 15]};
    else text += c;  // UTF-8 as it is
  }
  return text + "\"";
}

template <class T>
[[gnu::cold]] std::string element_text_as(AnyView v, int64_t i) {
  if constexpr (std::is_same_v<T, std::string>) return in_quotes(v.as<T>()[i]);
  else return convert<std::string>(T(v.as<T>()[i]));
}
inline std::string element_text(AnyView v, int64_t i) {
  std::string text;
  visit_dtype(v.dtype(), [&]<class T>() { text = element_text_as<T>(v, i); });
  return text;
}

/// The elements of a tensor that is not empty, in brackets, with each word padded to `width`; `widest`
/// becomes the length of the longest word. Of an axis longer than 2 `edge`, both ends are shown.
[[gnu::cold]] inline std::string bracketed(AnyView v, std::string (*element)(AnyView, int64_t), int64_t edge,
                                           std::size_t width, std::size_t& widest) {
  const auto count = [](int n) { return static_cast<std::size_t>(n); };
  const int rank = v.rank();
  std::string text(count(rank), '[');
  int64_t at[max_rank] = {};
  for (;;) {
    int64_t offset = 0;
    for (int k = 0; k < rank; ++k) offset = offset * v.extent(k) + at[k];
    const std::string word = element(v, offset);
    widest = std::max(widest, word.size());
    if (word.size() < width) text.append(width - word.size(), ' ');
    text += word;

    int axis = rank - 1;
    for (; axis >= 0 && ++at[axis] == v.extent(axis); --axis) {
      at[axis] = 0;
      text += ']';
    }
    if (axis < 0) return text;
    // A line break between vectors, an additional empty line between matrices, and so on.
    const int lines = rank - axis - 1;
    const bool gap = v.extent(axis) > 2 * edge && at[axis] == edge;
    if (gap) at[axis] = v.extent(axis) - edge;
    for (int k = gap ? 0 : 1; k < 2; ++k) {
      text += lines == 0 ? ", " : ",";
      text.append(count(lines), '\n');
      if (lines > 0) text.append(count(axis) + 1, ' ');
      if (k == 0) text += "...";
    }
    text.append(count(lines), '[');
  }
}

/// The elements of a tensor. Typed callers pass their type's function, so that no other type's is compiled.
[[gnu::cold]] inline std::string elements_text(AnyView v, std::string (*element)(AnyView, int64_t)) {
  if (v.empty()) return "[]";
  constexpr int64_t most = 1000;  // more elements than these are summarised
  int64_t edge = v.size() <= most ? most : 3;
  const auto shown = [&] {
    int64_t n = 1;
    for (int64_t extent : v.extents()) n *= std::min(extent, 2 * edge);
    return n;
  };
  while (edge > 1 && shown() > most) --edge;
  std::size_t widest = 0, unused = 0;
  // Columns are aligned if there are several lines.
  if (v.rank() > 1 && v.dtype() != DType::string) bracketed(v, element, edge, 0, widest);
  return bracketed(v, element, edge, widest, unused);
}

inline std::string indented(std::string_view text) {
  std::string result;
  for (char c : text) {
    result += c;
    if (c == '\n') result += "  ";
  }
  return result;
}

}  // namespace detail

/// The elements in nested brackets, "[[1.0, 2.0],\n [3.0, 4.0]]". With more than 1000, each axis shows its
/// ends around "...".
template <class T, class S>
std::string to_string(const TensorView<T, S>& v) {
  return v ? detail::elements_text(v, detail::element_text_as<std::remove_const_t<T>>) : "none";
}
template <class T, class S>
std::string to_string(const Tensor<T, S>& t) {
  return to_string(t.view());
}
template <Lazy E>
std::string to_string(const E& e) {
  return to_string(e.eval());
}
/// Begins with what the C++ type does not state: "tensor(float) (2) [1.0, 2.0]".
inline std::string to_string(AnyView v) {
  if (!v) return "none";
  return str_cat(to_string(Type(v.dtype())), " ", to_string(v.extents()), v.rank() > 1 ? "\n" : " ",
                 detail::elements_text(v, detail::element_text));
}
inline std::string to_string(const AnyTensor& t) {
  return t.dtype() == DType::undefined ? "none" : to_string(t.view());
}

/// The type, then what the value holds: tensors as above, one item a line.
inline std::string to_string(const Value& v) {
  constexpr std::size_t most = 1000, edge = 3;
  std::string text = to_string(v.type());
  const auto list = [&](std::size_t n, auto item) {
    for (std::size_t k = 0; k < n; ++k) {
      if (n > most && k == edge) {
        text += "\n  ...";
        k = n - edge;
      }
      text += "\n  " + detail::indented(item(k));
    }
  };
  if (v.is_tensor()) {
    return to_string(v.tensor());
  } else if (v.is_sequence()) {
    const std::vector<Value>& items = v.sequence().items;
    text += str_cat(" of ", items.size());
    list(items.size(), [&](std::size_t k) { return to_string(items[k]); });
  } else if (v.is_optional()) {
    const auto& held = v.optional().value;
    if (held) list(1, [&](std::size_t) { return to_string(*held); });
    else text += " of nothing";
  } else if (v.is_map()) {
    const AnyView keys = v.map().keys.view(), values = v.map().values.view();
    const auto n = static_cast<std::size_t>(std::min(keys.size(), values.size()));
    text += str_cat(" of ", n);
    list(n, [&](std::size_t k) {
      const auto i = static_cast<int64_t>(k);
      return detail::element_text(keys, i) + ": " + detail::element_text(values, i);
    });
  } else if (v.is_sparse_tensor()) {
    const SparseTensor& s = v.sparse_tensor();
    text += " " + to_string(s.extents);
    text += "\n  values " + detail::indented(to_string(s.values));
    text += "\n  indices " + detail::indented(to_string(s.indices));
  } else if (v.is_opaque()) {
    text += str_cat("(", v.opaque().domain, ",", v.opaque().name, ")");
  }
  return text;
}

}  // namespace tenon::TENON_ABI
