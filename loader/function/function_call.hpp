// A call of an operator that ONNX defines by a function, and building blocks for the text of such functions.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "loader/function/function_body.hpp"
#include "tenon/base/dtype.hpp"
#include "tenon/base/error.hpp"

namespace tenon::TENON_ABI::loader {

/// A node whose operator is to be expressed by others.
class FunctionCall {
 public:
  FunctionCall(const TypedNode& typed, int opset) : opset(opset), typed_(typed) {}

  const int opset;  ///< of ai.onnx

  const onnx::NodeProto& node() const { return typed_.node; }
  bool has(int input) const { return input < node().input_size() && !node().input(input).empty(); }
  /// Null if unknown.
  const onnx::TypeProto* type(int input) const;
  const onnx::TypeProto* result_type(int output) const;
  /// DType::undefined if unknown.
  DType element(int input) const;
  /// -1 if unknown.
  int rank(int input) const;

  const onnx::AttributeProto* find(std::string_view attribute) const;
  int64_t integer(std::string_view attribute, int64_t otherwise) const;
  float real(std::string_view attribute, float otherwise) const;
  std::string word(std::string_view attribute, std::string_view otherwise) const;
  std::vector<int64_t> integers(std::string_view attribute) const;

 private:
  const TypedNode& typed_;
};

/// The nodes of a function in ONNX's textual syntax.
class FunctionText {
 public:
  explicit FunctionText(int opset) : opset_(opset) {}

  template <class... Parts>
  FunctionText& line(const Parts&... parts) {
    text_ += str_cat(parts..., "\n");
    return *this;
  }
  /// A vector of integers.
  FunctionText& ints(std::string_view name, const std::vector<int64_t>& values);
  /// A scalar. CastLike converts it to a parameter's type.
  FunctionText& real(std::string_view name, double value);
  /// `reduce` over axes, which are an attribute before opset 18, or 13 for ReduceSum.
  FunctionText& reduce(std::string_view name, std::string_view reduce, std::string_view x,
                       const std::vector<int64_t>& axes, bool keepdims = true);
  /// Unsqueeze or Squeeze of one axis, which is an attribute before opset 13.
  FunctionText& squeeze(std::string_view name, std::string_view squeeze, std::string_view x, int64_t axis);

  const std::string& text() const { return text_; }

 private:
  int opset_;
  std::string text_;
};

/// "[1,2]"
std::string list_text(const std::vector<int64_t>& values);
/// A number as text that parses to the same number.
std::string number_text(double value);
inline bool is_half(DType t) { return t == DType::float16 || t == DType::bfloat16; }
inline int number_of(DType element) { return static_cast<int>(element); }

/// A function from its parameters, "<alpha: float = 1.0> (X) => (Y)", and its nodes. "CastLike" with a
/// parameter as second operand becomes "Cast" if the parameter's type is known. Nothing if it is unknown and
/// the opset has no CastLike.
std::optional<onnx::FunctionProto> make_function(const FunctionCall& call, std::string_view parameters,
                                                 std::string_view nodes);

/// Functions that depend on more than the version: on attributes, or on which operands are present.
using BuildFunction = std::optional<onnx::FunctionProto> (*)(const FunctionCall&);
std::optional<onnx::FunctionProto> build_cosine_window(const FunctionCall&);
std::optional<onnx::FunctionProto> build_clip(const FunctionCall&);
std::optional<onnx::FunctionProto> build_cast_like(const FunctionCall&);
std::optional<onnx::FunctionProto> build_gelu(const FunctionCall&);
std::optional<onnx::FunctionProto> build_shrink(const FunctionCall&);
std::optional<onnx::FunctionProto> build_bernoulli(const FunctionCall&);
std::optional<onnx::FunctionProto> build_range(const FunctionCall&);
std::optional<onnx::FunctionProto> build_affine_grid(const FunctionCall&);
std::optional<onnx::FunctionProto> build_center_crop_pad(const FunctionCall&);
std::optional<onnx::FunctionProto> build_reduction_in_double(const FunctionCall&);
std::optional<onnx::FunctionProto> build_sequence_map(const FunctionCall&);

std::optional<onnx::FunctionProto> build_softmax(const FunctionCall&);
std::optional<onnx::FunctionProto> build_negative_log_likelihood_loss(const FunctionCall&);
std::optional<onnx::FunctionProto> build_softmax_cross_entropy_loss(const FunctionCall&);
std::optional<onnx::FunctionProto> build_mean_variance_normalization(const FunctionCall&);
std::optional<onnx::FunctionProto> build_layer_normalization(const FunctionCall&);
std::optional<onnx::FunctionProto> build_rms_normalization(const FunctionCall&);
std::optional<onnx::FunctionProto> build_group_normalization(const FunctionCall&);

std::optional<onnx::FunctionProto> build_attention(const FunctionCall&);
std::optional<onnx::FunctionProto> build_flex_attention(const FunctionCall&);
std::optional<onnx::FunctionProto> build_linear_attention(const FunctionCall&);
std::optional<onnx::FunctionProto> build_causal_conv_with_state(const FunctionCall&);
std::optional<onnx::FunctionProto> build_rotary_embedding(const FunctionCall&);

}  // namespace tenon::TENON_ABI::loader
