#include "loader/tool/command.hpp"
#include "tenon/base/convert.hpp"

namespace tenon::tool {

Extents default_extents(const Dims& dims) {
  Extents e;
  for (Dim d : dims) e.push_back(d.known() ? d.value() : 1);
  return e;
}

Value random_value(Type type, const Extents& extents, uint64_t seed) {
  constexpr int64_t items = 3;  // of a sequence or a map
  const auto several = [&](Type item) {
    Sequence s{item, {}};
    for (int64_t k = 0; k < items; ++k)
      s.items.push_back(random_value(item, extents, seed * 31 + static_cast<uint64_t>(k)));
    return s;
  };
  switch (type.kind) {
    case Kind::none:
    case Kind::tensor: break;
    case Kind::unknown: type = DType::float32; break;
    case Kind::sequence: return several(type.element);
    case Kind::sequence_map: return several({Kind::map, type.element, type.key});
    case Kind::optional:
      return OptionalValue{type.element,
                           std::make_shared<const Value>(random_value(type.element, extents, seed))};
    case Kind::optional_sequence:
      return OptionalValue{{Kind::sequence, type.element},
                           std::make_shared<const Value>(several(type.element))};
    case Kind::map: {
      Map m;
      if (type.key == DType::string) m.keys = Tensor<std::string>(Extents{items}, {"0", "1", "2"});
      else m.keys = Tensor<int64_t>(Extents{items}, {0, 1, 2});
      m.values = random_value(type.element, Extents{items}, seed).tensor();
      return m;
    }
    case Kind::sparse_tensor: {
      // The first element of every row.
      SparseTensor s{{}, {}, extents};
      const int64_t count = element_count(extents), row = extents.empty() ? 1 : extents[extents.size() - 1];
      const int64_t rows = count == 0 ? 0 : count / row;
      s.values = random_value(type.element, Extents{rows}, seed).tensor();
      s.indices = AnyTensor::uninitialized(DType::int64, Extents{rows});
      for (int64_t k = 0; k < rows; ++k) s.indices.out().as<int64_t>()[k] = k * row;
      return s;
    }
    case Kind::opaque:
      throw Error(ErrorCode::not_supported, "random input", "an opaque value cannot be made up");
  }
  AnyTensor t = AnyTensor::uninitialized(type.element, extents);
  // SplitMix64
  auto next = [state = seed]() mutable {
    uint64_t z = (state += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  };
  visit_dtype(type.element, [&]<class T>() {
    const auto out = t.out().as<T>();
    for (int64_t k = 0; k < out.size(); ++k) {
      const uint64_t r = next();
      if constexpr (std::is_same_v<T, bool>) out[k] = (r & 1) != 0;
      else if constexpr (std::is_same_v<T, std::string>) out[k] = std::to_string(r % 10);
      else if constexpr (is_float(dtype_of<T>) || is_complex(dtype_of<T>))
        out[k] = convert<T>(static_cast<double>(r >> 11) * 0x1p-53);
      else out[k] = convert<T>(static_cast<int64_t>(r % 10));
    }
  });
  return t;
}

std::string describe(const Graph& graph, const std::string& name, ValueId value) {
  const op::Info& i = graph.entry(value).info;
  std::string text = concat(name, ": ", to_string(i.type));
  if (!i.dims.ranked()) return text;
  text += " (";
  for (int k = 0; k < i.dims.rank(); ++k) {
    const Dim d = i.dims[k];
    text += concat(k ? "," : "", d.known()      ? std::to_string(d.value())
                                 : d.symbolic() ? std::string(graph.symbol_name(d))
                                                : "?");
  }
  return text + ")";
}

}  // namespace tenon::tool
