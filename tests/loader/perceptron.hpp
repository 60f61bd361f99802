// A model whose annotations place it on two devices.
#pragma once

#include "loader/message.hpp"
#include "tenon/model.hpp"

namespace tenon {

/// Small integers, whose sums are exact in any order.
inline Tensor<float> small_integers(const Extents& extents) {
  Tensor<float> t(extents);
  for (int64_t k = 0; k < t.size(); ++k) t[k] = static_cast<float>(k * 7 % 11 - 5);
  return t;
}

/// Annotates an operand of a node as cut along an axis, on devices 0 and 1 of configuration "two".
inline void cut_in_two(Model& m, int node, const char* tensor, int axis) {
  auto& proto = m.proto();
  if (proto.configuration_size() == 0) {
    proto.add_configuration()->set_name("two");
    proto.mutable_configuration(0)->set_num_devices(2);
  }
  auto* c = proto.mutable_graph()->mutable_node(node)->add_device_configurations();
  c->set_configuration_id("two");
  auto* s = c->add_sharding_spec();
  s->set_tensor_name(tensor);
  s->add_device(0), s->add_device(1);
  s->add_sharded_dim()->set_axis(axis);
  s->mutable_sharded_dim(0)->add_simple_sharding()->set_num_shards(2);
}

/// y = Relu(x w1) w2, with w1 (4, n) and w2 (n, 3); w1 is cut by columns, w2 by rows, on devices 0 and 1.
inline Model perceptron(const Value& w1, const Value& w2) {
  Model m = parse_text(R"(<ir_version: 11, opset_import: ["": 21]>
    g (float[batch, 4] x) => (float[batch, 3] y) {
      h = MatMul (x, w1)
      r = Relu (h)
      y = MatMul (r, w2)
    })");
  m.add_initializer("w1", w1);
  m.add_initializer("w2", w2);
  cut_in_two(m, 0, "w1", 1);
  cut_in_two(m, 2, "w2", 0);
  return m;
}

}  // namespace tenon
