// Models that are loaded on several ranks.
#include <fstream>

#include "loader/message.hpp"
#include "tenon/devices/load.hpp"
#include "tenon/model.hpp"
#include "tests/devices/sharded.hpp"
#include "tests/loader/folder.hpp"

namespace tenon {
namespace {

using devices::Transport;

// y = Relu(x w1) w2; w1 is cut by columns, w2 by rows, on devices 0 and 1.
Model perceptron() {
  Model m = parse_text(R"(<ir_version: 11, opset_import: ["": 21]>
    g (float[batch, 4] x) => (float[batch, 3] y) {
      h = MatMul (x, w1)
      r = Relu (h)
      y = MatMul (r, w2)
    })");
  m.add_initializer("w1", devices::numbers({4, 6}, 1));
  m.add_initializer("w2", devices::numbers({6, 3}, 2));
  auto& proto = m.proto();
  proto.add_configuration()->set_name("two");
  proto.mutable_configuration(0)->set_num_devices(2);
  const auto cut = [&](int node, const char* tensor, int axis) {
    auto* c = proto.mutable_graph()->mutable_node(node)->add_device_configurations();
    c->set_configuration_id("two");
    auto* s = c->add_sharding_spec();
    s->set_tensor_name(tensor);
    s->add_device(0), s->add_device(1);
    s->add_sharded_dim()->set_axis(axis);
    s->mutable_sharded_dim(0)->add_simple_sharding()->set_num_shards(2);
  };
  cut(0, "w1", 1), cut(2, "w2", 0);
  return m;
}

TEST_CASE("A model with annotations on two ranks, its weights in another file") {
  const Folder folder;
  const auto file = folder.path() / "model.onnx";
  save(perceptron(), file, {.external_threshold = 1});
  const Session whole = load(file);
  const devices::Transports ranks = devices::thread_transports(2);
  devices::on_ranks(ranks, [&](const std::shared_ptr<Transport>& t) {
    devices::ShardedSession s = devices::load_sharded(file, t);
    for (const int64_t batch : {2, 5}) {
      const Tensor<float> x = devices::numbers({batch, 4}, 3);
      const Outputs y = s.run(t->rank() == 0 ? Feeds{{"x", x}} : Feeds{});
      if (t->rank() == 0) CHECK(devices::difference(whole.run({{"x", x}})["y"], y["y"]) <= 1e-6);
    }
  });
  // Rank 1 gets x with a header, and each rank sends 2 (p - 1) / p of y.
  CHECK(ranks[1]->bytes_sent() == 1 + (2 + 5) * 3 * 4);
}

TEST_CASE("Errors of loading reach all ranks") {
  const Folder folder;
  const auto file = folder.path() / "model.onnx";
  Model m = perceptron();
  m.proto().mutable_configuration(0)->set_num_devices(3);
  save(m, file);
  const auto error = [&](const std::filesystem::path& name, std::string configuration) {
    std::string says;
    const auto ranks = devices::thread_transports(2);
    try {
      devices::on_ranks(ranks, [&](const auto& t) {
        static_cast<void>(devices::load_sharded(name, t, {.configuration = configuration}));
      });
    } catch (const Error& e) {
      says = e.what();
    }
    std::byte byte{};
    CHECK_THROWS_AS(ranks[0]->send(1, std::span(&byte, 1)), Error);
    return says;
  };
  CHECK(error(file, "").find("a placement on 3 devices for 2 ranks") != std::string::npos);
  CHECK(error(file, "four").find("model.onnx: devices: the model has no device configuration 'four'") !=
        std::string::npos);
  CHECK(error(folder.path() / "none.onnx", "").find("none.onnx") != std::string::npos);
}

}  // namespace
}  // namespace tenon
