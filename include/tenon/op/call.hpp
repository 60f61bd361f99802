// Calling an operator: `op(x, y)` and `apply<op>(x, y)` for typed operands, `evaluate` and `run` for operands
// that run time knows.
#pragma once

#include <array>
#include <memory>

#include "tenon/base/scratch.hpp"
#include "tenon/op/bind.hpp"

namespace tenon {

/// Stands for an optional operand that is left out: op::Clip{}(x, none, 6.0f).
struct None {};
inline constexpr None none{};

/// An operand whose elements the compiler knows: op::Reshape{}(x, constant<int64_t, 2, -1>).
template <class T, T... V>
struct Constant {
  static constexpr T elements[sizeof...(V) + (sizeof...(V) == 0)] = {V...};
};
template <class T, T... V>
inline constexpr Constant<T, V...> constant{};

namespace op {
namespace detail {

/// What the compiler knows of an operand, and how it becomes a view.
template <class A>
struct Operand;  // not an operand: tensors, views, numbers, `none`, `constant<…>` and Values are

template <class T, class S>
constexpr Info info_of_type() {
  Info i;
  i.type = dtype_of<std::remove_const_t<T>>;
  if constexpr (S::rank >= 0) {
    i.dims = Dims::of_rank(S::rank);
    for (int k = 0; k < S::rank; ++k)
      if (S::extents[k] != dyn) i.dims[k] = S::extents[k];
  }
  return i;
}
template <class T, class S>
struct Operand<TensorView<T, S>> {
  using element = std::remove_const_t<T>;
  static constexpr bool typed = true;
  static constexpr Info info() { return info_of_type<T, S>(); }
  static TensorView<const element> view(const TensorView<T, S>& v) { return v; }
};
template <class T, class S>
struct Operand<Tensor<T, S>> {
  using element = T;
  static constexpr bool typed = true;
  static constexpr Info info() { return info_of_type<T, S>(); }
  static TensorView<const T> view(const Tensor<T, S>& t) { return t; }
};
template <class T>
  requires std::is_arithmetic_v<T>
struct Operand<T> {
  using element = T;
  static constexpr bool typed = true;
  static constexpr Info info() { return info_of_type<T, Shape<>>(); }
  static TensorView<const T> view(const T& x) { return {&x, {}}; }
};
template <class T, T... V>
struct Operand<Constant<T, V...>> {
  using element = T;
  static constexpr bool typed = true;
  static constexpr Info info() {
    Info i = info_of_type<T, Shape<static_cast<int64_t>(sizeof...(V))>>();
    i.values = {static_cast<int64_t>(V)...};
    return i;
  }
  static TensorView<const T> view(const Constant<T, V...>& c) { return {c.elements, {sizeof...(V)}}; }
};
template <>
struct Operand<None> {
  static constexpr bool typed = true;
  static constexpr Info info() { return {}; }
};
template <>
struct Operand<Value> {
  static constexpr bool typed = false;
};
template <>
struct Operand<AnyTensor> {
  static constexpr bool typed = false;
};
template <>
struct Operand<AnyView> {
  static constexpr bool typed = false;
};

inline Info info_of(AnyView v) {
  Info i;
  if (!v) return i;
  i.type = v.dtype();
  i.dims = Dims(v.extents());
  i.data = v.data();
  return i;
}
inline Info info_of(const Value& v) {
  if (v.is_tensor()) return info_of(v.tensor().view());
  Info i;
  i.type = v.type();
  if (v.is_sparse_tensor()) i.dims = Dims(v.sparse_tensor().extents);
  return i;
}

inline AnyView any_view(const None&) { return {}; }
inline Value to_value(const None&) { return {}; }
inline Value to_value(const Value& v) { return v; }
inline Value to_value(const AnyTensor& t) { return t; }
inline Value to_value(AnyView v) {
  if (!v) return {};
  return AnyTensor(v.dtype(), Extents(v.extents()),
                   Storage::borrow(v.data(), static_cast<std::size_t>(v.bytes())));
}

/// The operands as text, for messages: "X: tensor(float) (2,3)".
inline std::string describe(const Spec& spec, std::span<const Info> in) {
  std::string text;
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (!in[i].present()) continue;
    const bool stated = static_cast<int>(i) < spec.inputs.size() || spec.variadic_inputs();
    text += concat(text.empty() ? "" : ", ",
                   stated ? spec.input(static_cast<int>(i)).name : std::string_view("?"), ": ",
                   to_string(in[i].type));
    if (in[i].dims.ranked()) {
      Message m;
      m.add(in[i].dims);
      text += concat(" ", m.view());
    }
  }
  return text;
}
[[noreturn]] inline void raise_rule(const Spec& spec, std::span<const Info> in, const Message& m) {
  raise(ErrorCode::invalid_shape, spec.name, m.view(), " [", describe(spec, in), "]");
}

// --- the compiler's side ---

template <class Op, int Count>
struct StaticResult {
  Message message;
  std::array<Info, Count> out;
};

/// What the compiler knows of an operator object: its attributes (Known), all as there are none, or nothing.
template <auto Object>
struct Known {
  static constexpr bool known = true;
  static constexpr const auto& object = Object;
};
template <class Op>
struct AtRunTime {
  static constexpr bool known = false;
};
template <class Op>
  requires std::is_empty_v<Op>
struct AtRunTime<Op> {
  static constexpr bool known = true;
  static constexpr Op object{};
};

/// The rule as the compiler applies it. Without the operator's attributes only types are resolved.
template <class Op, class Static, int Count, class... A>
consteval StaticResult<Op, Count> infer_static() {
  const std::array<Info, sizeof...(A)> in{Operand<A>::info()...};
  StaticResult<Op, Count> r{};
  if constexpr (Static::known) r.message = infer(Static::object, Op::spec.latest(), in, r.out);
  else resolve_types(Op::spec, Op::spec.latest(), in, r.out, r.message);
  return r;
}

/// A text that compilers print.
template <std::size_t N>
struct Text {
  char text[N]{};
};
/// The part of a message from its Begin-th character on. Compilers print long strings shortened, hence parts.
template <Message M, int Begin, int End>
consteval auto part() {
  Text<End - Begin + 1> t{};
  for (int i = Begin; i < End; ++i) t.text[i - Begin] = M.text_[i];
  t.text[End - Begin] = 0;  // clang prints numbers where nothing has set the end
  return t;
}
template <Message M>
consteval int part_end(int begin) {
  if (M.size_ - begin <= 24) return M.size_;
  for (int i = begin + 24; i > begin; --i)
    if (M.text_[i - 1] == ' ') return i;
  return begin + 24;
}
/// The operator's name before what its rule says.
template <class Op>
consteval Message titled(const Message& m) {
  Message t;
  t.add(Op::spec.name);
  t.add(": ");
  t.add(m.view());
  return t;
}
/// Never defined: its name is what the compiler prints.
template <auto... Says>
struct OperandsDoNotFit;

template <Message M, int Begin = 0, auto... Said>
constexpr void report() {
#if defined(__clang__)
  constexpr int end = part_end<M>(Begin);
#else
  constexpr int end = M.size_;
#endif
  if constexpr (Begin == M.size_) static_assert(sizeof(OperandsDoNotFit<Said...>) > 0);
  else report<M, end, Said..., part<M, Begin, end>()>();
}

template <Dims D>
consteval auto shape_of_dims() {
  if constexpr (!D.ranked()) return AnyShape{};
  else
    return []<std::size_t... K>(std::index_sequence<K...>) {
      return Shape<(D[K].known() ? D[K].value() : dyn)...>{};
    }(std::make_index_sequence<D.rank()>{});
}

/// The static side of one typed call: whether it fits, and the results' types.
template <class Op, class Static, int Count, class... A>
struct Typed {
  static constexpr auto result = infer_static<Op, Static, Count, A...>();
  static constexpr bool valid = result.message.empty();
  static constexpr bool resolved = [] {
    for (const Info& i : result.out)
      if (i.type.kind != Kind::tensor) return false;
    return true;
  }();
  template <int I>
  using tensor = Tensor<cpp_type<result.out[I].type.element>, decltype(shape_of_dims<result.out[I].dims>())>;
};

// --- binding of type variables ---

/// The C++ type bound to variable V by the operands of a typed call, or by the result when none names it.
template <class Op, int V, class... A>
consteval DType bound_dtype(std::span<const Info> out) {
  const std::array<Info, sizeof...(A)> in{Operand<A>::info()...};
  for (std::size_t i = 0; i < in.size(); ++i)
    if (in[i].present() && Op::spec.input(static_cast<int>(i)).type == Op::spec.types[V].name)
      return in[i].type.element;
  for (std::size_t o = 0; o < out.size(); ++o)
    if (Op::spec.output(static_cast<int>(o)).type == Op::spec.types[V].name) return out[o].type.element;
  return sample<Op, V>();
}

/// `raw`: a Member from an AnyView / AnyOut.
template <class Member, class View>
Member narrow_view(const View& v) {
  if constexpr (std::is_same_v<Member, View>) return v;
  else {
    if (!v) return {};
    return v.template as<std::remove_const_t<typename Member::element_type>>();
  }
}

inline const Value absent{};

/// Collects the arguments for `compute` out of erased operands and calls it.
template <class Op, class B>
struct Caller {
  const Op& op;
  Context& context;
  std::span<const Value* const> in;
  std::span<Value* const> out;

  /// The members of a variadic operand; they live for as long as the call.
  template <class Member>
  class Many {
   public:
    template <class F>
    Many(std::size_t count, F view_of)
        : members_(scratch_.take<Member>(static_cast<int64_t>(count))), count_(count) {
      for (std::size_t k = 0; k < count; ++k)
        std::construct_at(members_ + k, narrow_view<Member>(view_of(k)));
    }
    operator std::span<const Member>() const { return {members_, count_}; }

   private:
    Scratch scratch_;
    Member* members_;
    std::size_t count_;
  };

  static AnyView input_view(const Value* v) { return v && *v ? v->tensor().view() : AnyView(); }
  static AnyOut output_view(Value* v) { return v && *v ? v->tensor().out() : AnyOut(); }

  template <int I>
  decltype(auto) input() const {
    using Slot = slot_t<Op, I, false, B>;
    if constexpr (Op::spec.inputs[I].arity == Arity::variadic) {
      if constexpr (std::is_same_v<Slot, Value>) {
        return in.subspan(std::min<std::size_t>(I, in.size()));
      } else {
        return Many<Slot>(in.size() - std::min<std::size_t>(I, in.size()),
                          [&](std::size_t k) { return input_view(in[I + k]); });
      }
    } else {
      const Value* v = I < in.size() ? in[I] : nullptr;
      if constexpr (std::is_same_v<Slot, Value>) return v ? *v : absent;
      else return narrow_view<Slot>(input_view(v));
    }
  }
  template <int O>
  auto output() const {
    using Slot = slot_t<Op, O, true, B>;
    if constexpr (Op::spec.outputs[O].arity == Arity::variadic) {
      return Many<Slot>(out.size() - std::min<std::size_t>(O, out.size()),
                        [&](std::size_t k) { return output_view(out[O + k]); });
    } else {
      return narrow_view<Slot>(output_view(O < out.size() ? out[O] : nullptr));
    }
  }

  void store(Value v, std::size_t at = 0) const {
    if (at < out.size() && out[at]) *out[at] = std::move(v);
  }
  template <class... R>
  void store(std::tuple<R...> results) const {
    [&]<std::size_t... K>(std::index_sequence<K...>) {
      (store(Value(std::move(std::get<K>(results))), K), ...);
    }(std::index_sequence_for<R...>{});
  }
  void store(std::vector<Value> results) const {
    for (std::size_t k = 0; k < results.size(); ++k) store(std::move(results[k]), k);
  }

  void operator()() const {
    constexpr Convention c = convention<Op>;
    [&]<int... I, int... O>(std::integer_sequence<int, I...>, std::integer_sequence<int, O...>) {
      // A compute that deduces T needs the very types that it takes.
      if constexpr (c.form == Form::planned && c.context)
        op.compute(context, static_cast<argument_t<Op, I, false, B>>(input<I>())...,
                   static_cast<argument_t<Op, O, true, B>>(output<O>())...);
      else if constexpr (c.form == Form::planned)
        op.compute(static_cast<argument_t<Op, I, false, B>>(input<I>())...,
                   static_cast<argument_t<Op, O, true, B>>(output<O>())...);
      else if constexpr (c.context)
        store(op.compute(context, static_cast<argument_t<Op, I, false, B>>(input<I>())...));
      else store(op.compute(static_cast<argument_t<Op, I, false, B>>(input<I>())...));
    }(Inputs<Op>{}, Outputs<Op>{});
  }
};

/// The element type of variable V among erased operands.
template <class Op, int V>
DType find_dtype(std::span<const Value* const> in, std::span<Value* const> out) {
  for (std::size_t i = 0; i < in.size(); ++i)
    if (in[i] && *in[i] && Op::spec.input(static_cast<int>(i)).type == Op::spec.types[V].name)
      return in[i]->type().element;
  for (std::size_t o = 0; o < out.size(); ++o)
    if (out[o] && *out[o] && Op::spec.output(static_cast<int>(o)).type == Op::spec.types[V].name)
      return out[o]->type().element;
  return sample<Op, V>();
}

/// Calls f.operator()<T>() for the C++ type of `d` among the types whose bits are in Mask.
template <uint32_t Mask, class F>
bool dispatch_mask(DType d, F&& f) {
  return [&]<int... D>(std::integer_sequence<int, D...>) {
    auto one = [&]<int N>() {
      if constexpr (N > 0 && (Mask >> N & 1) != 0) {
        if (static_cast<int>(d) == N) return f.template operator()<cpp_type<static_cast<DType>(N)>>(), true;
      }
      return false;
    };
    return (one.template operator()<D>() || ...);
  }(std::make_integer_sequence<int, dtype_count>{});
}

template <class Op, uint32_t Filter, class... Ts>
void run_bound(const Op& op, Context& context, std::span<const Value* const> in,
               std::span<Value* const> out) {
  constexpr int v = sizeof...(Ts);
  if constexpr (v == convention<Op>.typed) {
    Caller<Op, Bound<Ts...>>{op, context, in, out}();
  } else {
    const DType d = find_dtype<Op, v>(in, out);
    if (!dispatch_mask<Op::spec.types[v].any().tensor & Filter>(
            d, [&]<class T>() { run_bound<Op, Filter, Ts..., T>(op, context, in, out); }))
      raise(ErrorCode::invalid_type, Op::spec.name, Op::spec.types[v].name, " cannot be tensor(", name(d),
            ")");
  }
}

}  // namespace detail

/// Calls `compute` on operands that run time knows. Outputs of planned operators hold tensors of the inferred
/// types and extents already; other results are assigned. Null or empty values are operands left out. Filter
/// has a bit for each element type that can occur, and keeps `compute` from being compiled for others.
template <class Op, uint32_t Filter = ~uint32_t{0}>
void run(const Op& op, Context& context, std::span<const Value* const> in, std::span<Value* const> out) {
  detail::run_bound<Op, Filter>(op, context, in, out);
}

/// Whether the extents of the results are known before `compute`, which then writes into memory it is given.
template <class Op>
inline constexpr bool is_planned = detail::convention<Op>.form == detail::Form::planned;

/// The extents of a result, now that all operands are there.
inline Extents known_extents(const Spec& spec, const Info& result) {
  if (result.type.kind != Kind::tensor || !result.dims.known())
    raise(ErrorCode::invalid_shape, spec.name, "the extents of a result cannot be told from the operands");
  return result.dims.extents();
}

/// Error{invalid_model} unless result number `o` is what the rule said, as far as it said anything.
inline void check_result(const Spec& spec, std::size_t o, const Info& said, const Value& v) {
  bool fits = said.type.kind == Kind::unknown || said.type == v.type();
  if (fits && v.is_tensor() && said.dims.ranked()) {
    const Extents& extents = v.tensor().extents();
    fits = extents.size() == said.dims.rank();
    for (int d = 0; fits && d < extents.size(); ++d) fits = !said.dims[d].differs(extents[d]);
  }
  if (!fits)
    raise(ErrorCode::invalid_model, spec.name, "result ", o, " is ", to_string(v.type()),
          v.is_tensor() ? " " + to_string(v.tensor().extents()) : std::string(), ", not what its rule said");
}

/// One use of an operator on operands that run time knows: infers, allocates, runs. `op` is an AnyOperator,
/// or has its members. Null or empty values are operands left out; results that `compute` left out are empty.
template <class Any>
std::vector<Value> evaluate(const Any& op, Context& context, std::span<const Value* const> in,
                            std::size_t count) {
  std::vector<Info> infos, said(count);
  for (const Value* v : in) infos.push_back(v ? detail::info_of(*v) : Info{});
  if (const Message m = op.infer(infos, said); !m.empty()) detail::raise_rule(op.spec(), infos, m);
  std::vector<Value> results(count);
  std::vector<Value*> out;
  for (std::size_t o = 0; o < count; ++o) {
    if (op.planned())
      results[o] = AnyTensor::uninitialized(said[o].type.element, known_extents(op.spec(), said[o]),
                                            context.allocator());
    out.push_back(&results[o]);
  }
  op.run(context, in, out);
  for (std::size_t o = 0; o < count; ++o)
    if (results[o]) check_result(op.spec(), o, said[o], results[o]);
  return results;
}

namespace detail {

/// An operator as `evaluate` takes it.
template <class Op, uint32_t Filter>
struct Evaluated {
  const Op& op;
  static constexpr const Spec& spec() { return Op::spec; }
  static constexpr bool planned() { return is_planned<Op>; }
  Message infer(std::span<const Info> in, std::span<Info> out) const {
    return tenon::op::infer(op, Op::spec.latest(), in, out);
  }
  void run(Context& context, std::span<const Value* const> in, std::span<Value* const> out) const {
    tenon::op::run<Op, Filter>(op, context, in, out);
  }
};

template <class A>
using clean = std::remove_cvref_t<A>;

/// The bits of the element types of typed operands; all when one is erased, or there is none.
template <class... A>
consteval uint32_t filter_of() {
  uint32_t mask = sizeof...(A) == 0 ? ~uint32_t{0} : 0;
  [[maybe_unused]] auto add = [&]<class X>() {
    if constexpr (!Operand<X>::typed) mask = ~uint32_t{0};
    else mask |= 1u << static_cast<int>(Operand<X>::info().type.element);
  };
  (add.template operator()<A>(), ...);
  return mask;
}

template <class Op, int Count, class... A>
auto call_values(const Op& op, const A&... a) {
  const std::array<Value, sizeof...(A)> values{[&] {
    if constexpr (std::is_same_v<A, None>) return Value();
    else if constexpr (Operand<A>::typed) return to_value(AnyView(Operand<A>::view(a)));
    else return to_value(a);
  }()...};
  std::array<const Value*, sizeof...(A)> in{};
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = &values[i];
  Context context;
  std::vector<Value> out = evaluate(Evaluated<Op, filter_of<A...>()>{op}, context, in, Count);
  if constexpr (Count == 1) return std::move(out[0]);
  else
    return [&]<std::size_t... K>(std::index_sequence<K...>) {
      return std::tuple{std::move(out[K])...};
    }(std::make_index_sequence<Count>{});
}

template <class Slot, class A>
auto typed_argument(const A& a) {
  if constexpr (std::is_same_v<A, None>) return Slot{};
  else return Slot(Operand<A>::view(a));
}

/// A typed call of an operator all of whose results' element types the compiler knows.
template <class Op, class Types, class... A, int... I, int... O, class... Out>
void compute_typed(const Op& op, std::integer_sequence<int, I...>, std::integer_sequence<int, O...>, Types,
                   std::tuple<Out...>& out, const A&... a) {
  using B = Types;
  const auto args = std::forward_as_tuple(a...);
  auto input = [&]<int K>() {
    using Slot = slot_t<Op, K, false, B>;
    if constexpr (Op::spec.inputs[K].arity == Arity::variadic) {
      return [&]<std::size_t... J>(std::index_sequence<J...>) {
        return std::array<Slot, sizeof...(A) - K>{typed_argument<Slot>(std::get<K + J>(args))...};
      }(std::make_index_sequence<sizeof...(A) - K>{});
    } else if constexpr (K < sizeof...(A)) {
      return typed_argument<Slot>(std::get<K>(args));
    } else return Slot{};
  };
  auto output = [&]<int K>() {
    using Slot = slot_t<Op, K, true, B>;
    if constexpr (Op::spec.outputs[K].arity == Arity::variadic) {
      return [&]<std::size_t... J>(std::index_sequence<J...>) {
        return std::array<Slot, sizeof...(Out) - K>{Slot(std::get<K + J>(out).view())...};
      }(std::make_index_sequence<sizeof...(Out) - K>{});
    } else if constexpr (K < sizeof...(Out)) {
      return Slot(std::get<K>(out).view());
    } else return Slot{};
  };
  if constexpr (convention<Op>.context) {
    Context context;
    op.compute(context, static_cast<argument_t<Op, I, false, B>>(input.template operator()<I>())...,
               static_cast<argument_t<Op, O, true, B>>(output.template operator()<O>())...);
  } else {
    op.compute(static_cast<argument_t<Op, I, false, B>>(input.template operator()<I>())...,
               static_cast<argument_t<Op, O, true, B>>(output.template operator()<O>())...);
  }
}

template <class Op, class T, int Count, class... A, std::size_t... R>
auto call_typed(const Op& op, std::index_sequence<R...>, const A&... a) {
  const std::array<Info, sizeof...(A)> in{[&] {
    Info i = Operand<A>::info();
    if constexpr (!std::is_same_v<A, None>) {
      const auto v = Operand<A>::view(a);
      if (!v) return Info{};
      i.dims = Dims(v.extents());
      if constexpr (std::is_pointer_v<decltype(v.data())>) i.data = v.data();
    }
    return i;
  }()...};
  std::array<Info, Count> results{};
  const Message m = infer(op, Op::spec.latest(), in, results);
  if (!m.empty()) raise_rule(Op::spec, in, m);
  std::tuple out{T::template tensor<R>::uninitialized(known_extents(Op::spec, results[R]))...};
  using B = decltype([]<int... V>(std::integer_sequence<int, V...>) {
    return Bound<cpp_type<bound_dtype<Op, V, A...>(T::result.out)>...>{};
  }(std::make_integer_sequence<int, convention<Op>.typed>{}));
  compute_typed(op, Inputs<Op>{}, Outputs<Op>{}, B{}, out, a...);
  if constexpr (Count == 1) return std::get<0>(std::move(out));
  else return out;
}

/// The result of a call that does not compile, so that no other message drowns the one that counts.
struct Invalid {
  template <class T>
  operator T() const;
};

template <int Count, class Op, class Static, class... A>
auto call(const Op& op, const A&... a) {
  constexpr int count = Count > 0 ? Count : std::max(1, Op::spec.min_outputs());
  if constexpr ((std::is_same_v<A, Invalid> || ...)) {
    return Invalid{};
  } else if constexpr (!(Operand<A>::typed && ...)) {
    return call_values<Op, count>(op, a...);
  } else {
    using T = Typed<Op, Static, count, A...>;
    if constexpr (!T::valid) {
      report<titled<Op>(T::result.message)>();
      return Invalid{};
    } else if constexpr (T::resolved && is_planned<Op>) {
      return call_typed<Op, T, count>(op, std::make_index_sequence<count>{}, a...);
    } else {
      return call_values<Op, count>(op, a...);
    }
  }
}

}  // namespace detail

/// What `operator()` of every operator does: infers, allocates, computes. Operands are tensors, views,
/// numbers (rank 0), `none`, `constant<…>`, or Values; with a Value among them, or where only run time knows
/// the results' element types, the results are Values. Several results come as a tuple; Count asks for more
/// than the operator's obligatory ones. Error{invalid_shape, invalid_type, …} where ONNX forbids the
/// operands.
template <int Count = 0, Operator Op, class... A>
auto call(const Op& op, const A&... a) {
  return detail::call<Count, Op, detail::AtRunTime<Op>, detail::clean<A>...>(op, a...);
}

}  // namespace op

/// An operator whose attributes the compiler knows: extents of the results are part of their types, and what
/// does not fit does not compile. apply<op::Conv{.strides = {2, 2}}>(x, w)
template <auto Op, int Count = 0, class... A>
auto apply(const A&... a) {
  return op::detail::call<Count, std::remove_cv_t<decltype(Op)>, op::detail::Known<Op>,
                          op::detail::clean<A>...>(Op, a...);
}

}  // namespace tenon
