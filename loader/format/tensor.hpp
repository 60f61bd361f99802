// TensorProto and its relatives as Values, and back.
#pragma once

#include <functional>
#include <optional>

#include "loader/format/external.hpp"
#include "loader/onnx.pb.h"
#include "tenon/tensor/part_rows.hpp"
#include "tenon/tensor/value.hpp"

namespace tenon::TENON_ABI::loader {

/// Memory for small tensors, many to a block. Models have thousands of constants of a few bytes, and a run
/// reads them faster where they are adjacent than where each has a block with a header. A block lives as long
/// as one of its tensors.
class SmallBlocks {
 public:
  static constexpr std::size_t most = 1024;  ///< bytes of a tensor that shares a block

  Storage take(std::size_t bytes);

 private:
  Storage block_;
  std::size_t used_ = 0;
};

/// The sources of tensor data that is not in the message.
struct DataSource {
  std::span<const std::byte> model{};         ///< the model's bytes, for data that was left in place
  std::shared_ptr<const MappedFile> file{};   ///< keeps `model` valid; null: data is copied
  std::shared_ptr<ExternalFiles> external{};  ///< null: external data may not be read
  SmallBlocks* small = nullptr;               ///< null: each tensor that is copied has a block of its own
};

/// A tensor's raw data, in the message or elsewhere; absent if its elements are in a field of their type. A
/// null file in the result means that the message, or the caller, owns the bytes.
std::optional<FileBytes> raw_data_of(const onnx::TensorProto& t, const DataSource& source = {});
/// Moves raw data that was left in the model's bytes back into the message. Returns its size.
std::size_t restore_raw_data(onnx::TensorProto& t, const DataSource& source);

/// Where elements lie that are used in place.
enum class Placement : uint8_t {
  aligned,   ///< aligned as their type requires
  anywhere,  ///< large float tensors at any address: the tensor may not be AnyTensor::aligned
  outside,   ///< as anywhere; but large external tensors stay outside the graph, see is_outside
};
/// Rules read the elements of smaller constants only. In bytes.
inline constexpr int64_t large_bytes = int64_t{64} << 10;
/// Whether Placement::outside leaves a tensor's elements in their file.
bool is_outside(const onnx::TensorProto& t);

/// A tensor; raw data is used in place if possible. Error{invalid_model} if sizes do not agree.
AnyTensor read_tensor(const onnx::TensorProto& t, const DataSource& source, Placement placement);
/// The same, aligned.
AnyTensor read_tensor(const onnx::TensorProto& t, const DataSource& source = {});
/// The errors of an external tensor's reference and file, without reading any elements.
void expect_external(const onnx::TensorProto& t, ExternalFiles& files);
/// A part of the elements of an external tensor. Rows of one stretch are used where they lie in the file,
/// others copied. Nothing else is mapped once it returns, and no more than 16 MiB or a row's part meanwhile,
/// if the files are mapped in pieces.
AnyTensor read_part(const onnx::TensorProto& t, ExternalFiles& files, const AxisPart& of);
/// Error{invalid_model}: too many extents, negative ones, or a number of elements that overflows.
Extents read_extents(const onnx::TensorProto& t);
/// A bool is 0 or 1. Other bytes of a file are converted to one of them, since reading them as a bool would
/// be undefined.
AnyTensor sanitise_bools(AnyTensor tensor);
/// A sparse tensor. Error{invalid_model} if indices are not ascending or are out of bounds.
SparseTensor read_sparse_tensor(const onnx::SparseTensorProto& t, const DataSource& source = {});
/// A sparse tensor as a dense one; elements that are not stored are zero.
AnyTensor densify(const SparseTensor& s);

void write_tensor(const AnyTensor& tensor, onnx::TensorProto& t);
void write_sparse_tensor(const SparseTensor& tensor, onnx::SparseTensorProto& t);

/// The extents of a shape. symbol(name) gives the extent for a symbolic name. Error{not_supported} above
/// max_rank.
template <class F>
Dims read_dims(const onnx::TensorShapeProto& shape, const std::string& where, F symbol) {
  if (shape.dim_size() > max_rank)
    throw Error(ErrorCode::not_supported, where, str_cat("rank ", shape.dim_size(), " is above ", max_rank));
  Dims d = Dims::of_rank(0);
  for (const auto& dim : shape.dim()) {
    if (dim.has_dim_value() && dim.dim_value() >= 0) d.push_back(dim.dim_value());
    else if (dim.has_dim_param() && !dim.dim_param().empty()) d.push_back(symbol(dim.dim_param()));
    else d.push_back(Dim::unknown());
  }
  return d;
}

/// The type, and for tensors the extents, of a TypeProto. Error{not_supported} for types that no operator
/// takes.
Type read_type(const onnx::TypeProto& t);
/// Writes a type, and if the rank is known the extents, of the value or of its elements. symbol(d) names
/// symbolic extents. An unknown type writes nothing.
void write_type(Type type, const Dims& dims, const std::function<std::string(Dim)>& symbol,
                onnx::TypeProto& t);

}  // namespace tenon::TENON_ABI::loader
