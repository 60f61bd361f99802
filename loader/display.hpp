// Parts of a model as readable text: names from files made harmless, types, and abbreviated tensors and
// attributes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "loader/onnx.pb.h"
#include "tenon/base/abi.hpp"

namespace tenon::TENON_ABI::loader {

/// A name that is safe to show on a terminal or a page. Control characters and bytes that are not UTF-8
/// become "\x1b", characters that change the text direction become "\u202e"; the rest stays. Beyond `most`
/// bytes, the middle is left out: "layer1/…/conv".
std::string visible(std::string_view text, std::size_t most = std::string_view::npos);

/// Appends the last `digits` hexadecimal digits of a number.
void add_hex(std::string& out, uint64_t number, int digits);

/// A type in ONNX's textual syntax, "float[1,batch,?]"; "" if unknown.
std::string type_text(const onnx::TypeProto& type);
/// A tensor's type and extents, and its elements if they are few and in the message: "int64[2] {-1, 768}".
std::string tensor_text(const onnx::TensorProto& tensor);
/// An attribute's value; long lists and texts are truncated. A graph is "graph".
std::string attribute_text(const onnx::AttributeProto& attribute);

/// "ai.onnx.ml.Scaler"; operators of ai.onnx are written without their domain.
std::string operator_text(std::string_view domain, std::string_view name);

}  // namespace tenon::TENON_ABI::loader
