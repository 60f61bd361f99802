// For the units that register operators, which the build writes: each includes this header first, says which
// headers it registers (TENON_REGISTERS), includes them, and calls register_header for each of them. It
// compiles the classes of their operators. Functions and old forms use other operators of ONNX, whose classes
// come from the units that register them.
#pragma once

#include "tenon/op/framework/registry.hpp"

namespace tenon::TENON_ABI {

namespace detail {

/// The path of an operator's header as programs include it: what follows the last "tenon/op/" of a file's
/// path, and that itself. At most 95 characters: longer ones do not compile.
struct HeaderPath {
  char text[96]{};

  consteval HeaderPath(const char* file) {
    std::string_view path = file;
    path.remove_prefix(std::min(path.rfind("tenon/op/"), path.size()));
    std::ranges::copy(path, text);
  }
};

template <class... Ops>
struct OperatorList {
  static constexpr std::size_t size = sizeof...(Ops);
};

/// The operators of a header, and their names: "tenon::op::Add, tenon::op::Add_1". Each TENON_OPERATORS
/// specialises it for its file.
template <HeaderPath>
struct OperatorsOf {
  using List = OperatorList<>;
  static constexpr std::string_view names{};
};

/// Whether the unit registers the operators of a header.
template <HeaderPath>
inline constexpr bool registers = false;

/// Stands for an operator of which another unit defines library_class.
template <class Op>
struct Elsewhere;
template <class Op, bool here>
using Registered = std::conditional_t<here, Op, Elsewhere<Op>>;

template <class Op>
inline constexpr const OperatorClass* class_here = &operator_class<Op>;
template <class Op>
inline constexpr const OperatorClass* class_here<Elsewhere<Op>> = nullptr;

/// Item k of a list.
constexpr std::string_view item(std::string_view list, std::size_t k) {
  for (; k > 0; --k) list.remove_prefix(list.find(", ") + 2);
  return list.substr(0, list.find(", "));
}

}  // namespace detail

/// Adds the operators of a header: register_header<"tenon/op/math/add.hpp">(registry). Compiles only after
/// the header, and only if that lists operators.
template <detail::HeaderPath header>
void register_header(Registry& registry) {
  using Of = detail::OperatorsOf<header>;
  if constexpr (Of::List::size > 0) {
    [&]<class... Ops, std::size_t... k>(detail::OperatorList<Ops...>, std::index_sequence<k...>) {
      static constexpr std::string_view names[] = {detail::item(Of::names, k)...};
      // Makes the compiler emit the functions, which other units call.
      [[gnu::used]] static constexpr const OperatorClass& (*classes[])() = {&detail::library_class<Ops>...};
      (register_operator<Ops>(registry, {names[k], header.text}), ...);
    }(typename Of::List(), std::make_index_sequence<Of::List::size>());
  } else {
    constexpr op::Message missing = [] {
      op::Message m;
      m.add(header.text);
      m.add(" does not end with TENON_OPERATORS(tenon::op::Name), which lists its operators");
      return m;
    }();
    op::report<missing>();
  }
}

}  // namespace tenon::TENON_ABI

#define TENON_REGISTERS(header) \
  template <>                   \
  inline constexpr bool tenon::detail::registers<header> = true;

#define TENON_LIBRARY_CLASS(Op)                                                                           \
  template <>                                                                                             \
  inline const tenon::OperatorClass&                                                                      \
  tenon::detail::library_class<tenon::detail::Registered<Op, tenon::detail::registers<__FILE__>>>() {     \
    return *tenon::detail::class_here<tenon::detail::Registered<Op, tenon::detail::registers<__FILE__>>>; \
  }

#undef TENON_OPERATORS
#define TENON_OPERATORS(...)                                \
  TENON_EACH(TENON_LISTED, __VA_ARGS__)                     \
  TENON_EACH(TENON_LIBRARY_CLASS, __VA_ARGS__)              \
  template <>                                               \
  struct tenon::detail::OperatorsOf<__FILE__> {             \
    using List = tenon::detail::OperatorList<__VA_ARGS__>;  \
    static constexpr std::string_view names = #__VA_ARGS__; \
  };
