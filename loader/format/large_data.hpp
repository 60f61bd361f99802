// Copies of models without the data of large tensors, for work that needs only types and extents.
#pragma once

#include <optional>
#include <vector>

#include "loader/format/external.hpp"

namespace tenon::TENON_ABI::loader {

/// Whether a tensor's data, in raw data or in float_data, is so large (64 KiB or more, by its extents and
/// type) that no operator's rule reads it.
bool is_large(const onnx::TensorProto& t);

/// Holds the large initializers and Constants of a message while it is copied and rewritten. They are
/// replaced by tensors of the same name, type and extents that refer to external data.
///
///     LargeData data(model);
///     onnx::ModelProto rewritten = model;  // a copy without much data
///     rewrite(rewritten);
///     data.put_into(rewritten);
///     model.Swap(&rewritten);
///
/// Unless put_into was called, the destructor puts the tensors back: after an error the message is unchanged.
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

  /// The tensor that `t` stands for; else `t` itself.
  const onnx::TensorProto& whole(const onnx::TensorProto& t) const;
  /// Replaces the placeholders by the tensors, which take the placeholders' current names. If several stand
  /// for one tensor, all get its data.
  void put_into(onnx::ModelProto& model);

 private:
  /// The number of the tensor that `t` stands for, from an entry of it; nothing for other tensors.
  std::optional<std::size_t> number_of(const onnx::TensorProto& t) const;

  onnx::ModelProto& model_;
  std::vector<onnx::TensorProto> tensors_;
  bool out_ = true;
};

/// A copy of a model for shape inference, training graphs included, in which large initializers and Constants
/// refer to external data. Parts that inference does not read are left out; functions are copied whole.
onnx::ModelProto copy_for_inference(const onnx::ModelProto& model);

}  // namespace tenon::TENON_ABI::loader
