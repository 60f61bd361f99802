// The lexical elements of a compiled model's text: identifiers, literals, and constants that its header
// holds.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tenon/base/storage.hpp"
#include "tenon/base/types.hpp"
#include "tenon/tensor/shape.hpp"

namespace tenon::TENON_ABI::emission {

/// A name as a C++ identifier that is unique in the text.
std::string identifier(std::string_view name);
/// The same for a namespace, whose name must differ from all functions of the C library: exp gives exp_.
std::string namespace_name(std::string_view name);

class Identifiers {
 public:
  std::string fresh(std::string_view name);

 private:
  std::set<std::string> taken_;
};

namespace detail {
template <auto e>
constexpr std::string_view enumerator() {
  std::string_view words =
      __PRETTY_FUNCTION__;  // "… [with auto e = tenon::Colour::red; …]", "… [e = Colour::red]"
  words.remove_prefix(words.find("e = ") + 4);
  words = words.substr(0, words.find_first_of(";]"));
  return words.substr(words.rfind(':') + 1);
}
}  // namespace detail

/// A name for use in a single-line comment.
std::string comment(std::string_view name);
std::string c_text(std::string_view s);

std::string literal(int64_t v);
std::string literal(bool v);
std::string literal(double v);
std::string literal(float v);
std::string literal(DType d);
std::string literal(const Extents& e);
/// The name of an enumerator below 64, as its enumeration spells it: taken from the compiler's name for a
/// function instantiated with it, so that there is no list to maintain.
template <class E>
std::string_view name_of(E e) {
  static constexpr auto names = []<std::size_t... k>(std::index_sequence<k...>) {
    return std::array{detail::enumerator<static_cast<E>(k)>()...};
  }(std::make_index_sequence<64>());
  return names.at(static_cast<std::size_t>(e));
}
/// The C++ type of an element type.
std::string type_name(DType d);

/// The reason why a header cannot express a node.
struct Refused {
  std::string reason;
};

class Constants {
 public:
  explicit Constants(std::optional<int64_t> threshold) : threshold_(threshold) {}

  /// An expression for the first byte of constant memory. `of_file` becomes true if it is known only at run
  /// time.
  std::string address(const Storage& storage, bool& of_file);
  std::string storage(const Storage& s, bool& of_file);
  /// An expression for the span of these elements of a type.
  std::string list(std::string_view type, const std::vector<std::string>& elements);
  /// The name of an operator that is constant.
  std::string op(const std::string& expression);

  /// The definitions that the expressions need.
  std::string text() const;
  std::string& weights() { return weights_; }

 private:
  std::optional<int64_t> threshold_;
  std::vector<Storage> kept_;
  std::unordered_map<std::string_view, std::string> names_;
  std::map<std::string, std::string> lists_, operators_;
  std::string text_;
  std::string bytes_, weights_;  // the header's, and the file's; each constant at a multiple of 64
};

}  // namespace tenon::TENON_ABI::emission
