// Tensors and values as text: nested brackets as numpy prints them, numbers in the digits that Cast gives
// them.
#pragma once

#include "tenon/base/convert.hpp"
#include "tenon/tensor/value.hpp"

namespace tenon {

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
std::string element_text_as(AnyView v, int64_t i) {
  if constexpr (std::is_same_v<T, std::string>) return in_quotes(v.as<T>()[i]);
  else return convert<std::string>(T(v.as<T>()[i]));
}
inline std::string element_text(AnyView v, int64_t i) {
  std::string text;
  visit_dtype(v.dtype(), [&]<class T>() { text = element_text_as<T>(v, i); });
  return text;
}

/// The text of one tensor's elements, while it is put together.
class ElementText {
 public:
  /// Typed callers name the text of their type, so that no other type's is compiled.
  ElementText(AnyView v, std::string (*element)(AnyView, int64_t)) : view_(v) {
    if (v.empty()) {
      text_ = "[]";
      return;
    }
    edge_ = v.size() <= most ? most : 3;
    while (edge_ > 1 && shown() > most) --edge_;
    walk(0, 0, [&](int64_t i) { words_.push_back(element(v, i)); });
    // Columns line up where there are lines.
    if (v.rank() > 1 && v.dtype() != DType::string)
      for (const std::string& w : words_) width_ = std::max(width_, w.size());
    std::size_t next = 0;
    write(0, [&] { return std::move(words_[next++]); });
  }
  std::string take() && { return std::move(text_); }

 private:
  static constexpr int64_t most = 1000;  // more elements than these are summarised

  bool cut(int axis) const { return view_.extent(axis) > 2 * edge_; }
  int64_t shown() const {
    int64_t n = 1;
    for (int k = 0; k < view_.rank(); ++k) n *= std::min(view_.extent(k), 2 * edge_);
    return n;
  }

  // f(i) for the offset of every element that is shown, in order.
  template <class F>
  void walk(int axis, int64_t offset, F&& f) const {
    if (axis == view_.rank()) return f(offset);
    const int64_t n = view_.extent(axis);
    for (int64_t k = 0; k < n; ++k) {
      if (cut(axis) && k == edge_) k = n - edge_;
      walk(axis + 1, offset * n + k, f);
    }
  }

  template <class F>
  void write(int axis, F&& word) {
    if (axis == view_.rank()) {
      const std::string w = word();
      text_.append(width_ > w.size() ? width_ - w.size() : 0, ' ');
      text_ += w;
      return;
    }
    // Between vectors a new line, between matrices an empty one more, and so on.
    const int lines = view_.rank() - axis - 1;
    const auto separate = [&] {
      text_ += lines == 0 ? ", " : ",";
      text_.append(static_cast<std::size_t>(lines), '\n');
      if (lines > 0) text_.append(static_cast<std::size_t>(axis) + 1, ' ');
    };
    text_ += '[';
    const int64_t n = view_.extent(axis);
    for (int64_t k = 0; k < n; ++k) {
      if (k > 0) separate();
      if (cut(axis) && k == edge_) {
        text_ += "...";
        separate();
        k = n - edge_;
      }
      write(axis + 1, word);
    }
    text_ += ']';
  }

  AnyView view_;
  int64_t edge_ = 0;  // entries shown at each end of an axis that is cut
  std::size_t width_ = 0;
  std::vector<std::string> words_;
  std::string text_;
};

inline std::string indented(std::string_view text) {
  std::string result;
  for (char c : text) {
    result += c;
    if (c == '\n') result += "  ";
  }
  return result;
}

}  // namespace detail

/// The elements in nested brackets, "[[1.0, 2.0],\n [3.0, 4.0]]". Of more than 1000, each axis shows its ends
/// around "...".
template <class T, class S>
std::string to_string(const TensorView<T, S>& v) {
  return v ? detail::ElementText(v, detail::element_text_as<std::remove_const_t<T>>).take() : "none";
}
template <class T, class S>
std::string to_string(const Tensor<T, S>& t) {
  return to_string(t.view());
}
/// What the C++ type does not tell comes first: "tensor(float) (2) [1.0, 2.0]".
inline std::string to_string(AnyView v) {
  if (!v) return "none";
  return concat(to_string(Type(v.dtype())), " ", to_string(v.extents()), v.rank() > 1 ? "\n" : " ",
                detail::ElementText(v, detail::element_text).take());
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
    text += concat(" of ", items.size());
    list(items.size(), [&](std::size_t k) { return to_string(items[k]); });
  } else if (v.is_optional()) {
    const auto& held = v.optional().value;
    if (held) list(1, [&](std::size_t) { return to_string(*held); });
    else text += " of nothing";
  } else if (v.is_map()) {
    const AnyView keys = v.map().keys.view(), values = v.map().values.view();
    const auto n = static_cast<std::size_t>(std::min(keys.size(), values.size()));
    text += concat(" of ", n);
    list(n, [&](std::size_t k) {
      const auto i = static_cast<int64_t>(k);
      return detail::element_text(keys, i) + ": " + detail::element_text(values, i);
    });
  } else if (v.is_sparse_tensor()) {
    const SparseTensor& s = v.sparse_tensor();
    text += " " + to_string(s.extents);
    text += "\n  values " + detail::indented(to_string(s.values));
    text += "\n  indices " + detail::indented(to_string(s.indices));
  }
  return text;
}

}  // namespace tenon
