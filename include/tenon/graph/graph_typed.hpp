// Function bodies of graph.hpp: the typed operands and results of Graph::add.
#pragma once

#include "tenon/graph/graph.hpp"

namespace tenon::TENON_ABI {

/// How `add` takes an operand: the tensor type for rules at compile time, and the value's id.
template <class A>
struct Graph::Argument {
  using type = A;  // tensors, numbers, constants, none
  static ValueId id(Graph& g, const A& a) {
    if constexpr (std::is_same_v<A, None>) return -1;
    else if constexpr (requires { a.storage(); }) return g.add_constant({}, a);
    else return g.add_constant({}, AnyTensor::copy_of(op::Operand<A>::view(a)));
  }
};

template <Lazy A>
struct Graph::Argument<A> {
  using type = decltype(std::declval<const A&>().eval());
  static ValueId id(Graph& g, const A& a) { return g.add_constant({}, a.eval()); }
};

template <class T, class S>
struct Graph::Argument<Edge<T, S>> {
  using type = TensorView<const T, S>;
  static ValueId id(Graph& g, const Edge<T, S>& e) {
    if (e.graph != &g) g.raise(ErrorCode::invalid_argument, "an edge belongs to another graph");
    return e.id;
  }
};

template <int Count, class Op, class Static, class... A>
auto Graph::add_typed(const Op& op, const A&... a) {
  constexpr int count = Count > 0 ? Count : std::max(1, Op::spec.min_outputs());
  constexpr bool typed = (!std::is_same_v<A, AnyEdge> && ...);
  const std::vector<std::string> names(count);
  auto ids = [&]<uint32_t Filter>() {
    return add_node({}, AnyOperator::make<Op, Filter>(op), {argument_id(a)...}, names);
  };
  if constexpr ((std::is_same_v<A, op::Invalid> || ...)) {
    return op::Invalid{};
  } else if constexpr (!typed) {
    return any_edges<count>(ids.template operator()<~uint32_t{0}>());
  } else {
    using T = op::TypedCall<Op, Static, count, typename Argument<A>::type...>;
    if constexpr (!T::valid) {
      op::report<op::titled<Op>(T::result.message)>();
      return op::Invalid{};
    } else {
      const std::vector<ValueId> out =
          ids.template operator()<op::filter_of<typename Argument<A>::type...>()>();
      if constexpr (!T::resolved) {
        return any_edges<count>(out);
      } else {
        auto edge = [&]<int I>() {
          using R = typename T::template tensor<I>;
          return Edge<typename R::value_type, typename R::shape_type>{this, out[I]};
        };
        if constexpr (count == 1) return edge.template operator()<0>();
        else
          return [&]<int... I>(std::integer_sequence<int, I...>) {
            return std::tuple { edge.template operator()<I>()... };
          }(std::make_integer_sequence<int, count>{});
      }
    }
  }
}

template <class A>
ValueId Graph::argument_id(const A& a) {
  return Argument<A>::id(*this, a);
}

template <int Count>
auto Graph::any_edges(const std::vector<ValueId>& ids) {
  if constexpr (Count == 1) return AnyEdge(*this, ids[0]);
  else {
    std::array<AnyEdge, Count> edges;
    for (int k = 0; k < Count; ++k)
      edges[static_cast<std::size_t>(k)] = AnyEdge(*this, ids[static_cast<std::size_t>(k)]);
    return edges;
  }
}

}  // namespace tenon::TENON_ABI
