// Models that are loaded on several ranks.
#include <fstream>

#include "tenon/devices/load.hpp"
#include "tests/devices/sharded.hpp"
#include "tests/loader/folder.hpp"
#include "tests/loader/perceptron.hpp"

namespace tenon {
namespace {

using devices::Transport;

TEST_CASE("A model with annotations on two ranks, its weights in another file") {
  const Folder folder;
  const auto file = folder.path() / "model.onnx";
  save(perceptron(devices::numbers({4, 6}, 1), devices::numbers({6, 3}, 2)), file, {.external_threshold = 1});
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

TEST_CASE("Large weights are used where they lie in the model's file, at any address") {
  const Folder folder;
  const Model model = perceptron(small_integers({4, 20000}), small_integers({20000, 3}));
  const Tensor<float> x = small_integers({2, 4});
  for (const std::string padding : {"", "1", "12", "123"}) {
    Model m = model;
    m.proto().set_producer_name(padding);
    const auto file = folder.path() / ("model" + padding + ".onnx");
    save(m, file);
    const Value whole = load(file).run({{"x", x}})["y"];
    devices::on_ranks(2, [&](const std::shared_ptr<Transport>& t) {
      devices::ShardedSession s = devices::load_sharded(file, t);
      const Outputs y = s.run(t->rank() == 0 ? Feeds{{"x", x}} : Feeds{});
      if (t->rank() == 0) CHECK(devices::difference(whole, y["y"]) == 0);
    });
  }
}

TEST_CASE("A model's file is bounded") {
  const Folder folder;
  const auto file = folder.path() / "model.onnx";
  save(perceptron(small_integers({4, 6}), small_integers({6, 3})), file);
  devices::on_ranks(1, [&](const auto& t) {
    CHECK_THROWS_WITH_AS(static_cast<void>(devices::load_sharded(file, t, {.load = {.max_file_bytes = 10}})),
                         doctest::Contains("has more than 10 bytes"), Error);
  });
}

TEST_CASE("Errors of loading reach all ranks") {
  const Folder folder;
  const auto file = folder.path() / "model.onnx";
  Model m = perceptron(devices::numbers({4, 6}, 1), devices::numbers({6, 3}, 2));
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
