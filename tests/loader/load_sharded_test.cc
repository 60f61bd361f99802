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
  // Rank 1 gets x with a header, and each rank sends 2 (p - 1) / p of y. Before, the ranks compare what they
  // have been given, and tell which input they read.
  CHECK(ranks[1]->bytes_sent() == 8 + 1 + (2 + 5) * 3 * 4);
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

#ifdef __linux__
// The bytes of a file that this process has mapped.
int64_t mapped_bytes(const std::filesystem::path& file) {
  std::ifstream maps("/proc/self/maps");
  int64_t bytes = 0;
  for (std::string line; std::getline(maps, line);) {
    uint64_t first = 0, end = 0;
    if (line.ends_with(file.string()) && std::sscanf(line.c_str(), "%lx-%lx", &first, &end) == 2)
      bytes += static_cast<int64_t>(end - first);
  }
  return bytes;
}

TEST_CASE("A rank maps its part of the weights in other files, and nothing of others") {
  const Folder folder;
  Model m = perceptron(small_integers({4, 200000}), small_integers({200000, 3}));
  m.add_initializer("unread", small_integers({500000}));
  const auto file = std::filesystem::canonical(folder.path()) / "model.onnx";
  save(m, file, {.external_threshold = 1, .external_file = "w.data"});
  const Tensor<float> x = small_integers({2, 4});
  const Value whole = load(file).run({{"x", x}})["y"];
  devices::on_ranks(2, [&](const std::shared_ptr<Transport>& t) {
    devices::ShardedSession s = devices::load_sharded(file, t);
    const Outputs y = s.run(t->rank() == 0 ? Feeds{{"x", x}} : Feeds{});
    if (t->rank() == 0) CHECK(devices::difference(whole, y["y"]) == 0);
    // The ranks' rows of w2, if the session has not packed them.
    CHECK(mapped_bytes(file.parent_path() / "w.data") <= 200000 * 3 * 4 + 2 * 2 * (1 << 16));
  });
}
#endif

TEST_CASE("Weights in other files that bodies read, and that a node reads whole") {
  const Folder folder;
  Model m = parse_text(R"(<ir_version: 11, opset_import: ["": 21]>
    g (float[2, 128] x, bool c) => (float[2, 128] y, float[128, 128] w) {
      h = MatMul (x, w)
      b = If (c) <then_branch = t () => (float[2, 128] z) { z = MatMul (h, w) },
                  else_branch = e () => (float[2, 128] z) { z = Add (h, h) }>
      y = Add (b, h)
    })");
  m.add_initializer("w", small_integers({128, 128}));
  cut_in_two(m, 0, "w", 1);
  const auto file = folder.path() / "model.onnx";
  save(m, file, {.external_threshold = 1});
  const Session whole = load(file);
  devices::on_ranks(2, [&](const std::shared_ptr<Transport>& t) {
    devices::ShardedSession s = devices::load_sharded(file, t);
    for (const bool taken : {true, false}) {
      const Feeds feeds{{"x", small_integers({2, 128})}, {"c", Tensor<bool>(Extents{}, {taken})}};
      const Outputs y = s.run(t->rank() == 0 ? feeds : Feeds{});
      if (t->rank() != 0) continue;
      const Outputs expected = whole.run(feeds);
      for (const char* name : {"y", "w"}) CHECK(devices::difference(expected[name], y[name]) == 0);
    }
  });
}

TEST_CASE("Faults of weights in other files name the model and the tensor") {
  const Folder folder;
  const auto file = folder.path() / "model.onnx";
  save(perceptron(small_integers({4, 20000}), small_integers({20000, 3})), file,
       {.external_threshold = 1, .external_file = "w.data"});
  std::filesystem::resize_file(folder / "w.data", 400000);
  devices::on_ranks(1, [&](const auto& t) {
    CHECK_THROWS_WITH_AS(static_cast<void>(devices::load_sharded(file, t)),
                         doctest::Contains("model.onnx: tensor 'w2': external data 'w.data'"), Error);
  });
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

TEST_CASE("Ranks that are given different models say so") {
  const Folder folder;
  const Tensor<float> w1 = devices::numbers({4, 6}, 1), w2 = devices::numbers({6, 3}, 2);
  save(perceptron(w1, w2), folder.path() / "model.onnx");
  Model other = perceptron(w1, w2);
  other.proto().mutable_graph()->mutable_node(0)->clear_device_configurations();
  save(other, folder.path() / "other.onnx");
  std::string says[2];
  const auto ranks = devices::thread_transports(2);
  devices::on_ranks(ranks, [&](const std::shared_ptr<Transport>& t) {
    try {
      static_cast<void>(
          devices::load_sharded(folder.path() / (t->rank() == 0 ? "model.onnx" : "other.onnx"), t));
    } catch (const Error& e) {
      says[t->rank()] = e.what();
    }
  });
  for (const std::string& said : says)
    CHECK(said.ends_with("rank 1 has another graph, other annotations or other options than rank 0"));
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
