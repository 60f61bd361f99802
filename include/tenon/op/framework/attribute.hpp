// Attributes whose types are known only at run time. A loader or a custom front end fills an operator's
// members with them.
#pragma once

#include <variant>

#include "tenon/base/convert.hpp"
#include "tenon/op/framework/context.hpp"

namespace tenon::TENON_ABI::op {

/// The value of an attribute in a model file.
using AttributeValue = std::variant<std::monostate, int64_t, float, std::string, std::vector<int64_t>,
                                    std::vector<float>, std::vector<std::string>, Value, BodyRef, Type>;

enum class AttributeType : uint8_t {
  none,
  integer,
  real,
  string,
  integers,
  reals,
  strings,
  tensor,
  graph,
  type,
  sparse
};

/// ONNX's name of the type, as AttributeProto spells it.
constexpr std::string_view name_of(AttributeType t) {
  constexpr std::string_view names[] = {"UNDEFINED", "INT",        "FLOAT",        "STRING",
                                        "INTS",      "FLOATS",     "STRINGS",      "TENSOR",
                                        "GRAPH",     "TYPE_PROTO", "SPARSE_TENSOR"};
  return names[static_cast<int>(t)];
}

/// A tensor and a sparse tensor as member types, so that the two kinds of attribute are distinct.
struct TensorAttribute {
  Value value;
  explicit operator bool() const { return static_cast<bool>(value); }
};
struct SparseTensorAttribute {
  Value value;
  explicit operator bool() const { return static_cast<bool>(value); }
};

namespace detail {

/// Conversion of one member type from and to an AttributeValue.
template <class M>
struct Member;

template <class M, class V, AttributeType T>
struct SimpleMember {
  static constexpr AttributeType type = T;
  static void set(M& m, V v) { m = std::move(v); }
  static AttributeValue get(const M& m) { return V(m); }
  using value = V;
};
template <>
struct Member<int64_t> : SimpleMember<int64_t, int64_t, AttributeType::integer> {};
template <>
struct Member<float> : SimpleMember<float, float, AttributeType::real> {};
template <>
struct Member<std::string> : SimpleMember<std::string, std::string, AttributeType::string> {};
template <>
struct Member<std::vector<int64_t>>
    : SimpleMember<std::vector<int64_t>, std::vector<int64_t>, AttributeType::integers> {};
template <>
struct Member<std::vector<float>>
    : SimpleMember<std::vector<float>, std::vector<float>, AttributeType::reals> {};
template <>
struct Member<std::vector<std::string>>
    : SimpleMember<std::vector<std::string>, std::vector<std::string>, AttributeType::strings> {};
template <>
struct Member<BodyRef> : SimpleMember<BodyRef, BodyRef, AttributeType::graph> {
  static AttributeValue get(const BodyRef& b) { return b ? AttributeValue(b) : AttributeValue(); }
};
template <>
struct Member<Str> {
  using value = std::string;
  static constexpr AttributeType type = AttributeType::string;
  static void set(Str& m, const std::string& v) { m = Str(std::string_view(v)); }
  static AttributeValue get(const Str& m) { return std::string(std::string_view(m)); }
};
template <>
struct Member<Ints> {
  using value = std::vector<int64_t>;
  static constexpr AttributeType type = AttributeType::integers;
  static void set(Ints& m, const std::vector<int64_t>& v) { m = Ints(std::span<const int64_t>(v)); }
  static AttributeValue get(const Ints& m) {
    return m.empty() ? AttributeValue() : AttributeValue(std::vector<int64_t>(m.begin(), m.end()));
  }
};
template <>
struct Member<Type> : SimpleMember<Type, Type, AttributeType::type> {
  static AttributeValue get(const Type& t) { return t ? AttributeValue(t) : AttributeValue(); }
};
template <class W, AttributeType T>
struct ValueMember {
  using value = Value;
  static constexpr AttributeType type = T;
  static void set(W& m, const Value& v) {
    if (v.is_sparse_tensor() != (T == AttributeType::sparse))
      raise(ErrorCode::invalid_type, {}, to_string(v.type()), " is not what the attribute takes");
    m.value = v;
  }
  static AttributeValue get(const W& m) { return m ? AttributeValue(m.value) : AttributeValue(); }
};
template <>
struct Member<TensorAttribute> : ValueMember<TensorAttribute, AttributeType::tensor> {};
template <>
struct Member<SparseTensorAttribute> : ValueMember<SparseTensorAttribute, AttributeType::sparse> {};
template <class M>
struct Member<Opt<M>> {
  using value = typename Member<M>::value;
  static constexpr AttributeType type = Member<M>::type;
  static void set(Opt<M>& m, value v) {
    Member<M>::set(m.value_, std::move(v));
    m.has_ = true;
  }
  static AttributeValue get(const Opt<M>& m) { return m ? Member<M>::get(*m) : AttributeValue(); }
};

}  // namespace detail

/// An attribute of an operator object. `value` is empty when the attribute has none.
struct AttributeInfo {
  std::string_view name;
  AttributeType type = AttributeType::none;
  bool required = false;
  int since = 1, until = always;
  AttributeValue value;
  bool flag = false;  ///< 0 or 1

  bool in(int version) const { return since <= version && version <= until; }
};

/// The value of an input that a version states as an attribute.
struct AttributeInput {
  int input;
  AttributeValue value;

  // Not an aggregate, because g++ warns that an aggregate's temporaries may be uninitialised.
  AttributeInput(int i, AttributeValue v) : input(i), value(std::move(v)) {}
};

namespace detail {

template <class Row>
inline constexpr bool is_initial = false;
template <class Op, class T>
inline constexpr bool is_initial<InitialValue<Op, T>> = true;

/// Calls f(row) for each attribute that models state.
template <class Op, class F>
constexpr void for_each_attribute(F f) {
  attributes_of_class<Op>().each([&]<class Row>(const Row& row) {
    if constexpr (!is_initial<Row>) f(row);
  });
}

template <class Op, class T>
AttributeValue value_of(const Op& op, const Attribute<Op, T>& a) {
  return Member<T>::get(op.*a.member);
}
template <class Op, class T>
AttributeValue value_of(const Op&, const ReadAttribute<Op, T>&) {
  return {};
}
template <class Op, class T>
AttributeValue value_of(const Op&, const OldAttribute<T>& a) {
  if constexpr (std::is_arithmetic_v<T>)
    if (a.fallback) return static_cast<T>(*a.fallback);
  return {};
}

template <class Op, class T>
void set(Op& op, const Attribute<Op, T>& a, typename Member<T>::value&& value, std::vector<AttributeInput>&) {
  Member<T>::set(op.*a.member, std::move(value));
}
template <class Op, class T>
void set(Op& op, const ReadAttribute<Op, T>& a, typename Member<T>::value&& value,
         std::vector<AttributeInput>&) {
  T written{};
  Member<T>::set(written, std::move(value));
  a.read(op, written);
}
template <class Op, class T>
void set(Op&, const OldAttribute<T>& a, typename Member<T>::value&& value,
         std::vector<AttributeInput>& inputs) {
  if (a.input >= 0) inputs.emplace_back(a.input, std::move(value));
}

}  // namespace detail

/// An operator object with the initial member values of a version.
template <class Op>
Op at_version(int version) {
  Op op{};
  attributes_of_class<Op>().each([&]<class Row>(const Row& row) {
    if constexpr (detail::is_initial<Row>)
      if (row.in(version)) op.*row.member = row.value;
  });
  return op;
}

/// The attributes of an operator and their values in `op`, in ONNX's order.
template <class Op>
std::vector<AttributeInfo> attributes_of(const Op& op) {
  std::vector<AttributeInfo> list;
  detail::for_each_attribute<Op>([&]<class Row>(const Row& a) {
    list.push_back({a.name, detail::Member<typename Row::type>::type, a.is_required, a.first, a.last,
                    detail::value_of(op, a), a.is_flag});
  });
  return list;
}

/// Sets an attribute by name, or adds it to `inputs` if it is an input today. Error{invalid_model} when the
/// version has none of this name and type.
template <class Op>
void set_attribute(Op& op, int version, std::string_view name, AttributeValue&& value,
                   std::vector<AttributeInput>& inputs) {
  bool found = false;
  detail::for_each_attribute<Op>([&]<class Row>(const Row& a) {
    if (found || a.name != name || !a.in(version)) return;
    found = true;
    using M = detail::Member<typename Row::type>;
    if (auto* v = std::get_if<typename M::value>(&value)) return detail::set(op, a, std::move(*v), inputs);
    raise(ErrorCode::invalid_model, Op::spec.name, "attribute '", name, "' takes ", op::name_of(M::type));
  });
  if (!found && !name.starts_with("__"))  // such names are the writer's own
    raise(ErrorCode::invalid_model, Op::spec.name, "version ", version, " has no attribute '", name, "'");
}

/// The constant for an input of element type `element` whose value an attribute states.
inline AnyTensor input_from_attribute(const AttributeValue& value, DType element) {
  if (const auto* list = std::get_if<std::vector<int64_t>>(&value)) {
    Tensor<int64_t> t(Extents{static_cast<int64_t>(list->size())});
    std::copy(list->begin(), list->end(), t.begin());
    return t;
  }
  if (const auto* i = std::get_if<int64_t>(&value)) return Tensor<int64_t>(Extents{1}, {*i});
  AnyTensor t = AnyTensor::uninitialized(element, {});
  convert_n(element, t.out().data(), DType::float32, &std::get<float>(value), 1);
  return t;
}

/// The `renew` of an old form, or null if it has none.
template <class Op, class L>
constexpr auto renew_function() -> int32_t (*)(const void*, L&) {
  if constexpr (requires(const Op& op, L& to) { op.renew(to); })
    return [](const void* object, L& to) -> int32_t { return static_cast<const Op*>(object)->renew(to); };
  else return nullptr;
}

/// The operator's own `lower`, or null if it has none.
template <class Op, class L>
constexpr auto lower_function() -> std::vector<int32_t> (*)(const void*, L&) {
  if constexpr (requires(const Op& op, L& to) { op.lower(to); })
    return [](const void* object, L& to) -> std::vector<int32_t> {
      const auto results = static_cast<const Op*>(object)->lower(to);
      if constexpr (!std::is_convertible_v<decltype(results), int32_t>) return results;
      else if (results < 0) return {};
      else return {results};
    };
  else return nullptr;
}

/// The inputs whose attributes have a default at a version, and are not among `inputs`.
template <class Op>
void add_default_inputs(int version, std::vector<AttributeInput>& inputs) {
  detail::for_each_attribute<Op>([&](const auto& a) {
    if (a.input < 0 || !a.in(version)) return;
    for (const AttributeInput& given : inputs)
      if (given.input == a.input) return;
    if (AttributeValue v = detail::value_of(Op{}, a); v.index() != 0)
      inputs.emplace_back(a.input, std::move(v));
  });
}

}  // namespace tenon::TENON_ABI::op
