// Any model: loaded, made ready and run on small inputs, within bounds, with and without passes.
#include "tenon/graph/passes.hpp"
#include "tests/fuzz/support.hpp"

namespace tenon::fuzz {
namespace {

/// Small numbers, also where texts hold them; no value where the type has none.
Value small_value(const Type& type, const Dims& dims) {
  if (type.kind == Kind::sequence) {
    Sequence s{type.element, {}};
    for (int k = 0; k < 2; ++k) s.items.push_back(small_value(type.element, Dims::of_rank(1)));
    return s;
  }
  if (type.kind == Kind::optional)
    return OptionalValue{type.element,
                         std::make_shared<const Value>(small_value(type.element, Dims::of_rank(1)))};
  if (type.kind != Kind::tensor && type.kind != Kind::unknown) return {};
  const DType d = type.kind == Kind::unknown ? DType::float32 : type.element;
  Extents e;
  if (!dims.ranked()) e = {2};
  for (int k = 0; dims.ranked() && k < dims.rank(); ++k) e.push_back(dims[k].known() ? dims[k].value() : 2);
  if (element_count(e) > 1 << 16) throw Error(ErrorCode::invalid_argument, "input", "too large for a test");
  AnyTensor t = AnyTensor::uninitialized(d, e);
  if (is_packed(d)) std::memset(t.out().data(), 0x12, static_cast<size_t>(t.bytes()));
  visit_dtype(d, [&]<class T>() {
    if constexpr (std::is_same_v<T, std::string>)
      for (int64_t k = 0; k < t.size(); ++k) t.out().as<T>()[k] = str_cat(k % 3);
    else if constexpr (!tenon::is_packed(dtype_of<T>) && !is_complex(dtype_of<T>))
      for (int64_t k = 0; k < t.size(); ++k) t.out().as<T>()[k] = convert<T>(static_cast<float>(k % 3));
    else if (!is_packed(d)) std::memset(t.out().data(), 0, static_cast<size_t>(t.bytes()));
  });
  return t;
}

void run(const Session& session) {
  Feeds feeds;
  for (const ValueId id : session.graph().inputs()) {
    const auto& entry = session.graph().entry(id);
    feeds.emplace_back(entry.name, small_value(entry.info.type, entry.info.dims));
  }
  session.run(feeds, {.time_limit = std::chrono::seconds(2), .max_iterations = 1000, .max_bytes = 1 << 24});
}

}  // namespace
}  // namespace tenon::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tenon;
  using namespace tenon::fuzz;
  const Input input(data, size);
  accepted([&] {
    Graph graph = parse_model(std::as_bytes(input.bytes))
                      .graph({.registry = &registry(),
                              .declared_extents = (input.choice & 1) == 0,
                              .max_bytes = 1 << 24,
                              .max_nodes = 20'000});
    SessionOptions options{.fold_constants = (input.choice & 2) == 0, .max_folded_bytes = 1 << 24};
    if ((input.choice & 4) == 0) options.passes = standard_passes();
    run(Session(std::move(graph), std::move(options)));
  });
  return 0;
}
