// Checks of tensors, sparse tensors and types.
#include <cstring>
#include <optional>
#include <unordered_set>

#include "loader/check/findings.hpp"
#include "loader/format/wire.hpp"
#include "tenon/base/platform/overflow.hpp"
#include "tenon/tensor/type.hpp"

namespace tenon::TENON_ABI::loader {
namespace {

// The IR version that introduced an element type.
int first_version(DType d) {
  switch (d) {
    case DType::bfloat16: return 4;
    case DType::float8e4m3fn:
    case DType::float8e4m3fnuz:
    case DType::float8e5m2:
    case DType::float8e5m2fnuz: return 9;
    case DType::uint4:
    case DType::int4: return 10;
    case DType::float4e2m1: return 11;
    case DType::float8e8m0: return 12;
    case DType::uint2:
    case DType::int2: return 13;
    default: return 1;
  }
}

// The product of extents; nothing, and an error, if it overflows or an extent is negative.
template <class List>
std::optional<int64_t> product(const List& dims, std::string_view of, Findings& findings) {
  int64_t count = 1;
  bool zero = false;
  for (int64_t d : dims) {
    if (d < 0) return findings.error("extents", of, " has the extent ", d), std::nullopt;
    zero |= d == 0;
  }
  if (zero) return 0;
  for (int64_t d : dims)
    if (tenon::detail::mul_overflow(count, d, &count))
      return findings.error("extents", "the extents of ", of, " overflow"), std::nullopt;
  return count;
}

// A field of TensorProto for elements, and the entries it has.
struct Field {
  std::string_view name;
  int64_t size = 0;
};

// The field that holds elements of a type when they are not raw.
Field field_of(const onnx::TensorProto& t, DType d) {
  switch (d) {
    case DType::float32:
    case DType::complex64: return {"float_data", t.float_data_size()};
    case DType::float64:
    case DType::complex128: return {"double_data", t.double_data_size()};
    case DType::int64: return {"int64_data", t.int64_data_size()};
    case DType::uint32:
    case DType::uint64: return {"uint64_data", t.uint64_data_size()};
    case DType::string: return {"string_data", t.string_data_size()};
    default: return {"int32_data", t.int32_data_size()};
  }
}

// Checks external data by reading it, or only the tensor's reference if the model's folder is unknown.
void check_external(const onnx::TensorProto& t, std::string_view of, Findings& findings) {
  if (!product(t.dims(), of, findings)) return;
  try {
    if (findings.options().folder.empty()) read_reference(t);
    else findings.external.find(t);
  } catch (const Error& e) {
    findings.error("external-data", of, ": ", e.what());
  }
}

void check_size(const onnx::TensorProto& t, DType d, int64_t count, std::string_view of, Findings& findings) {
  constexpr std::string_view rule = "tensor-data";
  const bool raw = !t.raw_data().empty();
  const Field field = raw ? Field{"raw_data", static_cast<int64_t>(t.raw_data().size())} : field_of(t, d);
  // An entry of int32_data holds one byte of packed elements, as ONNX's own functions write them, or four
  // bytes: both are read.
  int64_t needed = count, least = count;
  if (raw && d != DType::string) {
    try {
      needed = least = packed_bytes(count, d);
    } catch (const Error&) {
      return findings.error("extents", "the extents of ", of, " overflow");
    }
  } else if (is_packed(d)) {
    needed = packed_bytes(count, d);
    least = needed / 4 + (needed % 4 != 0);
  } else if (is_complex(d) && tenon::detail::mul_overflow(count, int64_t{2}, &least)) {
    return findings.error("extents", "the extents of ", of, " overflow");
  } else {
    needed = least;
  }
  const auto says = [&] {
    return str_cat(of, " of ", count, " elements of ", name_of(d), " has ", field.size,
                   raw ? " bytes" : " numbers", " in ", field.name, ", ", needed, " are needed");
  };
  if (field.size < least) findings.error(rule, says());
  else if (field.size != needed) findings.warn(rule, says());
  else if (raw && is_packed(d) && count % (8 / bits_of(d)) != 0 &&
           static_cast<uint8_t>(t.raw_data().back()) >> (count % (8 / bits_of(d)) * bits_of(d)) != 0)
    findings.warn(rule, of, " of ", name_of(d), " has bits after its last element");
}

// The elements of an int64 tensor that is checked; nothing if they lie in an unknown file.
std::optional<std::vector<int64_t>> read_indices(const onnx::TensorProto& t, Findings& findings) {
  FileBytes raw{std::as_bytes(std::span(t.raw_data())), nullptr};
  if (is_external(t)) {
    if (findings.options().folder.empty()) return std::nullopt;
    raw = findings.external.find(t);
  } else if (raw.bytes.empty()) {
    return std::vector<int64_t>(t.int64_data().begin(), t.int64_data().end());
  }
  std::vector<int64_t> indices(raw.bytes.size() / 8);
  if (!indices.empty()) std::memcpy(indices.data(), raw.bytes.data(), indices.size() * 8);
  return indices;
}

}  // namespace

void check_element(int32_t element, std::string_view name_, Findings& findings) {
  const DType d = dtype_from_onnx(element);
  if (d == DType::undefined)
    findings.error("element-type", shown(name_), " has the element type ", element, ", which is none");
  else if (findings.ir_version > 0 && findings.ir_version < first_version(d))
    findings.error("element-type", shown(name_), " has elements of ", name_of(d), ", a type of IR ",
                   first_version(d), " and later, in IR ", findings.ir_version);
}

void check_type(const onnx::TypeProto& type, std::string_view name_, bool complete, Findings& findings,
                int depth) {
  constexpr std::string_view rule = "type";
  if (depth > max_nesting) return findings.error("nesting", "the type of ", shown(name_), " is too deep");
  const auto tensor = [&](const auto& t) {
    if (!t.has_elem_type()) {
      if (complete) findings.error(rule, shown(name_), " has no element type");
    } else if (t.elem_type() != 0) {
      check_element(t.elem_type(), name_, findings);
    } else if (complete) {
      findings.warn(rule, shown(name_), " has the element type UNDEFINED");
    }
    if (complete && !t.has_shape()) findings.error(rule, shown(name_), " has no shape");
    for (const auto& d : t.shape().dim())
      if (d.has_dim_value() && d.dim_value() < 0)
        findings.warn("extents", shown(name_), " has the extent ", d.dim_value());
  };
  const auto element = [&](const onnx::TypeProto& t) { check_type(t, name_, false, findings, depth + 1); };
  switch (type.value_case()) {
    case onnx::TypeProto::kTensorType: return tensor(type.tensor_type());
    case onnx::TypeProto::kSparseTensorType: return tensor(type.sparse_tensor_type());
    case onnx::TypeProto::kSequenceType:
      if (type.sequence_type().has_elem_type()) return element(type.sequence_type().elem_type());
      if (complete) findings.error(rule, "the sequence ", shown(name_), " has no element type");
      return;
    case onnx::TypeProto::kOptionalType:
      if (type.optional_type().has_elem_type()) return element(type.optional_type().elem_type());
      if (complete) findings.error(rule, "the optional ", shown(name_), " has no element type");
      return;
    case onnx::TypeProto::kMapType: {
      const auto& map = type.map_type();
      if (map.has_key_type()) {
        const DType key = dtype_from_onnx(map.key_type());
        if (!(types::integers | types::string).contains(key))
          findings.error(rule, "the map ", shown(name_), " has keys that are no integers or strings");
      } else if (complete) {
        findings.error(rule, "the map ", shown(name_), " has no key type");
      }
      if (map.has_value_type()) return element(map.value_type());
      if (complete) findings.error(rule, "the map ", shown(name_), " has no value type");
      return;
    }
    case onnx::TypeProto::kOpaqueType:
      if (complete && type.opaque_type().name().empty())
        findings.error(rule, "the opaque type of ", shown(name_), " has no name");
      return;
    case onnx::TypeProto::VALUE_NOT_SET:
      if (complete) findings.error(rule, shown(name_), " has a type that says nothing");
  }
}

void check_value_info(const onnx::ValueInfoProto& value, bool main, Findings& findings) {
  if (value.name().empty()) findings.error("required", "an input or output has no name");
  if (main && !value.has_type()) findings.error("type", shown(value.name()), " has no type");
  else check_type(value.type(), value.name(), main, findings);
  check_keys(value.metadata_props(), value.name(), findings);
}

void check_tensor(const onnx::TensorProto& t, Findings& findings) {
  constexpr std::string_view rule = "tensor-data";
  const std::string of = str_cat("tensor ", shown(t.name()));
  if (!t.has_data_type() || t.data_type() == onnx::TensorProto::UNDEFINED)
    findings.error("element-type", of, " has no element type");
  else check_element(t.data_type(), t.name(), findings);
  const DType d = dtype_from_onnx(t.data_type());
  check_keys(t.metadata_props(), of, findings);
  if (t.has_segment()) findings.warn(rule, of, " is a segment of a larger one");

  const Field fields[] = {{"raw_data", static_cast<int64_t>(t.raw_data().size())},
                          {"float_data", t.float_data_size()},
                          {"int32_data", t.int32_data_size()},
                          {"string_data", t.string_data_size()},
                          {"int64_data", t.int64_data_size()},
                          {"double_data", t.double_data_size()},
                          {"uint64_data", t.uint64_data_size()}};
  std::string used;
  int uses = 0;
  for (const Field& f : fields)
    if (f.size > 0) used += str_cat(uses++ == 0 ? "" : ", ", f.name);

  if (is_external(t)) {
    if (uses > 0) findings.error("external-data", of, " is external, but has ", used);
    return check_external(t, of, findings);
  }
  for (const auto& entry : t.external_data())
    if (entry.key() != mapped_key) {
      findings.warn("external-data", of, " has entries of external data, but is not external");
      break;
    }
  const auto count = product(t.dims(), of, findings);
  if (!count) return;
  if (*count == 0) {
    if (uses > 0) findings.error(rule, of, " has no elements, but ", used);
    return;
  }
  if (uses != 1)
    return findings.error(rule, of,
                          uses == 0 ? " has no data" : str_cat(" has data in several fields: ", used));
  if (d == DType::undefined) return;
  if (!t.raw_data().empty() && d == DType::string)
    return findings.error(rule, of, " has strings in raw_data");
  if (t.raw_data().empty() && field_of(t, d).size == 0)
    return findings.error(rule, of, " of ", name_of(d), " has its elements in ", used, " instead of ",
                          field_of(t, d).name);
  check_size(t, d, *count, of, findings);
}

void check_sparse_tensor(const onnx::SparseTensorProto& s, Findings& findings) {
  constexpr std::string_view rule = "sparse-tensor";
  const std::string of = str_cat("sparse tensor ", shown(s.values().name()));
  const int64_t before = findings.errors();
  if (!s.has_values()) return findings.error(rule, "a sparse tensor has no values");
  check_tensor(s.values(), findings);
  if (s.values().dims_size() != 1) findings.error(rule, of, " has values of rank ", s.values().dims_size());
  if (s.dims_size() == 0) findings.error(rule, of, " has no axes");
  for (int64_t d : s.dims())
    if (d <= 0) findings.error(rule, of, " has the extent ", d);
  if (findings.errors() != before) return;
  const auto size = product(s.dims(), of, findings);
  const int64_t stored = s.values().dims(0);
  if (!s.has_indices()) {
    if (stored != 0) findings.error(rule, of, " has no indices");
    return;
  }
  const onnx::TensorProto& t = s.indices();
  check_tensor(t, findings);
  if (t.data_type() != onnx::TensorProto::INT64) findings.error(rule, of, " has indices that are not int64");
  const int rank = t.dims_size() == 1 ? 1 : s.dims_size();
  if (t.dims_size() != 1 && t.dims_size() != 2)
    findings.error(rule, of, " has indices of rank ", t.dims_size());
  else if (t.dims(0) != stored)
    findings.error(rule, of, " has ", stored, " values and ", t.dims(0), " indices");
  else if (t.dims_size() == 2 && t.dims(1) != rank)
    findings.error(rule, of, " of rank ", rank, " has indices of ", t.dims(1), " numbers");
  if (findings.errors() != before) return;
  const auto indices = read_indices(t, findings);
  if (!indices) return;
  if (indices->size() != static_cast<std::size_t>(stored * rank))
    return findings.error(rule, of, " has ", indices->size(), " numbers in its indices, ", stored * rank,
                          " are needed");
  int64_t last = -1;
  for (int64_t k = 0; k < stored; ++k) {
    int64_t at = 0;
    for (int a = 0; a < rank; ++a) {
      const int64_t i = (*indices)[static_cast<std::size_t>(k * rank + a)];
      const int64_t extent = t.dims_size() == 1 ? *size : s.dims(a);
      if (i < 0 || i >= extent)
        return findings.error(rule, of, " has index ", k, " at ", i, ", outside of ", extent);
      at = at * extent + i;
    }
    if (at <= last) return findings.error(rule, of, " has indices that do not ascend, at number ", k);
    last = at;
  }
}

void check_keys(const google::protobuf::RepeatedPtrField<onnx::StringStringEntryProto>& entries,
                std::string_view what, Findings& findings) {
  if (entries.size() < 2) return;
  std::unordered_set<std::string_view> keys;
  for (const auto& e : entries)
    if (!keys.insert(e.key()).second)
      findings.error("metadata", "metadata of ", shown(what), " has the key ", shown(e.key()), " twice");
}

}  // namespace tenon::TENON_ABI::loader
