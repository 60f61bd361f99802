#include "loader/format/read_message.hpp"
#include "loader/format/wire.hpp"
#include "loader/tool/command.hpp"
#include "loader/tool/models.hpp"
#include "tenon/base/convert.hpp"

namespace tenon::TENON_ABI::tool {
namespace {

// Converts a tensor whose data was left in the file to a form that every reader of the message understands.
void leave_data(onnx::TensorProto& t) {
  for (const auto& e : t.external_data()) {
    if (e.key() != loader::mapped_key) continue;
    t.clear_external_data();
    t.set_data_location(onnx::TensorProto::EXTERNAL);
    return;
  }
}

}  // namespace

onnx::ModelProto read_model(const std::filesystem::path& file) {
  if (loader::format_of(file) == loader::ModelFormat::text) return parse_file(file);
  return loader::in_file(file, [&] {
    if (!std::filesystem::is_fifo(file)) return loader::read_whole_message(loader::MappedFile::open(file));
    const std::string bytes = read_text(file);
    onnx::ModelProto model;
    loader::read_message(std::as_bytes(std::span(bytes)), false, model);
    return model;
  });
}

onnx::ModelProto read_outline(const std::filesystem::path& file) {
  if (loader::format_of(file) == loader::ModelFormat::text) return parse_file(file);
  onnx::ModelProto model;
  loader::in_file(file, [&] { loader::read_message(loader::MappedFile::open(file)->bytes(), true, model); });
  loader::for_each_tensor(model, [](onnx::TensorProto& t, bool) { leave_data(t); });
  return model;
}

Extents default_extents(const Dims& dims) {
  Extents e;
  for (Dim d : dims) e.push_back(d.known() ? d.value() : 1);
  return e;
}

namespace {

AnyTensor random_tensor(DType element, const Extents& extents, uint64_t seed) {
  AnyTensor t = AnyTensor::uninitialized(element, extents);
  // SplitMix64
  auto next = [state = seed]() mutable {
    uint64_t z = (state += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  };
  visit_dtype(element, [&]<class T>() {
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

}  // namespace

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
      m.values = random_tensor(type.element, Extents{items}, seed);
      return m;
    }
    case Kind::sparse_tensor: {
      // The first element of every row.
      SparseTensor s{{}, {}, extents};
      const int64_t count = element_count(extents), row = extents.empty() ? 1 : extents[extents.size() - 1];
      const int64_t rows = count == 0 ? 0 : count / row;
      s.values = random_tensor(type.element, Extents{rows}, seed);
      s.indices = AnyTensor::uninitialized(DType::int64, Extents{rows});
      for (int64_t k = 0; k < rows; ++k) s.indices.out().as<int64_t>()[k] = k * row;
      return s;
    }
    case Kind::opaque:
      throw Error(ErrorCode::not_supported, "random input", "an opaque value cannot be made up");
  }
  return random_tensor(type.element, extents, seed);
}

}  // namespace tenon::TENON_ABI::tool
