#include "loader/format/tensor.hpp"

#include <charconv>
#include <cstring>

#include "loader/format/wire.hpp"
#include "loader/text/text_words.hpp"
#include "tenon/base/types.hpp"

namespace tenon::TENON_ABI::loader {
namespace {

[[noreturn]] void fail(const onnx::TensorProto& t, const std::string& what) {
  throw Error(ErrorCode::invalid_model, str_cat("tensor '", t.name(), "'"), what);
}

// Names the tensor in errors of its file.
template <class F>
auto in_tensor(const onnx::TensorProto& t, F f) {
  try {
    return f();
  } catch (const Error& e) {
    throw Error(e.code(), str_cat("tensor '", t.name(), "': ", e.where()), e.message());
  }
}

// A tensor to be written, of `bytes` bytes.
AnyTensor new_tensor(DType d, const Extents& extents, std::size_t bytes, SmallBlocks* small) {
  if (small == nullptr || bytes == 0 || bytes > SmallBlocks::most || d == DType::string)
    return AnyTensor::uninitialized(d, extents);
  return AnyTensor(d, extents, small->take(bytes));
}

// A whole tensor from bytes stored elsewhere: in place if they lie in a file and are aligned, or need not be,
// else copied. The file's memory is released after the copy, or with the tensor.
AnyTensor from_bytes(DType d, const Extents& extents, std::span<const std::byte> bytes,
                     std::shared_ptr<const MappedFile> file, Placement placement, SmallBlocks* small) {
  if (file != nullptr && !bytes.empty()) {
    const AnyTensor tensor(
        d, extents,
        Storage::keep(bytes.data(), bytes.size(), FilePart(std::move(file), bytes.data(), bytes.size())));
    const bool anywhere =
        placement != Placement::aligned && is_float(d) && static_cast<int64_t>(bytes.size()) >= large_bytes;
    if (anywhere || tensor.aligned()) return tensor;
    if (bytes.size() > SmallBlocks::most) return tensor.clone();
  }
  AnyTensor tensor = new_tensor(d, extents, bytes.size(), small);
  if (!bytes.empty()) std::memcpy(tensor.out().data(), bytes.data(), bytes.size());
  return tensor;
}

// The raw data that strip_raw_data left in the model's bytes.
std::optional<FileBytes> left_in_file(const onnx::TensorProto& t, const DataSource& source) {
  // If there are several the last counts, as for a repeated scalar field.
  for (int k = t.external_data_size(); k-- > 0;) {
    const onnx::StringStringEntryProto& entry = t.external_data(k);
    if (entry.key() != mapped_key) continue;
    const std::string& range = entry.value();
    const std::size_t comma = std::min(range.find(','), range.size());
    std::size_t offset = 0, length = 0;
    const auto read = [](const char* begin, const char* end, std::size_t& number) {
      const auto [stop, code] = std::from_chars(begin, end, number);
      return code == std::errc() && stop == end;
    };
    // A message that strip_raw_data did not write may contain the key too.
    if (comma == range.size() || !read(range.data(), range.data() + comma, offset) ||
        !read(range.data() + comma + 1, range.data() + range.size(), length) ||
        offset > source.model.size() || length > source.model.size() - offset)
      fail(t, "an external_data entry has a key that is not allowed");
    return FileBytes{source.model.subspan(offset, length), source.file};
  }
  return std::nullopt;
}

// Called before memory is reserved: the file must contain all the elements that it claims.
void require_values(const onnx::TensorProto& t, int64_t have, int64_t expected) {
  if (have != expected) fail(t, str_cat(have, " values in its data, ", expected, " are needed"));
}

AnyTensor read_typed(const onnx::TensorProto& t, DType d, const Extents& extents, int64_t count,
                     SmallBlocks* small) {
  const int64_t bytes = packed_bytes(count, d);
  const bool pairs = is_complex(d);
  switch (d) {
    case DType::float32:
    case DType::complex64: require_values(t, t.float_data_size(), pairs ? 2 * count : count); break;
    case DType::float64:
    case DType::complex128: require_values(t, t.double_data_size(), pairs ? 2 * count : count); break;
    case DType::int64: require_values(t, t.int64_data_size(), count); break;
    case DType::uint32:
    case DType::uint64: require_values(t, t.uint64_data_size(), count); break;
    case DType::string: require_values(t, t.string_data_size(), count); break;
    default: require_values(t, t.int32_data_size(), is_packed(d) ? bytes : count); break;
  }
  AnyTensor tensor = new_tensor(d, extents, static_cast<std::size_t>(bytes), small);
  void* data = tensor.out().data();
  const auto each = [&]<class T>(const auto& field, T* out) {
    for (int k = 0; k < field.size(); ++k) out[k] = static_cast<T>(field[k]);
  };
  switch (d) {
    case DType::float32:
    case DType::complex64: each(t.float_data(), static_cast<float*>(data)); break;
    case DType::float64:
    case DType::complex128: each(t.double_data(), static_cast<double*>(data)); break;
    case DType::int64: each(t.int64_data(), static_cast<int64_t*>(data)); break;
    case DType::uint64: each(t.uint64_data(), static_cast<uint64_t*>(data)); break;
    case DType::uint32: each(t.uint64_data(), static_cast<uint32_t*>(data)); break;
    case DType::string: each(t.string_data(), static_cast<std::string*>(data)); break;
    case DType::int32: each(t.int32_data(), static_cast<int32_t*>(data)); break;
    case DType::int16:
    case DType::uint16:
    case DType::float16:
    case DType::bfloat16: each(t.int32_data(), static_cast<uint16_t*>(data)); break;
    case DType::bool_:
      for (int k = 0; k < t.int32_data_size(); ++k) static_cast<bool*>(data)[k] = t.int32_data(k) != 0;
      break;
    default: each(t.int32_data(), static_cast<uint8_t*>(data)); break;
  }
  return tensor;
}

}  // namespace

Extents read_extents(const onnx::TensorProto& t) {
  if (t.dims_size() > max_rank) fail(t, str_cat("rank ", t.dims_size(), " is above ", max_rank));
  Extents e;
  for (int64_t d : t.dims()) {
    if (d < 0) fail(t, str_cat("negative extent ", d));
    e.push_back(d);
  }
  try {
    element_count(e);
  } catch (const Error& error) {
    fail(t, error.message());
  }
  return e;
}

Storage SmallBlocks::take(std::size_t bytes) {
  constexpr std::size_t size = std::size_t{1} << 14;
  if (used_ + bytes > block_.size_bytes()) block_ = Storage::allocate(size), used_ = 0;
  Storage part = block_.slice(used_, bytes);
  used_ += (bytes + storage_alignment - 1) / storage_alignment * storage_alignment;
  return part;
}

std::optional<FileBytes> raw_data_of(const onnx::TensorProto& t, const DataSource& source) {
  if (is_external(t)) {
    if (!source.external) fail(t, "external data is not to be had here: the model's folder is not known");
    return in_tensor(t, [&] { return source.external->find(t); });
  }
  if (auto left = left_in_file(t, source)) return left;
  if (!t.has_raw_data()) return std::nullopt;
  return FileBytes{std::as_bytes(std::span(t.raw_data())), nullptr};
}

std::size_t restore_raw_data(onnx::TensorProto& t, const DataSource& source) {
  const auto left = left_in_file(t, source);
  if (!left) return 0;
  constexpr std::size_t part = 16 << 20;  // bounds the memory of data that exists twice
  std::string& raw = *t.mutable_raw_data();
  raw.clear();
  raw.reserve(left->bytes.size());
  for (std::size_t at = 0; at < left->bytes.size(); at += part) {
    const auto bytes = left->bytes.subspan(at, std::min(part, left->bytes.size() - at));
    raw.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    FileBytes{bytes, left->file}.forget();
  }
  auto& entries = *t.mutable_external_data();
  entries.erase(
      std::remove_if(entries.begin(), entries.end(), [](const auto& e) { return e.key() == mapped_key; }),
      entries.end());
  return left->bytes.size();
}

AnyTensor sanitise_bools(AnyTensor tensor) {
  const auto* bytes = static_cast<const uint8_t*>(tensor.data());
  if (std::all_of(bytes, bytes + tensor.size(), [](uint8_t b) { return b < 2; })) return tensor;
  AnyTensor copy = tensor.clone();
  auto* out = static_cast<uint8_t*>(copy.out().data());
  for (int64_t k = 0; k < copy.size(); ++k) out[k] = out[k] != 0;
  return copy;
}

AnyTensor read_tensor(const onnx::TensorProto& t, const DataSource& source, Placement placement) {
  const DType d = dtype_from_onnx(t.data_type());
  if (d == DType::undefined) fail(t, str_cat("element type ", t.data_type(), " is not one of ONNX's"));
  if (t.has_segment()) fail(t, "segments of tensors are not supported");
  const Extents extents = read_extents(t);
  const int64_t count = element_count(extents);
  int64_t bytes = 0;
  try {
    bytes = packed_bytes(count, d);
  } catch (const Error& e) {
    fail(t, e.message());
  }
  const auto finish = [&](AnyTensor tensor) {
    return d == DType::bool_ ? sanitise_bools(std::move(tensor)) : tensor;
  };
  const std::optional<FileBytes> raw = raw_data_of(t, source);
  if (!raw) return read_typed(t, d, extents, count, source.small);
  if (d == DType::string) fail(t, "strings cannot be raw data");
  if (static_cast<int64_t>(raw->bytes.size()) != bytes)
    fail(t, str_cat(raw->bytes.size(), " bytes of raw data, ", bytes, " are needed"));
  return finish(from_bytes(d, extents, raw->bytes, raw->file, placement, source.small));
}

AnyTensor read_tensor(const onnx::TensorProto& t, const DataSource& source) {
  return read_tensor(t, source, Placement::aligned);
}

bool is_outside(const onnx::TensorProto& t) {
  const DType d = dtype_from_onnx(t.data_type());
  if (!is_external(t) || d == DType::undefined || d == DType::string) return false;
  const int64_t count = elements_of(t);
  // Others are refused where they are read.
  return !t.has_segment() && t.dims_size() <= max_rank && count > 0 && count <= INT64_MAX / 16 &&
         packed_bytes(count, d) >= large_bytes;
}

void expect_external(const onnx::TensorProto& t, ExternalFiles& files) {
  in_tensor(t, [&] { files.expect(t); });
}

AnyTensor read_part(const onnx::TensorProto& t, ExternalFiles& files, const AxisPart& of) {
  const DType d = dtype_from_onnx(t.data_type());
  const PartRows part(read_extents(t), d, of);
  const auto find = [&](int64_t offset, int64_t size) {
    return in_tensor(t, [&] { return files.find(t, offset, size); });
  };
  const auto finish = [&](AnyTensor tensor) {
    return d == DType::bool_ ? sanitise_bools(std::move(tensor)) : tensor;
  };
  if (part.rows == 1) {
    const FileBytes found = find(part.begin, part.length);
    return finish(from_bytes(d, part.extents, found.bytes, found.file, Placement::anywhere, nullptr));
  }
  AnyTensor y = AnyTensor::uninitialized(d, part.extents);
  if (part.length == 0) return y;
  auto* const to = static_cast<std::byte*>(y.out().data());
  const int64_t most = std::max<int64_t>(1, (int64_t{16} << 20) / part.row);
  for (int64_t r = 0; r < part.rows; r += most) {
    const int64_t rows = std::min(most, part.rows - r);
    const FileBytes found = find(r * part.row + part.begin, (rows - 1) * part.row + part.length);
    part.take(found.bytes.data(), rows, to + r * part.length);
    found.forget();
  }
  return finish(std::move(y));
}

SparseTensor read_sparse_tensor(const onnx::SparseTensorProto& t, const DataSource& source) {
  SparseTensor s{read_tensor(t.values(), source), read_tensor(t.indices(), source), {}};
  const auto refuse = [&](const std::string& why) { fail(t.values(), str_cat("sparse: ", why)); };
  if (t.dims_size() > max_rank) refuse("too many axes");
  for (int64_t d : t.dims()) {
    if (d < 0) refuse("negative extent");
    s.extents.push_back(d);
  }
  const int64_t count = element_count(s.extents), n = s.values.size();
  const int rank = s.extents.size();
  if (s.values.rank() != 1) refuse("values have one axis");
  if (s.indices.dtype() != DType::int64) refuse("indices are int64");
  const bool linear = s.indices.rank() == 1;
  if (linear ? s.indices.size() != n
             : s.indices.rank() != 2 || s.indices.extents()[0] != n || s.indices.extents()[1] != rank)
    refuse("indices have extents (NNZ) or (NNZ,rank)");
  const auto* index = static_cast<const int64_t*>(s.indices.data());
  int64_t before = -1;
  for (int64_t k = 0; k < n; ++k) {
    int64_t offset = 0;
    if (linear) {
      offset = index[k];
      if (offset < 0 || offset >= count)
        refuse(str_cat("index ", offset, " outside of ", to_string(s.extents)));
    } else {
      for (int a = 0; a < rank; ++a) {
        const int64_t i = index[k * rank + a];
        if (i < 0 || i >= s.extents[a])
          refuse(str_cat("index ", i, " outside of axis ", a, " of ", to_string(s.extents)));
        offset = offset * s.extents[a] + i;
      }
    }
    if (offset <= before) refuse("indices are not ascending");
    before = offset;
  }
  return s;
}

AnyTensor densify(const SparseTensor& s) {
  if (packed_bytes(element_count(s.extents), s.values.dtype()) > INT32_MAX)
    throw Error(ErrorCode::not_supported, "sparse tensor",
                str_cat("the extents ", to_string(s.extents), " stand for more than 2 GiB"));
  AnyTensor dense = AnyTensor::uninitialized(s.values.dtype(), s.extents);
  if (s.values.dtype() != DType::string && dense.bytes() > 0)
    std::memset(dense.out().data(), 0, static_cast<std::size_t>(dense.bytes()));
  const auto* index = static_cast<const int64_t*>(s.indices.data());
  const int rank = s.extents.size();
  visit_dtype(s.values.dtype(), [&]<class T>() {
    const auto in = s.values.view().as<T>();
    const auto out = dense.out().as<T>();
    for (int64_t k = 0; k < in.size(); ++k) {
      int64_t offset = 0;
      if (s.indices.rank() == 1) offset = index[k];
      else
        for (int a = 0; a < rank; ++a) offset = offset * s.extents[a] + index[k * rank + a];
      out[offset] = static_cast<T>(in[k]);
    }
  });
  return dense;
}

void write_tensor(const AnyTensor& tensor, onnx::TensorProto& t) {
  t.set_data_type(static_cast<int32_t>(tensor.dtype()));
  for (int64_t e : tensor.extents()) t.add_dims(e);
  if (tensor.dtype() == DType::string) {
    for (int64_t k = 0; k < tensor.size(); ++k)
      t.add_string_data(static_cast<const std::string*>(tensor.data())[k]);
  } else {
    t.set_raw_data(tensor.data(), static_cast<std::size_t>(tensor.bytes()));
  }
}

void write_sparse_tensor(const SparseTensor& tensor, onnx::SparseTensorProto& t) {
  write_tensor(tensor.values, *t.mutable_values());
  write_tensor(tensor.indices, *t.mutable_indices());
  for (int64_t e : tensor.extents) t.add_dims(e);
}

namespace {
DType known(int32_t number) {
  const DType d = dtype_from_onnx(number);
  if (d == DType::undefined) throw Error(ErrorCode::not_supported, {}, str_cat("element type ", number));
  return d;
}
}  // namespace

Type read_type(const onnx::TypeProto& t) {
  switch (t.value_case()) {
    case onnx::TypeProto::kTensorType:
      // Without an element type the value may be a tensor of any element type.
      if (t.tensor_type().elem_type() == 0) return Type(Kind::unknown, DType::undefined);
      return known(t.tensor_type().elem_type());
    case onnx::TypeProto::kSparseTensorType:
      return {Kind::sparse_tensor, known(t.sparse_tensor_type().elem_type())};
    case onnx::TypeProto::kSequenceType: {
      const Type e = read_type(t.sequence_type().elem_type());
      if (e.kind == Kind::tensor) return {Kind::sequence, e.element};
      if (e.kind == Kind::map) return {Kind::sequence_map, e.element, e.key};
      if (e.kind == Kind::unknown) return e;
      throw Error(ErrorCode::not_supported, {}, str_cat("a sequence of ", to_string(e)));
    }
    case onnx::TypeProto::kOptionalType: {
      const Type e = read_type(t.optional_type().elem_type());
      if (e.kind == Kind::tensor) return {Kind::optional, e.element};
      if (e.kind == Kind::sequence) return {Kind::optional_sequence, e.element};
      if (e.kind == Kind::unknown) return e;
      throw Error(ErrorCode::not_supported, {}, str_cat("an optional of ", to_string(e)));
    }
    case onnx::TypeProto::kMapType: {
      const Type v = read_type(t.map_type().value_type());
      if (v.kind != Kind::tensor)
        throw Error(ErrorCode::not_supported, {}, str_cat("a map to ", to_string(v)));
      return {Kind::map, v.element, known(t.map_type().key_type())};
    }
    case onnx::TypeProto::kOpaqueType: return {Kind::opaque, DType::undefined};
    case onnx::TypeProto::VALUE_NOT_SET: break;
  }
  return Type(Kind::unknown, DType::undefined);
}

namespace {

void write_map(Type type, onnx::TypeProto& t) {
  t.mutable_map_type()->set_key_type(static_cast<int>(type.key));
  auto* value = t.mutable_map_type()->mutable_value_type()->mutable_tensor_type();
  value->set_elem_type(static_cast<int>(type.element));
  value->mutable_shape();  // of a scalar
}

}  // namespace

void write_type(Type type, const Dims& dims, const std::function<std::string(Dim)>& symbol,
                onnx::TypeProto& t) {
  const auto write = [&](auto& tensor) {
    tensor.set_elem_type(static_cast<int>(type.element));
    if (!dims.ranked()) return;
    onnx::TensorShapeProto& shape = *tensor.mutable_shape();
    shape.clear_dim();
    for (Dim d : dims) {
      auto* to = shape.add_dim();
      if (d.known()) to->set_dim_value(d.value());
      else if (d.symbolic()) to->set_dim_param(symbol(d));
    }
  };
  switch (type.kind) {
    case Kind::tensor: return write(*t.mutable_tensor_type());
    case Kind::sparse_tensor: return write(*t.mutable_sparse_tensor_type());
    case Kind::sequence: return write(*t.mutable_sequence_type()->mutable_elem_type()->mutable_tensor_type());
    case Kind::optional: return write(*t.mutable_optional_type()->mutable_elem_type()->mutable_tensor_type());
    case Kind::optional_sequence:
      return write(*t.mutable_optional_type()
                        ->mutable_elem_type()
                        ->mutable_sequence_type()
                        ->mutable_elem_type()
                        ->mutable_tensor_type());
    case Kind::map: return write_map(type, t);
    case Kind::sequence_map: return write_map(type, *t.mutable_sequence_type()->mutable_elem_type());
    case Kind::opaque: t.mutable_opaque_type(); return;
    case Kind::none:
    case Kind::unknown: return;
  }
}

}  // namespace tenon::TENON_ABI::loader
