// Copies of models without the data of large tensors, for work that goes by types and extents.
#pragma once

#include <optional>
#include <vector>

#include "loader/external.hpp"

namespace tenon::TENON_ABI::loader {

/// Whether a tensor has so much data that no operator's rule reads it (64 KiB and more), as its extents and
/// its type want it, in raw data or in float_data.
bool is_large(const onnx::TensorProto& t);

/// The large initializers and Constants of a message, out of it while it is copied and rewritten. In their
/// places stand tensors of the same name, type and extents that refer to external data.
///
///     LargeData data(model);
///     onnx::ModelProto rewritten = model;  // a copy without much data
///     rewrite(rewritten);
///     data.put_into(rewritten);
///     model.Swap(&rewritten);
///
/// Unless put_into was called, the destructor puts the tensors back: after an error the message is as it was.
class LargeData {
 public:
  enum class Of : uint8_t {
    everything,
    initializers,  ///< of the main graph and of training: no rewriting multiplies them
  };
  explicit LargeData(onnx::ModelProto& model, Of of = Of::everything);
  LargeData(const LargeData&) = delete;
  LargeData& operator=(const LargeData&) = delete;
  ~LargeData();

  /// The tensor that another stands for; else the tensor itself.
  const onnx::TensorProto& whole(const onnx::TensorProto& t) const;
  /// Puts the tensors where others stand for them. They keep the names that these have by now. Where several
  /// stand for one, all get its data.
  void put_into(onnx::ModelProto& model);

 private:
  /// The number of the tensor that another stands for, as an entry of it says; nothing for others.
  std::optional<std::size_t> number_of(const onnx::TensorProto& t) const;

  onnx::ModelProto& model_;
  std::vector<onnx::TensorProto> tensors_;
  bool out_ = true;
};

/// A copy of a model for shape inference, training graphs included. Large initializers and Constants refer to
/// external data in it. Parts that no inference reads are left out; functions are copied whole.
onnx::ModelProto copy_for_inference(const onnx::ModelProto& model);

}  // namespace tenon::TENON_ABI::loader
