// Attributes whose types run time knows: how a loader or a custom front end fills an operator's members.
#pragma once

#include <variant>

#include "tenon/op/context.hpp"

namespace tenon::op {

/// The value of an attribute as a file states it.
using AttributeValue =
    std::variant<std::monostate, int64_t, float, std::string, std::vector<int64_t>, std::vector<float>,
                 std::vector<std::string>, Value, BodyRef, Type>;

enum class AttributeType : uint8_t {
  none, integer, real, string, integers, reals, strings, tensor, graph, type, sparse
};

/// ONNX's name of the type, as AttributeProto spells it.
constexpr std::string_view name(AttributeType t) {
  constexpr std::string_view names[] = {"UNDEFINED", "INT",     "FLOAT",  "STRING", "INTS",       "FLOATS",
                                        "STRINGS",   "TENSOR",  "GRAPH",  "TYPE_PROTO", "SPARSE_TENSOR"};
  return names[static_cast<int>(t)];
}

/// A tensor and a sparse tensor as the types of members, so that the two kinds of attribute stay apart.
struct TensorAttribute {
  Value value;
  explicit operator bool() const { return static_cast<bool>(value); }
};
struct SparseTensorAttribute {
  Value value;
  explicit operator bool() const { return static_cast<bool>(value); }
};

namespace detail {

/// How one member type is read from and written as an AttributeValue.
template <class M>
struct Member;

template <class M, class V, AttributeType T>
struct SimpleMember {
  static constexpr AttributeType type = T;
  static void set(M& m, const V& v) { m = static_cast<M>(v); }
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
      throw Error(ErrorCode::invalid_type, {},
                  concat(to_string(v.type()), " is not what the attribute takes"));
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
  static void set(Opt<M>& m, const value& v) {
    Member<M>::set(m.value_, v);
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
};

/// The attributes of an operator and their values in `op`, in ONNX's order.
template <class Op>
std::vector<AttributeInfo> attributes_of(const Op& op) {
  std::vector<AttributeInfo> list;
  Op::attributes.each([&](const auto& attribute) {
    using M = detail::Member<typename std::decay_t<decltype(attribute)>::type>;
    list.push_back({attribute.name, M::type, attribute.is_required, attribute.first, attribute.last,
                    M::get(op.*attribute.member)});
  });
  return list;
}

/// Sets an attribute by name. Error{invalid_model} when the version has none of this name and type.
template <class Op>
void set_attribute(Op& op, int version, std::string_view name, const AttributeValue& value) {
  bool found = false;
  Op::attributes.each([&](const auto& attribute) {
    if (found || attribute.name != name || !attribute.in(version)) return;
    found = true;
    using M = detail::Member<typename std::decay_t<decltype(attribute)>::type>;
    if (const auto* v = std::get_if<typename M::value>(&value)) return M::set(op.*attribute.member, *v);
    raise(ErrorCode::invalid_model, Op::spec.name, "attribute '", name, "' takes ", op::name(M::type));
  });
  if (!found)
    raise(ErrorCode::invalid_model, Op::spec.name, "version ", version, " has no attribute '", name, "'");
}

}  // namespace tenon::op
