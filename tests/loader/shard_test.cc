// Models that are annotated automatically: the file that is written, and runs of it on several ranks.
#include "loader/devices/shard.hpp"

#include "loader/devices/device_extents.hpp"
#include "loader/devices/read_placement.hpp"
#include "loader/infer/infer.hpp"
#include "loader/message.hpp"
#include "tenon/devices/load.hpp"
#include "tests/devices/sharded.hpp"
#include "tests/loader/folder.hpp"

namespace tenon {
namespace {

using devices::Transport;
using loader::RankCost;

struct Weights {
  const char* name;
  Extents extents;
};

Model model(std::string_view text, const std::vector<Weights>& weights) {
  Model m = parse_text(text);
  uint32_t seed = 10;
  for (const Weights& w : weights) m.add_initializer(w.name, devices::numbers(w.extents, ++seed));
  return m;
}

Model perceptron() {
  return model(R"(<ir_version: 8, opset_import: ["": 13]>
    g (float[batch, 8] x) => (float[batch, 8] y) {
      h = MatMul (x, w1)
      b = Add (h, b1)
      r = Relu (b)
      y = MatMul (r, w2)
    })",
               {{"w1", {8, 24}}, {"b1", {24}}, {"w2", {24, 8}}});
}

Model attention() {
  return model(R"(<ir_version: 12, opset_import: ["": 24, "own": 1]>
    g (float[1, 5, 24] x) => (float[1, 5, 24] y) {
      q = own.Project (x, wq)
      k = own.Project (x, wk)
      v = own.Project (x, wv)
      a = Attention <q_num_heads = 6, kv_num_heads = 6> (q, k, v)
      y = MatMul (a, wo)
    }
    <domain: "own", opset_import: ["": 24]>
    Project (x, w) => (y) { y = MatMul (x, w) })",
               {{"wq", {24, 24}}, {"wk", {24, 24}}, {"wv", {24, 24}}, {"wo", {24, 24}}});
}

Model one_projection() {
  return model(R"(<ir_version: 12, opset_import: ["": 24]>
    g (float[1, 5, 24] x) => (float[1, 5, 24] y) {
      p = MatMul (x, w)
      s = Add (p, b)
      q, k, v = Split <axis = -1, num_outputs = 3> (s)
      a = Attention <q_num_heads = 6, kv_num_heads = 6> (q, k, v)
      y = MatMul (a, wo)
    })",
               {{"w", {24, 72}}, {"b", {72}}, {"wo", {24, 24}}});
}

Model lookup() {
  return model(R"(<ir_version: 8, opset_import: ["": 17]>
    g (float[2, 12] x) => (float[2, 12] y) {
      ids = Constant <value_ints = [3, -1]> ()
      rows = Gather (table, ids)
      s = Mul (x, rows)
      turned = Transpose (table)
      y = MatMul (s, turned)
    })",
               {{"table", {12, 12}}});
}

Model convolutions() {
  return model(
      R"(<ir_version: 8, opset_import: ["": 17]>
    g (float[1, 12, 7, 7] x) => (float[1, 12, 7, 7] y) {
      a = Conv <pads = [1, 1, 1, 1]> (x, w1)
      b = Relu (a)
      c = Conv <pads = [1, 1, 1, 1]> (b, w2)
      d = Add (b, c)
      e = Conv (d, w3)
      f = Conv <group = 12, pads = [1, 1, 1, 1]> (e, w4)
      y = Relu (f)
    })",
      {{"w1", {12, 12, 3, 3}}, {"w2", {12, 12, 3, 3}}, {"w3", {12, 12, 1, 1}}, {"w4", {12, 1, 3, 3}}});
}

int64_t bytes_of_weights(const Model& m) {
  int64_t bytes = 0;
  for (const auto& t : m.proto().graph().initializer()) {
    int64_t count = 4;
    for (const int64_t e : t.dims()) count *= e;
    bytes += count;
  }
  return bytes;
}

Feeds feeds_of(const Graph& graph) {
  Feeds feeds;
  for (const ValueId v : graph.inputs()) {
    Extents extents;
    for (const Dim d : graph.entry(v).info.dims) extents.push_back(d.known() ? d.value() : 1);
    feeds.emplace_back(graph.entry(v).name, devices::numbers(extents, 3));
  }
  return feeds;
}

// The difference of the results on ranks, which send what was counted.
double run(const Model& sharded, const Value& expected, const std::vector<RankCost>& costs) {
  const Graph graph = sharded.graph();  // which has the feeds' names
  const Feeds feeds = feeds_of(graph);
  const devices::Placement placement = loader::read_placement(sharded.proto());
  double difference = 0;
  const auto ranks = devices::thread_transports(static_cast<int>(costs.size()));
  devices::on_ranks(ranks, [&](const std::shared_ptr<Transport>& t) {
    devices::ShardedSession s(graph, placement, t);
    const int64_t before = t->bytes_sent();
    const Outputs y = s.run(t->rank() == 0 ? feeds : Feeds{});
    const int64_t sent = t->bytes_sent() - before, counted = costs[static_cast<std::size_t>(t->rank())].sent;
    if (sent != counted) raise(ErrorCode::invalid_argument, "sent", sent, ", and not ", counted);
    if (t->rank() == 0) difference = devices::difference(expected, y["y"]);
  });
  return difference;
}

TEST_CASE("Annotated models are sound, and run on 1 to 4 ranks") {
  const Model models[] = {perceptron(), attention(), one_projection(), lookup(), convolutions()};
  for (const Model& m : models) {
    CAPTURE(print_text(m));
    const Session session(m.graph());
    const Value whole = session.run(feeds_of(session.graph()))["y"];
    for (int devices = 1; devices <= 4; ++devices)
      for (const std::optional<int> stages :
           {std::optional<int>(), std::optional<int>(1), std::optional<int>(2), std::optional<int>(3),
            std::optional<int>(4)}) {
        CAPTURE(devices);
        CAPTURE(stages.value_or(0));
        Model sharded = m;
        std::vector<RankCost> costs;
        try {
          costs = loader::shard(sharded, {.devices = devices, .stages = stages});
        } catch (const Error& e) {
          // Stages that devices or products do not fill.
          CHECK(stages.value_or(1) > 1);
          CHECK(std::string(e.what()).find("pipeline stages") != std::string::npos);
          continue;
        }
        CHECK(!has_errors(check(sharded, {.full = true})));
        CHECK(sharded.proto().configuration_size() == 1);
        CHECK(run(sharded, whole, costs) <= (stages == devices ? 0 : 1e-6));
        REQUIRE(costs.size() == static_cast<std::size_t>(devices));
        if (stages == 1)
          for (const RankCost& c : costs) {
            // Whole: numbers of the nodes. 6 heads, and 12 rows, are no multiple of 4 but of the other
            // counts.
            const int64_t pieces = devices == 4 ? 3 : devices;
            CHECK(c.held <= bytes_of_weights(m) / pieces + 256);
          }
      }
  }
}

TEST_CASE("Annotated files are loaded on several ranks") {
  const Folder folder;
  const auto file = folder.path() / "model.onnx";
  for (Model m : {perceptron(), attention(), one_projection(), lookup(), convolutions()}) {
    const Session session(m.graph());
    const Feeds feeds = feeds_of(session.graph());
    const Value whole = session.run(feeds)["y"];
    loader::shard(m, {.devices = 3});
    save(m, file, {.external_threshold = 1});
    devices::on_ranks(devices::thread_transports(3), [&](const std::shared_ptr<Transport>& t) {
      devices::ShardedSession s = devices::load_sharded(file, t);
      const Outputs y = s.run(t->rank() == 0 ? feeds : Feeds{});
      if (t->rank() == 0) CHECK(devices::difference(whole, y["y"]) <= 2e-6);
    });
  }
}

// p = x w1 w2, with a cast before and after if `casts`. w1 by columns and w2 by rows need one sum, and each
// by columns two all-gathers.
Model two_products(DType type, bool casts, int64_t rows, int64_t first, int64_t middle, int64_t last) {
  const std::string name(type == DType::float32 ? "float" : name_of(type));
  const std::string x = str_cat(casts ? "float" : name, "[", rows, ", ", first, "] x"),
                    y = str_cat(casts ? "float" : name, "[", rows, ", ", last, "] ", casts ? "y" : "p");
  Model m = parse_text(str_cat(R"(<ir_version: 8, opset_import: ["": 17]> g ()", x, ") => (", y, ") {",
                               casts ? str_cat("a = Cast <to = ", static_cast<int>(type), "> (x)") : "",
                               " h = MatMul (", casts ? "a" : "x", ", w1) p = MatMul (h, w2)",
                               casts ? " y = Cast <to = 1> (p)" : "", " }"));
  const auto add = [&](const char* of, const Extents& extents) {
    visit_types(TypeList<float, float16, bfloat16>{}, type, [&]<class T>() {
      const Tensor<float> all = devices::numbers(extents, 3);
      Tensor<T> t(extents);
      for (int64_t k = 0; k < t.size(); ++k) t[k] = static_cast<T>(all[k]);
      m.add_initializer(of, t);
    });
  };
  add("w1", {first, middle}), add("w2", {middle, last});
  return m;
}

TEST_CASE("Sums of 16-bit floats over ranks are counted as the floats that are sent") {
  for (const DType type : {DType::float16, DType::bfloat16}) {
    CAPTURE(name_of(type));
    const Model m = two_products(type, true, 5, 8, 48, 7);
    const Session session(m.graph());
    const Value whole = session.run(feeds_of(session.graph()))["y"];
    for (int devices = 2; devices <= 4; ++devices) {
      CAPTURE(devices);
      Model sharded = m;
      const std::vector<RankCost> costs = loader::shard(sharded, {.devices = devices, .stages = 1});
      CHECK(run(sharded, whole, costs) <= 1e-2);
      int64_t sent = 0;
      for (const RankCost& c : costs) sent += c.sent;
      const int64_t input = 5 * 8 * 4 + static_cast<int64_t>(sizeof(devices::detail::InputHeader));
      CHECK(sent == (devices - 1) * (input + 2 * 5 * 7 * 4));
    }
  }
}

TEST_CASE("Sums of 16-bit floats weigh twice where tensors are cut") {
  for (const DType type : {DType::float32, DType::float16, DType::bfloat16}) {
    CAPTURE(name_of(type));
    Model m = two_products(type, false, 4, 32, 16, 16);
    loader::shard(m, {.devices = 2, .stages = 1});
    const devices::Placement placement = loader::read_placement(m.proto());
    CHECK(placement.nodes.at("p").tensors.at("w2").cuts.at(0).axis == (type == DType::float32 ? 0 : 1));
  }
}

TEST_CASE("Annotations replace those that are there, and functions become nodes") {
  Model m = attention();
  CHECK(loader::shard(m, {.devices = 2}).size() == 2);
  CHECK(m.proto().functions_size() == 0);
  CHECK(m.proto().ir_version() == 12);
  const std::string first = loader::device_extents(m.proto());
  CHECK(first.starts_with("configuration 'devices': 2 devices\n"));
  CHECK(first.find("wq float[24,24], axis 1 in 2 pieces of 6 blocks\n"
                   "    device 0: [24,12], axis 1 from 0\n"
                   "    device 1: [24,12], axis 1 from 12\n") != std::string::npos);
  loader::shard(m, {.devices = 3, .stages = 3});
  CHECK(loader::device_extents(m.proto()).find("pieces") == std::string::npos);
  loader::shard(m, {.devices = 1});
  CHECK(loader::device_extents(m.proto()) == "configuration 'devices': 1 device\n");
  loader::shard(m, {.devices = 2});
  CHECK(loader::device_extents(m.proto()) == first);
  Model joint = one_projection();
  loader::shard(joint, {.devices = 3});
  CHECK(loader::device_extents(joint.proto())
            .find("w float[24,72], axis 1 in 3 pieces of 6 blocks of each of 3 stretches\n"
                  "    device 0: [24,24], axis 1 from 0 of each of 3 stretches\n"
                  "    device 1: [24,24], axis 1 from 8 of each of 3 stretches\n") != std::string::npos);
  Model old = perceptron();
  loader::shard(old, {.devices = 2});
  CHECK(old.proto().ir_version() == 11);
}

TEST_CASE("Weights that bodies read count for the ranks that hold them") {
  Model m = model(R"(<ir_version: 8, opset_import: ["": 17]>
    g (float[2, 8] x, int64 n, bool c) => (float[2, 8] y) {
      h = MatMul (x, w1)
      p = MatMul (h, w2)
      y = Loop (n, c, p) <body = b (int64 i, bool before, float[2, 8] s) => (bool after, float[2, 8] t) {
        after = Identity (before)
        t = MatMul (s, u)
      }>
    })",
                  {{"w1", {8, 24}}, {"w2", {24, 8}}, {"u", {8, 8}}});
  const std::vector<RankCost> costs = loader::shard(m, {.devices = 2, .stages = 1});
  CHECK(costs[0].held == (8 * 24 + 8 * 8) * 4);
  CHECK(costs[1].held == 8 * 24 * 4);
}

TEST_CASE("Numbers of devices and stages that a model does not fill") {
  const auto error = [](int devices, std::optional<int> stages) {
    Model m = perceptron();
    try {
      loader::shard(m, {.devices = devices, .stages = stages});
    } catch (const Error& e) {
      return std::string(e.message());
    }
    return std::string();
  };
  for (const int devices : {INT_MIN, -1, 0, loader::most_devices + 1, INT_MAX})
    CHECK(error(devices, 1) == str_cat("a model on ", devices, " devices"));
  for (const int stages : {INT_MIN, 0, 3, INT_MAX})
    CHECK(error(2, stages) == str_cat("2 devices do not divide into ", stages, " pipeline stages"));
  CHECK(error(4, 4) == "the graph's 2 products do not fill 4 pipeline stages");
  CHECK(error(25, 1) == "the graph has no weights that can be cut into 25 pieces");
  CHECK(error(25, {}) == "the graph's 2 products do not fill 25 pipeline stages");
  CHECK(error(loader::most_devices, 1) != "");
}

TEST_CASE("What each device has") {
  onnx::ModelProto m = perceptron().proto();
  devices::Placement placement{.devices = 4, .nodes = {}};
  placement.nodes["h"].stage = 1;
  placement.nodes["h"].tensors["w1"] = {.cuts = {{0, 2}, {-1, 2, 3}}, .holders = {{0}, {1}, {2}, {3}}};
  placement.nodes["h"].tensors["x"] = {.cuts = {{0, 2}}, .holders = {{0, 3}, {1}}};
  placement.nodes["y"].tensors["y"] = {.cuts = {}, .holders = {{2}}};
  placement.nodes["y"].tensors["r"] = {.cuts = {{5, 2}}, .holders = {{2}, {1}}};
  placement.nodes["y"].tensors["w2"] = {.cuts = {{0, 2, 3, 4}}, .holders = {{2}, {1}}};
  loader::write_placement(m, placement, "four");
  CHECK(loader::device_extents(m) ==
        "configuration 'four': 4 devices\n"
        "node 'h' (MatMul), stage 1\n"
        "  w1 float[8,24], axis 0 in 2 pieces, axis -1 in 2 pieces of 3 blocks\n"
        "    device 0: [4,8], axis 0 from 0, axis 1 from 0\n"
        "    device 1: [4,16], axis 0 from 0, axis 1 from 8\n"
        "    device 2: [4,8], axis 0 from 4, axis 1 from 0\n"
        "    device 3: [4,16], axis 0 from 4, axis 1 from 8\n"
        "  x float[batch,8], axis 0 in 2 pieces\n"
        "    device 0: [batch/2,8], piece 0 of axis 0, whose bounds only the run knows\n"
        "    device 3: [batch/2,8], piece 0 of axis 0, whose bounds only the run knows\n"
        "    device 1: [batch/2,8], piece 1 of axis 0, whose bounds only the run knows\n"
        "node 'y' (MatMul)\n"
        "  r ?, axis 5 in 2 pieces\n"
        "    device 2: […], piece 0 of axis 5, whose bounds only the run knows\n"
        "    device 1: […], piece 1 of axis 5, whose bounds only the run knows\n"
        "  w2 float[24,8], axis 0 in 2 pieces of 3 blocks of each of 4 stretches\n"
        "    device 2: [8,8], axis 0 from 0 of each of 4 stretches\n"
        "    device 1: [16,8], axis 0 from 2 of each of 4 stretches\n"
        "  y float[batch,8]\n"
        "    device 2: [batch,8]\n");
  const devices::Placement again = loader::read_placement(m);
  CHECK(again.nodes.at("h").tensors.at("w1").cuts.at(1).blocks == 3);
  CHECK(again.nodes.at("y").tensors.at("w2").cuts.at(0).blocks == 3);
  CHECK(again.nodes.at("y").tensors.at("w2").cuts.at(0).stretches == 4);
  CHECK(again.nodes.at("h").tensors.at("x").holders == std::vector<devices::Ranks>{{0, 3}, {1}});
}

TEST_CASE("What each device has of the values of bodies and functions") {
  Model m = parse_text(R"(<ir_version: 12, opset_import: ["": 24, "own": 1]>
    g (float[4, 6] x, float[N, 6] z, bool c) => (float[?, 6] y, float[4, 6] a, float[N, 6] b) {
      y = If (c) <then_branch = t () => (float[?, 6] p) { p = Neg (x) },
                  else_branch = e () => (float[?, 6] q) { q = Abs (z) }>
      a = own.Twice (x)
      b = own.Twice (z)
    }
    <domain: "own", opset_import: ["": 24]>
    Twice (x) => (y) { y = Add (x, x) }
    <domain: "own", opset_import: ["": 24]>
    Unused (x) => (y) { y = Neg (x) })");
  onnx::ModelProto& proto = m.proto();
  proto.add_configuration()->set_name("two");
  proto.mutable_configuration(0)->set_num_devices(2);
  const auto annotate = [](onnx::NodeProto& n, int axis) {
    auto* c = n.add_device_configurations();
    c->set_configuration_id("two");
    auto* s = c->add_sharding_spec();
    s->set_tensor_name(n.input(0));
    s->add_device(0), s->add_device(1);
    s->add_sharded_dim()->set_axis(axis);
    s->mutable_sharded_dim(0)->add_simple_sharding()->set_num_shards(2);
  };
  auto& branches = *proto.mutable_graph()->mutable_node(0);
  annotate(*branches.mutable_attribute(0)->mutable_g()->mutable_node(0), 0);
  annotate(*branches.mutable_attribute(1)->mutable_g()->mutable_node(0), 0);
  for (auto& f : *proto.mutable_functions()) annotate(*f.mutable_node(0), 1);
  loader::infer_functions(proto);
  CHECK(loader::device_extents(proto) ==
        "configuration 'two': 2 devices\n"
        "node 'p' (Neg) in then_branch of node 'y' (If)\n"
        "  x float[4,6], axis 0 in 2 pieces\n"
        "    device 0: [2,6], axis 0 from 0\n"
        "    device 1: [2,6], axis 0 from 2\n"
        "node 'q' (Abs) in else_branch of node 'y' (If)\n"
        "  z float[N,6], axis 0 in 2 pieces\n"
        "    device 0: [N/2,6], piece 0 of axis 0, whose bounds only the run knows\n"
        "    device 1: [N/2,6], piece 1 of axis 0, whose bounds only the run knows\n"
        "node 'y' (Add) in function 'own.Twice'\n"
        "  x float[?,6], axis 1 in 2 pieces\n"
        "    device 0: [?,3], axis 1 from 0\n"
        "    device 1: [?,3], axis 1 from 3\n"
        "node 'y' (Neg) in function 'own.Unused'\n"
        "  x ?, axis 1 in 2 pieces\n"
        "    device 0: […], piece 0 of axis 1, whose bounds only the run knows\n"
        "    device 1: […], piece 1 of axis 1, whose bounds only the run knows\n");
  annotate(*branches.mutable_attribute(0)->mutable_g()->mutable_node(0), 0);
  CHECK_THROWS_AS(loader::device_extents(proto), Error);  // twice for one configuration
}

}  // namespace
}  // namespace tenon
