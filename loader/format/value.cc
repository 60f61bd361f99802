// Values as files: TensorProto, SequenceProto, OptionalProto, and numpy's .npy (array/npy.hpp).
#include "loader/format/tensor.hpp"
#include "tenon/array/npy.hpp"
#include "tenon/loader.hpp"

namespace tenon::TENON_ABI {
namespace {

using loader::MappedFile;

Value read_sequence(const onnx::SequenceProto& p, Type element);
Value read_optional(const onnx::OptionalProto& p, Type element);

// The file of an empty map does not store the values' type, which is then `element`.
Value read_map(const onnx::MapProto& p, DType element = DType::undefined) {
  const DType key = dtype_from_onnx(p.key_type());
  Map m;
  if (key == DType::string) {
    m.keys =
        Tensor<std::string>(Extents{p.string_keys_size()}, p.string_keys().begin(), p.string_keys().end());
  } else {
    std::vector<int64_t> keys(p.keys().begin(), p.keys().end());
    const Extents n{static_cast<int64_t>(keys.size())};
    m.keys = Tensor<int64_t>(n, std::move(keys));
  }
  Value values = read_sequence(p.values(), element);
  // A map's values are scalars, which become one tensor. Some writers store that tensor directly.
  const Sequence& s = values.sequence();
  if (s.items.size() == 1 && s.items[0].is_tensor() && s.items[0].tensor().size() == m.keys.size()) {
    m.values = s.items[0].tensor().reshaped(m.keys.extents());
    return m;
  }
  m.values = AnyTensor::uninitialized(s.element.element, Extents{static_cast<int64_t>(s.items.size())});
  visit_dtype(s.element.element, [&]<class T>() {
    for (std::size_t k = 0; k < s.items.size(); ++k)
      m.values.out().as<T>()[static_cast<int64_t>(k)] = static_cast<T>(s.items[k].view<T>().item());
  });
  if (m.keys.size() != m.values.size())
    throw Error(ErrorCode::invalid_model, "map", "keys and values differ in number");
  return m;
}

// The file does not store the items' type: it follows from the first item, and is `element` if there is none.
Value read_sequence(const onnx::SequenceProto& p, Type element) {
  Sequence s{element, {}};
  for (const auto& t : p.tensor_values()) s.items.emplace_back(loader::read_tensor(t));
  for (const auto& t : p.sparse_tensor_values()) s.items.emplace_back(loader::read_sparse_tensor(t));
  for (const auto& t : p.sequence_values()) s.items.push_back(read_sequence(t, {}));
  for (const auto& t : p.map_values()) s.items.push_back(read_map(t, element.element));
  for (const auto& t : p.optional_values()) s.items.push_back(read_optional(t, {}));
  if (!s.items.empty()) s.element = s.items.front().type();
  return s;
}

Value read_optional(const onnx::OptionalProto& p, Type element) {
  OptionalValue o{element, nullptr};
  Value v;
  if (p.has_tensor_value()) v = loader::read_tensor(p.tensor_value());
  else if (p.has_sparse_tensor_value()) v = loader::read_sparse_tensor(p.sparse_tensor_value());
  else if (p.has_sequence_value()) v = read_sequence(p.sequence_value(), element.element);
  else if (p.has_map_value()) v = read_map(p.map_value());
  else if (p.has_optional_value()) v = read_optional(p.optional_value(), {});
  if (v) {
    o.element = v.type();
    o.value = std::make_shared<const Value>(std::move(v));
  }
  return o;
}

// Values are the scalars of a sequence, as read_map expects them.
void write_map(const Map& m, onnx::MapProto& p) {
  p.set_key_type(static_cast<int>(m.keys.dtype()));
  if (m.keys.dtype() == DType::string) {
    for (const std::string& key : m.keys.view().as<std::string>()) p.add_string_keys(key);
  } else {
    for (const int64_t key : m.keys.view().as<int64_t>()) p.add_keys(key);
  }
  p.mutable_values()->set_elem_type(onnx::SequenceProto::TENSOR);
  for (int64_t k = 0; k < m.values.size(); ++k) {
    AnyTensor item = AnyTensor::uninitialized(m.values.dtype(), Extents{});
    visit_dtype(item.dtype(),
                [&]<class T>() { item.out().as<T>()[0] = static_cast<T>(m.values.view().as<T>()[k]); });
    loader::write_tensor(item, *p.mutable_values()->add_tensor_values());
  }
}

void write_sequence(const Sequence& s, onnx::SequenceProto& p);
void write_optional(const OptionalValue& o, onnx::OptionalProto& p);

// Writes an item into the field of its kind, returned by one of the functions, and states the kind.
template <class P, class Tensor, class Sparse, class Items, class Entries, class Inner>
void write_item(const Value& v, P& p, Tensor tensor, Sparse sparse, Items items, Entries entries,
                Inner inner) {
  if (v.is_tensor()) p.set_elem_type(P::TENSOR), loader::write_tensor(v.tensor(), *tensor());
  else if (v.is_sparse_tensor())
    p.set_elem_type(P::SPARSE_TENSOR), loader::write_sparse_tensor(v.sparse_tensor(), *sparse());
  else if (v.is_sequence()) p.set_elem_type(P::SEQUENCE), write_sequence(v.sequence(), *items());
  else if (v.is_map()) p.set_elem_type(P::MAP), write_map(v.map(), *entries());
  else if (v.is_optional()) p.set_elem_type(P::OPTIONAL), write_optional(v.optional(), *inner());
  else throw Error(ErrorCode::not_supported, "value", str_cat("no file holds ", to_string(v.type())));
}
void write_sequence(const Sequence& s, onnx::SequenceProto& p) {
  p.set_elem_type(onnx::SequenceProto::TENSOR);
  for (const Value& v : s.items)
    write_item(
        v, p, [&] { return p.add_tensor_values(); }, [&] { return p.add_sparse_tensor_values(); },
        [&] { return p.add_sequence_values(); }, [&] { return p.add_map_values(); },
        [&] { return p.add_optional_values(); });
}

void write_optional(const OptionalValue& o, onnx::OptionalProto& p) {
  if (o.value == nullptr) return;
  write_item(
      *o.value, p, [&] { return p.mutable_tensor_value(); }, [&] { return p.mutable_sparse_tensor_value(); },
      [&] { return p.mutable_sequence_value(); }, [&] { return p.mutable_map_value(); },
      [&] { return p.mutable_optional_value(); });
}

template <class P>
P parse(const MappedFile& file, const std::string& place) {
  P p;
  if (file.bytes().size() > INT32_MAX ||
      !p.ParseFromArray(file.bytes().data(), static_cast<int>(file.bytes().size())))
    throw Error(ErrorCode::invalid_model, place, "not the protobuf message expected");
  return p;
}

}  // namespace

Value read_pb(const std::filesystem::path& file, Type type) {
  const auto mapped = MappedFile::open(file);
  const std::string place = loader::path_text(file);
  try {
    switch (type.kind) {
      case Kind::sequence: return read_sequence(parse<onnx::SequenceProto>(*mapped, place), type.element);
      case Kind::sequence_map:
        return read_sequence(parse<onnx::SequenceProto>(*mapped, place), {Kind::map, type.element, type.key});
      case Kind::optional: return read_optional(parse<onnx::OptionalProto>(*mapped, place), type.element);
      case Kind::optional_sequence:
        return read_optional(parse<onnx::OptionalProto>(*mapped, place), {Kind::sequence, type.element});
      case Kind::map: return read_map(parse<onnx::MapProto>(*mapped, place), type.element);
      case Kind::sparse_tensor:
        return loader::read_sparse_tensor(parse<onnx::SparseTensorProto>(*mapped, place));
      case Kind::opaque: throw Error(ErrorCode::not_supported, place, "no file holds an opaque value");
      case Kind::none:
      case Kind::tensor:
      case Kind::unknown: return loader::read_tensor(parse<onnx::TensorProto>(*mapped, place));
    }
  } catch (const Error& e) {
    if (e.where() == place) throw;
    throw Error(e.code(), str_cat(place, e.where().empty() ? "" : ": ", e.where()), e.message());
  }
  return {};
}

void write_pb(const std::filesystem::path& file, const Value& value, std::string_view name) {
  const auto bytes_of = [&]<class P>(P p, auto write) {
    p.set_name(std::string(name));
    write(p);
    return p.SerializeAsString();
  };
  std::string bytes;
  if (value.is_tensor())
    bytes = bytes_of(onnx::TensorProto(), [&](auto& p) { loader::write_tensor(value.tensor(), p); });
  else if (value.is_sequence())
    bytes = bytes_of(onnx::SequenceProto(), [&](auto& p) { write_sequence(value.sequence(), p); });
  else if (value.is_optional())
    bytes = bytes_of(onnx::OptionalProto(), [&](auto& p) { write_optional(value.optional(), p); });
  else if (value.is_map()) bytes = bytes_of(onnx::MapProto(), [&](auto& p) { write_map(value.map(), p); });
  else if (value.is_sparse_tensor()) {
    onnx::SparseTensorProto p;
    loader::write_sparse_tensor(value.sparse_tensor(), p);
    p.mutable_values()->set_name(std::string(name));
    bytes = p.SerializeAsString();
  } else
    throw Error(ErrorCode::not_supported, loader::path_text(file),
                str_cat("no file holds ", to_string(value.type())));
  loader::write_file(file, bytes);
}

Value read_npy(const std::filesystem::path& file) {
  return parse_npy(MappedFile::open(file)->bytes(), loader::path_text(file));
}

void write_npy(const std::filesystem::path& file, const Value& value) {
  const AnyTensor& t = value.tensor();
  if (npy_type(t.dtype()).empty())
    throw Error(ErrorCode::invalid_type, loader::path_text(file),
                str_cat("numpy has no type for ", to_string(value.type())));
  loader::NewFile out(file);
  out.write(npy_header(t.dtype(), t.extents()));
  out.write({static_cast<const char*>(t.data()), static_cast<std::size_t>(t.bytes())});
  out.put_in_place();
}

}  // namespace tenon::TENON_ABI
