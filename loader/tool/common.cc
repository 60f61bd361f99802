#include "loader/tool/command.hpp"
#include "tenon/base/convert.hpp"

namespace tenon::tool {

Extents default_extents(const Dims& dims) {
  Extents e;
  for (Dim d : dims) e.push_back(d.known() ? d.value() : 1);
  return e;
}

Value random_value(Type type, const Extents& extents, uint64_t seed) {
  if (type.kind == Kind::unknown) type = DType::float32;
  if (type.kind != Kind::tensor)
    throw Error(ErrorCode::not_supported, "random input", concat("no ", to_string(type), " can be made up"));
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
