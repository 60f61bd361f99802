// An operator's specification by ONNX: names, versions, operands, type constraints, attributes.
#pragma once

#include <algorithm>
#include <span>

#include "tenon/tensor/type.hpp"

/// The last line of an operator's header lists its operators by their whole names, outside of all namespaces:
/// TENON_OPERATORS(tenon::op::Add, tenon::op::Add_1), at most four. Units that register operators read more
/// of the list (registration.hpp).
#define TENON_OPERATORS(...) TENON_EACH(TENON_LISTED, __VA_ARGS__)
#define TENON_LISTED(Op) \
  template <>            \
  inline constexpr bool tenon::detail::is_listed<Op> = true;

/// F(item) for each item of a list.
#define TENON_EACH(F, first, ...) F(first) __VA_OPT__(TENON_EACH_2(F, __VA_ARGS__))
#define TENON_EACH_2(F, first, ...) F(first) __VA_OPT__(TENON_EACH_3(F, __VA_ARGS__))
#define TENON_EACH_3(F, first, ...) F(first) __VA_OPT__(TENON_EACH_4(F, __VA_ARGS__))
#define TENON_EACH_4(F, last) F(last)

namespace tenon::TENON_ABI::detail {
/// Whether a TENON_OPERATORS lists the operator.
template <class Op>
inline constexpr bool is_listed = false;
}  // namespace tenon::TENON_ABI::detail

namespace tenon::TENON_ABI::op {

/// The first or the last version for which a row of a specification holds.
inline constexpr int always = 0x7fff;

/// A list in constant data: at most N entries.
template <class T, int N>
struct List {
  T items_[N]{};
  int size_ = 0;
  constexpr List() = default;
  constexpr List(std::initializer_list<T> list) {
    for (const T& t : list) items_[size_++] = t;
  }
  constexpr void push_back(const T& t) { items_[size_++] = t; }
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
  int16_t min_arity = 1;       ///< of a variadic operand
  bool heterogeneous = false;  ///< whether the types of a variadic operand's members may differ
  int16_t since = 1;           ///< the first version that has the operand
  int16_t until = always;      ///< the last one
  int16_t types_of = 1;   ///< earlier versions accept the types of this version, because files rely on that
  int16_t looks_up = -1;  ///< the number of the input in which the elements are places: along the axis
                          ///< that attribute `axis` names, or along any where there is no such attribute

  constexpr bool in(int version) const { return since <= version && version <= until; }
};

/// An operand at versions up to `until`, at which its name, type or arity differed from today's.
struct OldParam {
  int16_t until = 0;
  int16_t at = 0;  ///< its number among the operands
  Param param;
};

/// A result that may lie in the memory of an operand of the same extents: `compute` then writes what differs.
struct Update {
  int16_t output = 0, input = 0;
};

/// The types that a type variable permits from a version on.
struct TypeRow {
  int since = 1;
  TypeSet set;

  constexpr bool operator==(const TypeRow&) const = default;
};

struct TypeVar {
  std::string_view name;
  List<TypeRow, 9> rows;

  constexpr TypeVar() = default;
  constexpr TypeVar(std::string_view n, TypeSet set) : name(n), rows{{1, set}} {}
  constexpr TypeVar(std::string_view n, std::initializer_list<TypeRow> r) : name(n), rows(r) {}
};

/// A type variable that permits all types of ONNX's IR, version by version as the IR acquired them. `before`
/// has the rows of versions that permitted fewer.
constexpr TypeVar every_type(std::string_view name,
                             std::initializer_list<TypeRow> before = {{1, types::all}}) {
  TypeVar v(name, before);
  const int last = v.rows[v.rows.size() - 1].since;
  for (const TypeRow& row :
       {TypeRow{13, types::all_ir4}, TypeRow{19, types::all_ir9}, TypeRow{21, types::all_ir10},
        TypeRow{23, types::all_ir11}, TypeRow{24, types::all_ir12}, TypeRow{25, types::all_ir13}})
    if (row.since > last) v.rows.push_back(row);
  return v;
}

/// The type variables of an operator. Their rows are stored consecutively, equal lists once, because every
/// operator of a program keeps its specification.
class TypeVars {
 public:
  struct Item {
    std::string_view name;
    std::span<const TypeRow> rows;

    /// The types that version `version` permits.
    constexpr TypeSet at(int version) const {
      TypeSet set;
      for (const TypeRow& row : rows)
        if (row.since <= version) set = row.set;
      return set;
    }
    /// The types that at least one version permits.
    constexpr TypeSet any() const {
      TypeSet set;
      for (const TypeRow& row : rows) set = set | row.set;
      return set;
    }
  };

  constexpr TypeVars() = default;
  constexpr TypeVars(std::initializer_list<TypeVar> vars) {
    for (const TypeVar& v : vars) {
      Range range = find(v);
      if (range.size == 0) {
        range = {static_cast<int16_t>(rows_.size()), static_cast<int16_t>(v.rows.size())};
        for (const TypeRow& row : v.rows) rows_.push_back(row);
      }
      ranges_.push_back(range);
      names_.push_back(v.name);
    }
  }
  constexpr int size() const { return names_.size(); }
  constexpr Item operator[](int i) const {
    const Range& range = ranges_[i];
    return {names_[i], {rows_.begin() + range.first, static_cast<size_t>(range.size)}};
  }

 private:
  struct Range {
    int16_t first = 0, size = 0;
  };
  constexpr Range find(const TypeVar& v) const {
    for (const Range& range : ranges_) {
      // libstdc++'s checked std::equal is no constant expression on an initializer's elements.
      bool same = range.size == v.rows.size();
      for (int k = 0; same && k < range.size; ++k) same = rows_[range.first + k] == v.rows[k];
      if (same) return range;
    }
    return {};
  }

  List<std::string_view, 5> names_;
  List<Range, 5> ranges_;
  List<TypeRow, 10> rows_;
};

/// Where the elements of the first output come from, or of all its members if it is variadic. Passes and
/// tools query this instead of names, so that they treat operators of all domains alike.
enum class Elements : uint8_t {
  any,         ///< nothing is known
  function,    ///< a function of the first input's element at the same place, for extents of any rank. Other
               ///< inputs are parameters of the function and do not affect places
  arithmetic,  ///< a function of all inputs' elements at the same place, with numpy's broadcasting
  order,       ///< the first input's elements, each once, in places that do not depend on elements
  choice,  ///< elements of the first input, or of all members if that is variadic, chosen by their places,
           ///< by other inputs, or by comparing them with each other
};

/// How a session may lay out the first output.
enum class Memory : uint8_t {
  fresh,        ///< memory of its own
  elementwise,  ///< may overwrite an input of the same type and extents, since element i of an input is last
                ///< read for element i of the output
  alias,        ///< may share input 0's memory: the same bytes under other extents
  join,         ///< the inputs may lie in the output, back to back, if these are their places in it
  moved,        ///< memory of its own for bytes of input 0, which need not be AnyTensor::aligned
};

/// The memory that `compute` takes in addition to its operands.
enum class Workspace : uint8_t {
  planned,    ///< Scratch, an amount that the operands' extents determine
  unplanned,  ///< Scratch, an amount that the operands' elements determine
  heap,       ///< heap memory
};

using InputParams = List<Param, 18>;
using OutputParams = List<Param, 5>;

struct Spec {
  std::string_view name;
  std::string_view domain = "";  ///< "" is ai.onnx
  List<int16_t, 10> since;       ///< the versions that this struct implements, ascending
  InputParams inputs;
  OutputParams outputs;
  TypeVars types;
  Elements elements = Elements::any;  ///< if attributes decide, the struct has `Elements elements() const`
  Memory memory = elements == Elements::function || elements == Elements::arithmetic ? Memory::elementwise
                                                                                     : Memory::fresh;
  Workspace workspace = Workspace::planned;
  bool deterministic = true;    ///< false: may not be folded into a constant
  bool linked = false;          ///< true: `compute` calls functions of a library that programs link
  bool results_decide = false;  ///< true: which optional results a node has decides what it computes
  int16_t until = always;       ///< the last opset version, for an operator that was withdrawn after it
  List<OldParam, 4> old_inputs{};
  List<OldParam, 2> old_outputs{};
  List<Update, 2> updates{};

 private:
  // These come before the constants that call them: in a constant, clang accepts only functions whose bodies
  // it has already read.
  template <int N, int M>
  static constexpr const Param& param(const List<Param, N>& params, const List<OldParam, M>& old, int i,
                                      int version) {
    i = i < params.size() ? i : params.size() - 1;
    const OldParam* found = nullptr;
    for (const OldParam& o : old)
      if (o.at == i && version <= o.until && (!found || o.until < found->until)) found = &o;
    return found ? found->param : params[i];
  }
  template <int N, int M>
  constexpr TypeSet permits(const List<Param, N>& params, const List<OldParam, M>& old, int i) const {
    TypeSet set = permits(params[i]);
    for (const OldParam& o : old)
      if (o.at == i) set = set | permits(o.param);
    return set;
  }
  template <int N, int M>
  static constexpr int fewest(const List<Param, N>& params, const List<OldParam, M>& old, int version) {
    int count = 0;
    for (int i = 0; i < params.size(); ++i) {
      const Param& p = param(params, old, i, version);
      if (p.in(version) && p.arity != Arity::optional) count = p.arity == variadic ? i + p.min_arity : i + 1;
    }
    return count;
  }

 public:
  constexpr bool variadic_inputs() const {
    return inputs.size() > 0 && inputs[inputs.size() - 1].arity == variadic;
  }
  constexpr bool variadic_outputs() const {
    return outputs.size() > 0 && outputs[outputs.size() - 1].arity == variadic;
  }
  /// Operand number `i`, in its newest form or in the form of `version`.
  constexpr const Param& input(int i, int version = always) const {
    return param(inputs, old_inputs, i, version);
  }
  constexpr const Param& output(int i, int version = always) const {
    return param(outputs, old_outputs, i, version);
  }
  constexpr int latest() const { return since[since.size() - 1]; }
  /// The number of a type variable, or -1 when `type` is a type itself.
  constexpr int variable(std::string_view type) const {
    for (int i = 0; i < types.size(); ++i)
      if (types[i].name == type) return i;
    return -1;
  }
  /// Whether an input (an output) of a version has the type variable.
  constexpr bool names_input(int variable, int version) const {
    for (int i = 0; i < inputs.size(); ++i)
      if (input(i, version).in(version) && input(i, version).type == types[variable].name) return true;
    return false;
  }
  constexpr bool names_output(int variable, int version) const {
    for (int i = 0; i < outputs.size(); ++i)
      if (output(i, version).in(version) && output(i, version).type == types[variable].name) return true;
    return false;
  }
  /// The types that a type variable stands for at a version: none where no operand has it.
  constexpr TypeSet types_at(int variable, int version) const {
    const bool named = names_input(variable, version) || names_output(variable, version);
    return named ? types[variable].at(version) : TypeSet();
  }
  /// The types that an operand permits in at least one version.
  constexpr TypeSet permits(const Param& p) const {
    const int v = variable(p.type);
    return v < 0 ? parse_tensor(p.type) : types[v].any();
  }
  constexpr TypeSet input_permits(int i) const { return permits(inputs, old_inputs, i); }
  constexpr TypeSet output_permits(int i) const { return permits(outputs, old_outputs, i); }
  constexpr TypeSet permits(const Param& p, int version) const {
    const int v = variable(p.type);
    return v < 0 ? parse_tensor(p.type) : types[v].at(std::max<int>(version, p.types_of));
  }
  /// The fewest inputs (outputs) that a node of a version can name.
  constexpr int min_inputs(int version = always) const { return fewest(inputs, old_inputs, version); }
  constexpr int min_outputs(int version = always) const { return fewest(outputs, old_outputs, version); }
  /// The most inputs that a node of a version can name, a variadic one counted once.
  constexpr int max_inputs(int version) const {
    int count = 0;
    for (int i = 0; i < inputs.size(); ++i)
      if (input(i, version).in(version)) count = i + 1;
    return count;
  }

  /// The set of "tensor(float)".
  static constexpr TypeSet parse_tensor(std::string_view text) {
    for (int d = 1; d <= 26; ++d) {
      const std::string_view n = tenon::name_of(static_cast<DType>(d));
      if (text.size() == n.size() + 8 && text.starts_with("tensor(") && text.substr(7, n.size()) == n)
        return tensor({static_cast<DType>(d)});
    }
    return {};
  }
};

/// The specification of an operator that no file contains: passes and derivatives insert it.
constexpr Spec own_spec(std::string_view name, const InputParams& inputs, const OutputParams& outputs,
                        const TypeVars& types = {}) {
  return {
      .name = name, .domain = "tenon", .since = {1}, .inputs = inputs, .outputs = outputs, .types = types};
}
/// The same for an operator that replaces ONNX's, with the same operands and versions.
constexpr Spec own_spec(std::string_view name, Spec onnx) {
  onnx.name = name;
  onnx.domain = "tenon";
  onnx.until = always;
  return onnx;
}

/// The members common to all rows of a list of attributes.
template <class Row>
struct AttributeRow {
  std::string_view name;
  int input = -1;  ///< the number of the input that replaces it in the newest versions
  bool is_required = false;
  bool is_flag = false;
  int first = 1;
  int last = always;

  constexpr Row required() const {
    Row r = static_cast<const Row&>(*this);
    r.is_required = true;
    return r;
  }
  /// The attribute is 0 or 1: runs refuse all other numbers.
  constexpr Row flag() const {
    Row r = static_cast<const Row&>(*this);
    r.is_flag = true;
    return r;
  }
  constexpr Row since(int version) const {
    Row r = static_cast<const Row&>(*this);
    r.first = version;
    return r;
  }
  constexpr Row until(int version) const {
    Row r = static_cast<const Row&>(*this);
    r.last = version;
    return r;
  }
  constexpr bool in(int version) const { return first <= version && version <= last; }
};

/// An attribute of an operator: its ONNX name, and the member that holds it, whose default is ONNX's.
template <class Op, class T>
struct Attribute : AttributeRow<Attribute<Op, T>> {
  using type = T;
  T Op::* member = nullptr;
};
/// An attribute of old versions that is no member today.
template <class T>
struct OldAttribute : AttributeRow<OldAttribute<T>> {
  using type = T;
  Opt<double> fallback{};

  constexpr OldAttribute by_default(double value) const {
    OldAttribute a = *this;
    a.fallback = value;
    return a;
  }
};
/// An attribute that old versions write differently; `read` sets the member.
template <class Op, class T>
struct ReadAttribute : AttributeRow<ReadAttribute<Op, T>> {
  using type = T;
  void (*read)(Op& op, const T& written) = nullptr;
};

/// A member's initial value at versions that have another default or lack the attribute.
template <class Op, class T>
struct InitialValue : AttributeRow<InitialValue<Op, T>> {
  T Op::* member = nullptr;
  T value{};
};

/// The attributes of an operator, in ONNX's order. Not a std::tuple: its constructors cost ten milliseconds
/// of compile time for every operator.
template <class... A>
struct Attributes {
  constexpr void each(const auto&) const {}
};
template <class A, class... More>
struct Attributes<A, More...> {
  A first;
  Attributes<More...> more;

  constexpr Attributes(A a, More... rest) : first(a), more(rest...) {}
  /// Calls f(attribute) for each attribute in order.
  constexpr void each(const auto& f) const {
    f(first);
    more.each(f);
  }
};
template <class... A>
Attributes(A...) -> Attributes<A...>;

template <class Op, class T>
constexpr Attribute<Op, T> attr(std::string_view name, T Op::* member) {
  return {{.name = name}, member};
}
/// A hint that changes no result.
template <class T>
constexpr OldAttribute<T> ignored(std::string_view name) {
  return {{.name = name}};
}
/// An attribute of old versions that is an input today. INTS become a vector, INT a vector of one element,
/// FLOAT a scalar of the input's type. An optional input is left out when the attribute has no value or no
/// elements.
template <class T>
constexpr OldAttribute<T> attr_as_input(std::string_view name, int input) {
  return {{.name = name, .input = input}};
}
template <class Op, class T>
constexpr ReadAttribute<Op, T> attr_read(std::string_view name, void (*read)(Op&, const T&)) {
  return {{.name = name}, read};
}

template <class Op, class T>
constexpr InitialValue<Op, T> initially(T Op::* member, std::type_identity_t<T> value) {
  return {{}, member, value};
}

/// The hint of version 1 that an operand's memory may be reused.
inline constexpr auto consumed_inputs = ignored<Ints>("consumed_inputs").until(5);

inline constexpr Attributes<> no_attributes{};

/// The attribute rows of an operator; an operator without attributes need not declare any.
template <class Op>
constexpr const auto& attributes_of_class() {
  if constexpr (requires { Op::attributes; }) return Op::attributes;
  else return no_attributes;
}

/// A bit for each input that is an attribute at a version.
template <class Op>
constexpr uint32_t inputs_from_attributes(int version) {
  uint32_t mask = 0;
  attributes_of_class<Op>().each(
      [&](const auto& a) { mask |= a.input >= 0 && a.in(version) ? 1u << a.input : 0u; });
  return mask;
}

}  // namespace tenon::TENON_ABI::op
