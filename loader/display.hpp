// Parts of a model as words for people: names from files made harmless, types, tensors and attributes in
// short.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "loader/onnx.pb.h"
#include "tenon/base/abi.hpp"

namespace tenon::TENON_ABI::loader {

/// A name as a terminal or a page may show it. Control characters and bytes that are not UTF-8 become "\x1b",
/// characters that turn the direction of the text around them become "\u202e"; the rest stays. Of more than
/// `most` bytes, the middle is left out: "layer1/…/conv".
std::string visible(std::string_view text, std::size_t most = std::string_view::npos);

/// A type in the words of ONNX's textual syntax, "float[1,batch,?]"; "" where nothing is known.
std::string type_text(const onnx::TypeProto& type);
/// A tensor's type and extents, and its elements where they are few and in the message: "int64[2] {-1, 768}".
std::string tensor_text(const onnx::TensorProto& tensor);
/// An attribute's value; of long lists and texts, the beginning. A graph is "graph".
std::string attribute_text(const onnx::AttributeProto& attribute);

/// "ai.onnx.ml.Scaler"; operators of ai.onnx go without their domain.
std::string operator_text(std::string_view domain, std::string_view name);

}  // namespace tenon::TENON_ABI::loader
