// A model's message from a file's bytes.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "loader/format/file.hpp"
#include "loader/onnx.pb.h"

namespace tenon::TENON_ABI::loader {

/// A message as protobuf reads it. Error{invalid_model} with the byte where it is invalid. Large raw data is
/// left out if `in_place`: read_tensor finds it in DataSource::model.
///
/// The caller's message may lie in an arena. When memory runs out, protobuf leaks the parts that it has not
/// yet put into a message outside of an arena.
void read_message(std::span<const std::byte> bytes, bool in_place, onnx::ModelProto& message);

/// A model's file as one message with all its data, of which memory holds a single copy: large raw data is
/// copied into the message part by part. Error{invalid_model} with the byte where the file is invalid.
onnx::ModelProto read_whole_message(const std::shared_ptr<const MappedFile>& file);

}  // namespace tenon::TENON_ABI::loader
