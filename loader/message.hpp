// A Model's message, whose types protobuf generates.
#pragma once

#include "loader/onnx.pb.h"
#include "tenon/model.hpp"

namespace tenon::TENON_ABI {

struct loader::Message {
  Message(onnx::ModelProto message) : proto(std::move(message)) {}

  onnx::ModelProto proto;
};

inline auto& Model::proto() { return message_->proto; }
inline const auto& Model::proto() const { return message_->proto; }

}  // namespace tenon::TENON_ABI
