// Calls `compute` with operands whose types are known only at run time: finds the element types and makes
// views of the values.
#pragma once

#include "tenon/base/scratch.hpp"
#include "tenon/op/framework/bind.hpp"
#include "tenon/op/framework/misfit.hpp"

namespace tenon::TENON_ABI {

class Lowering;

namespace op {
namespace detail {

/// The view that `compute` takes of a value; absent if there is none. The provider of results ensures that
/// their memory is writable, so that no node checks.
template <class View>
View view_of(const Value* v) {
  if (v == nullptr || !*v) return {};
  const AnyTensor& t = v->tensor();
  if (!t.storage()) return {};
  void* const data = const_cast<void*>(t.data());
  if constexpr (std::is_same_v<View, AnyView> || std::is_same_v<View, AnyOut>) {
    return View(t.dtype(), data, t.extents(), t.size());
  } else {
    using T = typename View::value_type;
    if (t.dtype() != dtype_of<T>) tenon::detail::wrong_element(t.dtype(), dtype_of<T>);
    return View(element_pointer<T>(data), t.extents(), t.size());
  }
}

/// Erased operands and results by their numbers. Not a template, because each element type compiles a Caller.
struct ErasedOperands {
  Context& context;
  std::span<const Value* const> in;
  std::span<Value* const> out;

  template <class View>
  View operand(std::size_t i) const {
    return view_of<View>(i < in.size() ? in[i] : nullptr);
  }
  template <class View>
  View result(std::size_t o) const {
    return view_of<View>(o < out.size() ? out[o] : nullptr);
  }
  const Value& value(std::size_t i) const {
    static const Value absent;
    return i < in.size() && in[i] ? *in[i] : absent;
  }

  void store(Value v, std::size_t at = 0) const {
    if (at < out.size() && out[at]) *out[at] = std::move(v);
  }
  void store(std::vector<Value> results) const {
    for (std::size_t k = 0; k < results.size(); ++k) store(std::move(results[k]), k);
  }
  template <class... R>
  void store(std::tuple<R...> results) const {
    std::apply([&, k = std::size_t{0}](R&... r) mutable { (store(Value(std::move(r)), k++), ...); }, results);
  }
};

/// The members of a variadic operand. They live as long as the call.
template <class Member>
class Many {
 public:
  template <class F>
  Many(std::size_t first, std::size_t end, F view_of) : count_(end - std::min(first, end)) {
    members_ = scratch_.template take<Member>(static_cast<int64_t>(count_));
    for (std::size_t k = 0; k < count_; ++k)
      ::new (static_cast<void*>(members_ + k)) Member(view_of(first + k));
  }
  operator std::span<const Member>() const { return {members_, count_}; }

 private:
  Scratch scratch_;
  Member* members_;
  std::size_t count_;
};

/// Collects the arguments for `compute` out of erased operands and calls it.
template <class Op, class B>
struct Caller : ErasedOperands {
  const Op& op;

  template <int I>
  decltype(auto) input() const {
    using Slot = slot_t<Op, I, false, B>;
    constexpr bool erased = std::is_same_v<Slot, Value>;
    if constexpr (Op::spec.inputs[I].arity == Arity::variadic) {
      if constexpr (erased) return in.subspan(std::min<std::size_t>(I, in.size()));
      else return Many<Slot>(I, in.size(), [this](std::size_t k) { return this->template operand<Slot>(k); });
    } else if constexpr (erased) {
      return value(I);
    } else {
      return this->template operand<Slot>(I);
    }
  }
  template <int O>
  auto output() const {
    using Slot = slot_t<Op, O, true, B>;
    if constexpr (Op::spec.outputs[O].arity == Arity::variadic)
      return Many<Slot>(O, out.size(), [this](std::size_t k) { return this->template result<Slot>(k); });
    else return this->template result<Slot>(O);
  }

  void operator()() const {
    constexpr Convention c = convention<Op>;
    [&]<int... I, int... O>(std::integer_sequence<int, I...>, std::integer_sequence<int, O...>) {
      // A compute that deduces T needs arguments of exactly its parameters' types.
      if constexpr (c.form == Form::none) report<titled<Op>(misfit<Op>())>();
      else if constexpr (c.form == Form::planned && c.context)
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

/// The element type of a type variable among erased operands; `otherwise` where no operand has it.
inline DType find_dtype(const Spec& spec, int variable, std::span<const Value* const> in,
                        std::span<Value* const> out, DType otherwise) {
  const std::string_view name = spec.types[variable].name;
  for (std::size_t i = 0; i < in.size(); ++i)
    if (in[i] && *in[i] && spec.input(static_cast<int>(i)).type == name) return in[i]->type().element;
  for (std::size_t o = 0; o < out.size(); ++o)
    if (out[o] && *out[o] && spec.output(static_cast<int>(o)).type == name) return out[o]->type().element;
  return otherwise;
}
/// The same for variable V of an operator. Usually the first input of its type is present.
template <class Op, int V>
DType find_dtype(std::span<const Value* const> in, std::span<Value* const> out) {
  constexpr int first = [] {
    int i = 0;
    while (i < Op::spec.inputs.size() && Op::spec.input(i).type != Op::spec.types[V].name) ++i;
    return i;
  }();
  if constexpr (first < Op::spec.inputs.size())
    if (first < in.size() && in[first] && in[first]->is_tensor()) return in[first]->tensor().dtype();
  return find_dtype(Op::spec, V, in, out, sample<Op, V>());
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
    Caller<Op, Bound<Ts...>>{{context, in, out}, op}();
  } else {
    const DType d = find_dtype<Op, v>(in, out);
    constexpr uint32_t mask = Op::spec.types[v].any().tensor & Filter;
    if (!dispatch_mask<mask>(d, [&]<class T>() { run_bound<Op, Filter, Ts..., T>(op, context, in, out); }))
      raise(ErrorCode::invalid_type, Op::spec.name, Op::spec.types[v].name, " cannot be tensor(", name_of(d),
            ")");
  }
}

/// Whether Op has `lower` and no `compute`, and so runs the nodes that it lowers to.
template <class Op>
inline constexpr bool is_function =
    convention<Op>.form == Form::none && requires(const Op& op, Lowering& to) { op.lower(to); };

/// Runs such an operator. In registry.hpp.
template <class Op>
void run_function(const Op& op, Context& context, std::span<const Value* const> in,
                  std::span<Value* const> out);

/// As `run`, for callers that know that results are writable.
template <class Op, uint32_t Filter>
void run_unchecked(const Op& op, Context& context, std::span<const Value* const> in,
                   std::span<Value* const> out) {
  if constexpr (is_function<Op>) run_function(op, context, in, out);
  else run_bound<Op, Filter>(op, context, in, out);
}

}  // namespace detail

/// Whether the results' extents are known before `compute`, which then writes into memory that the caller
/// allocates.
template <class Op>
inline constexpr bool is_planned = detail::convention<Op>.form == detail::Form::planned;

/// Error{invalid_argument} if a result lies in memory that may only be read.
inline void expect_writable(const Spec& spec, std::span<Value* const> out) {
  for (std::size_t o = 0; o < out.size(); ++o)
    if (out[o] && out[o]->is_tensor() && out[o]->tensor().storage() && !out[o]->tensor().writable())
      raise(ErrorCode::invalid_argument, spec.name, "the memory of result ", o, " may only be read");
}

/// Calls `compute` on operands whose types are known only at run time. The outputs of a planned operator
/// already hold tensors of the inferred types and extents; other results are assigned. Null or empty values
/// are operands left out. Filter has a bit for each element type that can occur; `compute` is not compiled
/// for others. Error{invalid_argument} if a result lies in memory that may only be read.
template <class Op, uint32_t Filter = ~uint32_t{0}>
void run(const Op& op, Context& context, std::span<const Value* const> in, std::span<Value* const> out) {
  if constexpr (is_planned<Op>) expect_writable(Op::spec, out);
  detail::run_unchecked<Op, Filter>(op, context, in, out);
}

}  // namespace op
}  // namespace tenon::TENON_ABI
