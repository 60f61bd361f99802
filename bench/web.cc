// web: a model that `tenon compile --target wasm32 --weights FILE --namespace compiled_model` wrote as a
// header, as a module of WebAssembly without imports, which web_process.mjs times:
//   clang++ … -include model.hpp web.cc -o web.wasm
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

namespace {

alignas(64) std::byte weights[compiled_model::weights_bytes];
compiled_model::Memory memory;

/// What is passed for a parameter of `run`, by its type and place.
template <class View, std::size_t place>
struct Argument {
  using T = typename View::value_type;
  static constexpr std::size_t bytes = [] {
    std::size_t size = sizeof(T);
    for (const std::int64_t e : View::shape_type::extents) size *= static_cast<std::size_t>(e);
    return size;
  }();
  alignas(64) static inline std::byte space[bytes];
  static View value() { return View(reinterpret_cast<T*>(space), View::shape_type::extents); }
};
template <std::size_t place>
struct Argument<compiled_model::Memory&, place> {
  static compiled_model::Memory& value() { return memory; }
};
template <std::size_t place>
struct Argument<const std::byte*, place> {
  static const std::byte* value() { return weights; }
};

struct Block {
  std::byte* begin;
  std::size_t bytes;
};

/// The inputs and outputs, and last the weights.
template <class... P>
struct Arguments {
  static constexpr int count = sizeof...(P) - 1;

  template <std::size_t... k>
  static Block block(int at, std::index_sequence<k...>) {
    using All = std::tuple<P...>;
    const Block blocks[] = {{Argument<std::tuple_element_t<k, All>, k>::space,
                             Argument<std::tuple_element_t<k, All>, k>::bytes}...,
                            {weights, sizeof weights}};
    return blocks[at];
  }
  template <std::size_t... k>
  static void pass(void (*run)(P...) noexcept, std::index_sequence<k...>) {
    run(Argument<P, k>::value()...);
  }

  explicit Arguments(void (*)(P...) noexcept) {}
  static Block block(int at) { return block(at, std::make_index_sequence<count - 1>{}); }
  static void pass(void (*run)(P...) noexcept) { pass(run, std::index_sequence_for<P...>{}); }
};

const Arguments arguments(compiled_model::run);

}  // namespace

extern "C" {

/// How many blocks of memory the host reads and writes: the model's inputs, its outputs, and the weights.
[[clang::export_name("blocks")]] int blocks() { return arguments.count; }
[[clang::export_name("address")]] std::byte* address(int at) { return arguments.block(at).begin; }
[[clang::export_name("bytes")]] std::size_t bytes(int at) { return arguments.block(at).bytes; }
[[clang::export_name("run")]] void run() { arguments.pass(compiled_model::run); }

}  // extern "C"
