// What ONNX states of an operator: names, versions, operands, type constraints, attributes.
#pragma once

#include "tenon/tensor/type.hpp"

namespace tenon::op {

/// A version from which, or up to and including which, a row of a specification holds.
inline constexpr int always = 1 << 20;

/// A list in constant data: at most N entries.
template <class T, int N>
struct List {
  T items_[N]{};
  int size_ = 0;
  constexpr List() = default;
  constexpr List(std::initializer_list<T> list) {
    for (const T& t : list) items_[size_++] = t;
  }
  constexpr int size() const { return size_; }
  constexpr const T* begin() const { return items_; }
  constexpr const T* end() const { return items_ + size_; }
  constexpr const T& operator[](int i) const { return items_[i]; }
};

enum class Arity : uint8_t { single, optional, variadic };
inline constexpr Arity optional = Arity::optional;
inline constexpr Arity variadic = Arity::variadic;

/// An input or output. `type` is a type variable of the operator or a type, as in "tensor(int64)".
struct Param {
  std::string_view name;
  std::string_view type;
  Arity arity = Arity::single;
  int min_arity = 1;           ///< of a variadic operand
  bool heterogeneous = false;  ///< a variadic operand whose members' types may differ
  int since = 1;               ///< the first version that has the operand
  int until = always;          ///< the last one
  bool loose = false;          ///< what one version permits is taken at all of them, as files rely on it

  constexpr bool in(int version) const { return since <= version && version <= until; }
};

/// What a type variable permits from a version on.
struct TypeRow {
  int since = 1;
  TypeSet set;
};

struct TypeVar {
  std::string_view name;
  List<TypeRow, 9> rows;

  constexpr TypeVar() = default;
  constexpr TypeVar(std::string_view n, TypeSet set) : name(n), rows{{1, set}} {}
  constexpr TypeVar(std::string_view n, std::initializer_list<TypeRow> r) : name(n), rows(r) {}

  /// What version `version` permits.
  constexpr TypeSet at(int version) const {
    TypeSet set;
    for (const TypeRow& row : rows)
      if (row.since <= version) set = row.set;
    return set;
  }
  /// What any version permits.
  constexpr TypeSet any() const {
    TypeSet set;
    for (const TypeRow& row : rows) set = set | row.set;
    return set;
  }
};

/// How a session may lay out the first output.
enum class Memory : uint8_t {
  fresh,        ///< memory of its own
  elementwise,  ///< may overwrite an input of its type and extents: element i is read last for element i
  alias,        ///< the bytes of input 0, under other extents
};

struct Spec {
  std::string_view name;
  std::string_view domain = "";  ///< "" is ai.onnx
  List<int, 10> since;           ///< the versions that this struct implements, ascending
  List<Param, 9> inputs;
  List<Param, 5> outputs;
  List<TypeVar, 5> types;
  Memory memory = Memory::fresh;
  bool deterministic = true;  ///< false: may not be folded into a constant
  int until = always;         ///< the last opset version, for an operator that was withdrawn after it

  constexpr bool variadic_inputs() const {
    return inputs.size() > 0 && inputs[inputs.size() - 1].arity == variadic;
  }
  constexpr bool variadic_outputs() const {
    return outputs.size() > 0 && outputs[outputs.size() - 1].arity == variadic;
  }
  constexpr const Param& input(int i) const { return inputs[i < inputs.size() ? i : inputs.size() - 1]; }
  constexpr const Param& output(int i) const { return outputs[i < outputs.size() ? i : outputs.size() - 1]; }
  constexpr int latest() const { return since[since.size() - 1]; }
  /// The number of a type variable, or -1 when `type` is a type itself.
  constexpr int variable(std::string_view type) const {
    for (int i = 0; i < types.size(); ++i)
      if (types[i].name == type) return i;
    return -1;
  }
  /// What an operand permits in any version.
  constexpr TypeSet permits(const Param& p) const {
    const int v = variable(p.type);
    return v < 0 ? parse_tensor(p.type) : types[v].any();
  }
  constexpr TypeSet permits(const Param& p, int version) const {
    const int v = variable(p.type);
    return v < 0 ? parse_tensor(p.type) : p.loose ? types[v].any() : types[v].at(version);
  }
  /// The fewest inputs (outputs) that a node of a version can name.
  constexpr int min_inputs(int version = always - 1) const {
    return fewest(inputs.begin(), inputs.size(), version);
  }
  constexpr int min_outputs(int version = always - 1) const {
    return fewest(outputs.begin(), outputs.size(), version);
  }

  /// The set of "tensor(float)".
  static constexpr TypeSet parse_tensor(std::string_view text) {
    for (int d = 1; d <= 26; ++d) {
      const std::string_view n = tenon::name(static_cast<DType>(d));
      if (text.size() == n.size() + 8 && text.starts_with("tensor(") && text.substr(7, n.size()) == n)
        return tensor({static_cast<DType>(d)});
    }
    return {};
  }

 private:
  static constexpr int fewest(const Param* params, int size, int version) {
    int count = 0;
    for (int i = 0; i < size; ++i)
      if (params[i].in(version) && params[i].arity != Arity::optional)
        count = params[i].arity == variadic ? i + params[i].min_arity : i + 1;
    return count;
  }
};

/// An attribute of an operator: its ONNX name and the member that holds it. The member's default is ONNX's.
template <class Op, class T>
struct Attribute {
  using type = T;
  std::string_view name;
  T Op::* member;
  bool is_required = false;
  int first = 1;
  int last = always;

  constexpr Attribute required() const { return {name, member, true, first, last}; }
  constexpr Attribute since(int version) const { return {name, member, is_required, version, last}; }
  constexpr Attribute until(int version) const { return {name, member, is_required, first, version}; }
  constexpr bool in(int version) const { return first <= version && version <= last; }
};

/// The attributes of an operator, in ONNX's order. Not a std::tuple, whose constructors cost every operator a hundredth
/// of a second to compile.
template <class... A>
struct Attributes {
  constexpr void each(const auto&) const {}
};
template <class A, class... More>
struct Attributes<A, More...> {
  A first;
  Attributes<More...> more;

  constexpr Attributes(A a, More... rest) : first(a), more(rest...) {}
  /// Calls f(attribute) for one after the other.
  constexpr void each(const auto& f) const {
    f(first);
    more.each(f);
  }
};
template <class... A>
Attributes(A...) -> Attributes<A...>;

template <class Op, class T>
constexpr Attribute<Op, T> attr(std::string_view name, T Op::* member) {
  return {name, member};
}

}  // namespace tenon::op
