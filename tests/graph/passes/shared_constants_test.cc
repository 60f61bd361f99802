// Programs of a session hold equal packed matrices once.
#include "tenon/graph/shared_constants.hpp"

#include <functional>
#include <map>
#include <set>

#include "tenon/base/thread_pool.hpp"
#include "tenon/graph/passes.hpp"
#include "tests/graph/passes/check.hpp"

namespace tenon::passes {
namespace {

using test::floats;
using test::node;

AnyTensor bytes_of(DType type, const Extents& extents, uint32_t seed) {
  AnyTensor t = AnyTensor::uninitialized(type, extents);
  auto* to = static_cast<uint8_t*>(t.out().data());
  for (int64_t k = 0; k < t.bytes(); ++k) {
    seed = seed * 1664525 + 1013904223;
    to[k] = static_cast<uint8_t>(seed >> 24);
  }
  return t;
}

// x (N, 32) times a matrix (32, 48) of integers.
struct Integers {
  AnyTensor codes = bytes_of(DType::uint4, {48, 32}, 1);
  AnyTensor scale = floats<float>({48, 2}, 2);
  AnyTensor zero = bytes_of(DType::uint4, {48, 2}, 3);
  bool transposed = true;

  Graph graph() const {
    Graph g;
    const ValueId x = g.add_input("x", DType::float32, {g.symbol("N"), transposed ? 32 : 48});
    ValueId w = node(g, op::DequantizeLinear{.axis = 1, .block_size = 16},
                     {g.add_constant({}, codes), g.add_constant({}, scale), g.add_constant({}, zero)});
    if (transposed) w = node(g, op::Transpose{.perm = {1, 0}}, {w});
    g.add_output("y", node(g, op::MatMul{}, {x, w}));
    return g;
  }
};

Graph product(AnyTensor b) {
  Graph g;
  const ValueId x = g.add_input("x", b.dtype(), {g.symbol("N"), b.extents()[0]});
  g.add_output("y", node(g, op::MatMul{}, {x, g.add_constant({}, std::move(b))}));
  return g;
}

// x (N, 30) of bytes times a matrix of bytes.
Graph byte_product(const AnyTensor& b, const AnyTensor& zero) {
  Graph g;
  const ValueId x = g.add_input("x", DType::uint8, {g.symbol("N"), b.extents()[0]});
  g.add_output("y", node(g, op::MatMulInteger{}, {x, g.add_constant({}, b), -1, g.add_constant({}, zero)}));
  return g;
}

Program compiled(const Graph& g, SharedConstants* shared,
                 std::vector<Pass> passes = {pack_narrow, pack_matmul, pack_quantized}) {
  ProgramOptions options;
  options.passes = passes, options.shared = shared;
  return Program(g, {g.outputs()[0].second}, {}, options);
}

const void* matrix_of(const Program& p) {
  const AnyOperator& op = p.nodes()[0].op;
  if (const auto* file = op.as<FileMatMul>()) return file->file.get();
  if (const auto* bytes = op.as<PackedMatMulInteger>()) return bytes->b.data();
  const auto* packed = op.as<PackedMatMul>();
  REQUIRE(packed != nullptr);
  CHECK(packed->b_row == 0);
  return packed->b.data();
}

TEST_CASE("shared constants: programs with equal constants have one packed matrix") {
  const AnyTensor large = floats<float>({300, 300}, 1);
  const auto in_file = [&] {
    return AnyTensor(DType::float32, {300, 300},
                     Storage::keep(large.data(), static_cast<std::size_t>(large.bytes()),
                                   FilePart(nullptr, large.data(), static_cast<std::size_t>(large.bytes()))));
  };
  struct Case {
    const char* name;
    std::function<Graph()> make;
  };
  const Case cases[] = {
      {"integers", [] { return Integers().graph(); }},
      {"halves", [] { return product(floats<float16>({30, 20}, 1)); }},
      {"floats", [] { return product(floats<float>({30, 20}, 1)); }},
      {"floats in a file", [&] { return product(in_file()); }},
      {"bytes",
       [] { return byte_product(bytes_of(DType::int8, {30, 20}, 1), bytes_of(DType::int8, {20}, 2)); }}};
  for (const Case& c : cases) {
    CAPTURE(c.name);
    SharedConstants shared, other;
    const Program a = compiled(c.make(), &shared), b = compiled(c.make(), &shared),
                  of_other = compiled(c.make(), &other), alone = compiled(c.make(), nullptr);
    CHECK(matrix_of(a) == matrix_of(b));
    CHECK(matrix_of(a) != matrix_of(of_other));
    CHECK(matrix_of(a) != matrix_of(alone));
  }
}

TEST_CASE(
    "shared constants: programs with equal weights of convolutions and recurrent layers have them once") {
  const auto net = [](const auto& op, DType type, const Dims& x, const AnyTensor& w, int seed = 2) {
    Graph g;
    std::vector<ValueId> in{g.add_input("x", type, x), g.add_constant({}, w)};
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(op)>, op::GRU>) {
      in.push_back(g.add_constant({}, floats<float>({1, 12, 4}, seed)));
    } else if (type == DType::uint8) {
      const ValueId scale = g.add_constant({}, Tensor<float>({}, {0.01f})),
                    zero = g.add_constant({}, Tensor<uint8_t>({}, {100}));
      in = {in[0], scale, zero, in[1], scale, g.add_constant({}, Tensor<int8_t>({}, {0})), scale, zero};
    }
    g.add_output("y", node(g, op, in));
    return g;
  };
  const auto conv = [&](int seed) {
    return net(op::Conv{}, DType::float32, {1, 16, 9, 9}, floats<float>({16, 16, 3, 3}, seed));
  };
  const auto bytes = [&](int seed) {
    return net(op::QLinearConv{}, DType::uint8, {1, 16, 9, 9},
               bytes_of(DType::int8, {16, 16, 3, 3}, static_cast<uint32_t>(seed)));
  };
  struct Case {
    const char* name;
    std::function<Graph(int)> make;
    std::vector<Pass> passes;
  };
  const Case cases[] = {{"packed", conv, {fuse_convolution, pack_convolution}},
                        {"blocked", conv, {fuse_convolution, allow_winograd, block_channels}},
                        {"transposed",
                         [&](int seed) {
                           return net(op::ConvTranspose{.strides = {2, 2}}, DType::float32, {1, 16, 9, 9},
                                      floats<float>({16, 16, 3, 3}, seed));
                         },
                         {pack_convolution}},
                        {"bytes", bytes, {fuse_qdq, pack_quantized}},
                        {"bytes with channels last", bytes, {fuse_qdq, channels_last, pack_quantized}},
                        {"recurrent",
                         [&](int seed) {
                           return net(op::GRU{.hidden_size = 4}, DType::float32, {9, 2, 8},
                                      floats<float>({1, 12, 8}, seed));
                         },
                         {pack_recurrent}}};
  const auto weights_of = [](const Program& p) -> const void* {
    for (const Graph::Node& n : p.nodes()) {
      if (const auto* packed = n.op.as<PackedConv>()) return packed->weights.data();
      if (const auto* blocked = n.op.as<BlockedConv>()) return blocked->weights.data();
      if (const auto* transposed = n.op.as<PackedConvTranspose>()) return transposed->weights.data();
      if (const auto* quantized = n.op.as<QuantizedConv>()) return quantized->weights.data();
      if (const auto* last = n.op.as<LastConv>()) return last->weights.data();
      if (const auto* recurrent = n.op.as<PackedRecurrent<op::GRU>>()) return recurrent->w.data();
    }
    return nullptr;
  };
  for (const Case& c : cases) {
    CAPTURE(c.name);
    SharedConstants shared;
    const Program a = compiled(c.make(1), &shared, c.passes), b = compiled(c.make(1), &shared, c.passes),
                  other = compiled(c.make(3), &shared, c.passes),
                  alone = compiled(c.make(1), nullptr, c.passes);
    REQUIRE(weights_of(a) != nullptr);
    CHECK(weights_of(a) == weights_of(b));
    CHECK(weights_of(a) != weights_of(other));
    CHECK(weights_of(a) != weights_of(alone));
  }
}

TEST_CASE("shared constants: they live as long as a program") {
  SharedConstants shared;
  std::weak_ptr<int> held;
  const auto get = [&](int number) {
    return shared.get<int>(ConstantKey("number"), [&] { return std::make_shared<int>(number); });
  };
  {
    const auto a = get(1), b = get(2);
    CHECK(a == b);
    CHECK(*b == 1);
    held = a;
  }
  CHECK(held.expired());
  CHECK(*get(3) == 3);
}

TEST_CASE("shared constants: matrices that differ in anything are packed apart") {
  SharedConstants shared;
  std::vector<Program> programs;
  const auto change = [](AnyTensor& t, int64_t at) {
    t = t.clone();
    static_cast<uint8_t*>(t.out().data())[at] ^= 0x10;
  };
  Integers same[7];
  change(same[1].codes, 0);
  change(same[2].codes, same[2].codes.bytes() - 1);
  change(same[3].scale, 2);
  change(same[4].zero, 5);
  same[5].codes = AnyTensor(DType::int4, {48, 32}, same[0].codes.storage());
  same[5].zero = AnyTensor(DType::int4, {48, 2}, same[0].zero.storage());
  same[6].transposed = false;
  std::set<const void*> matrices;
  for (const Integers& i : same) {
    programs.push_back(compiled(i.graph(), &shared));
    matrices.insert(matrix_of(programs.back()));
  }
  CHECK(matrices.size() == std::size(same));

  std::vector<Graph> of_bytes;
  const AnyTensor b = bytes_of(DType::int8, {30, 20}, 1), zero = bytes_of(DType::int8, {20}, 2);
  AnyTensor other = b, zeros = zero;
  change(other, 599), change(zeros, 19);
  of_bytes.push_back(byte_product(b, zero));
  of_bytes.push_back(byte_product(other, zero));
  of_bytes.push_back(byte_product(b, zeros));
  of_bytes.push_back(byte_product(b, AnyTensor(DType::int8, {}, zero.storage())));
  of_bytes.push_back(byte_product(AnyTensor(DType::int8, {20, 30}, b.storage()),
                                  AnyTensor(DType::int8, {}, zero.storage())));
  of_bytes.push_back(byte_product(AnyTensor(DType::uint8, {30, 20}, b.storage()),
                                  AnyTensor(DType::uint8, {20}, zero.storage())));
  for (const Graph& g : of_bytes) {
    programs.push_back(compiled(g, &shared));
    matrices.insert(matrix_of(programs.back()));
  }
  CHECK(matrices.size() == std::size(same) + of_bytes.size());
}

TEST_CASE("ConstantKey: contents that differ in a bit or in their length") {
  std::set<std::string> keys;
  std::vector<uint8_t> bytes(200);
  const auto add = [&](const void* data, std::size_t size) {
    keys.insert(ConstantKey("k").add_content(data, size).text());
  };
  add(nullptr, 0);
  std::size_t count = 1;
  for (std::size_t n = 0; n <= bytes.size(); ++n, ++count) add(bytes.data(), n);
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit, ++count) {
    bytes[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    add(bytes.data(), bytes.size());
    bytes[bit / 8] = 0;
  }
  std::vector<uint8_t> large(5 << 20);
  for (const std::size_t at : {std::size_t{0}, std::size_t{1} << 20, large.size() - 1}) {
    large[at] = 1;
    add(large.data(), large.size());
    large[at] = 0, ++count;
  }
  CHECK(keys.size() == count);
}

// Returns what a function makes of what was added.
struct Store final : PackedStore {
  std::function<void(Parts&)> change = [](Parts&) {};
  std::map<std::string, Parts> objects{};
  int added = 0;
  bool finished = false;

  Parts find(std::string_view key) override {
    const auto at = objects.find(std::string(key));
    if (at == objects.end()) return {};
    Parts parts = at->second;
    change(parts);
    return parts;
  }
  void add(std::string_view key, Parts parts) override {
    objects[std::string(key)] = std::move(parts);
    ++added;
  }
  void finish() override { finished = true; }
};

Storage changed(const Storage& from, std::size_t at) {
  Storage copy = Storage::allocate(from.size_bytes());
  std::memcpy(copy.as<void>(), from.data(), from.size_bytes());
  copy.as<uint8_t>()[at] ^= 1;
  return copy;
}

TEST_CASE("packed store: a session finds what another one has packed") {
  const auto store = std::make_shared<Store>();
  const SessionOptions options{.passes = std::vector<Pass>{pack_narrow, pack_matmul}, .packed = store};
  const Session first(Integers().graph(), options);
  CHECK(store->added == 1);
  CHECK(store->finished);
  const Session second(Integers().graph(), options);
  CHECK(store->added == 1);
  CHECK(matrix_of(second.program()) == store->objects.begin()->second[0].data());
  const AnyTensor x = floats<float>({3, 32}, 4);
  CHECK(tenon::test::same(first.run({{"x", x}})["y"], second.run({{"x", x}})["y"]));
  Integers other;
  other.scale = floats<float>({48, 2}, 5);
  const Session third(other.graph(), options);
  CHECK(store->added == 2);
}

TEST_CASE("packed store: parts that are not the matrix's are packed again") {
  using Parts = PackedStore::Parts;
  const std::function<void(Parts&)> changes[] = {
      [](Parts& p) { p = {}; },
      [](Parts& p) { p[0] = {}; },
      [](Parts& p) { p[1] = {}; },
      [](Parts& p) { p[0] = p[0].slice(0, p[0].size_bytes() - 1); },
      [](Parts& p) { p[1] = p[1].slice(0, p[1].size_bytes() - 1); },
      [](Parts& p) { p[0] = Storage::allocate(p[0].size_bytes() + 64); },
      [](Parts& p) { p[0] = changed(p[0], 0); },
      [](Parts& p) { p[0] = changed(p[0], p[0].size_bytes() - 1); },
      [](Parts& p) { p[1] = changed(p[1], 3); },
      [](Parts& p) { std::swap(p[0], p[1]); }};
  const AnyTensor x = floats<float>({3, 32}, 4);
  const auto run = [&](const std::shared_ptr<Store>& store) {
    return Session(Integers().graph(),
                   {.passes = std::vector<Pass>{pack_narrow, pack_matmul}, .packed = store})
        .run({{"x", x}})["y"];
  };
  const Value want = run(nullptr);
  for (const auto& change : changes) {
    const auto store = std::make_shared<Store>();
    CHECK(tenon::test::same(run(store), want));
    store->change = change;
    CHECK(tenon::test::same(run(store), want));
    CHECK(store->added == 2);
  }
}

TEST_CASE("packed_narrow: many threads pack what one call packs") {
  ThreadPool pool(3);
  const ScopedPool use(&pool);
  struct Case {
    DType type;
    int64_t k, n, block;
    bool transposed, zeros;
  };
  for (const Case& c :
       {Case{DType::uint4, 4096, 200, 32, true, true}, Case{DType::uint4, 4096, 128, 32, true, false},
        Case{DType::int4, 2048, 130, 2048, true, true}, Case{DType::uint2, 4096, 65, 64, true, true},
        Case{DType::int8, 1030, 200, 1030, true, false}, Case{DType::uint8, 512, 63, 32, true, true},
        Case{DType::uint4, 512, 200, 32, false, true}, Case{DType::float16, 512, 200, 0, true, false},
        Case{DType::bfloat16, 512, 200, 0, false, false}}) {
    CAPTURE(name_of(c.type));
    CAPTURE(c.n);
    const bool integers = c.block > 0;
    const int64_t blocks = integers ? (c.k - 1) / c.block + 1 : 0;
    const AnyTensor codes = bytes_of(c.type, {c.n, c.k}, 1), scale = floats<float>({c.n, blocks}, 2),
                    zero = bytes_of(c.type, {c.n, blocks}, 3);
    kernels::NarrowSource s{
        .type = c.type, .k = c.k, .n = c.n, .codes = codes.data(), .transposed = c.transposed};
    if (integers) {
      s.block = c.block, s.scale = static_cast<const float*>(scale.data());
      s.scale_row = c.transposed ? 1 : c.n, s.scale_col = c.transposed ? blocks : 1;
      if (c.zeros) s.zero = zero.data();
    }
    const kernels::NarrowSize size = kernels::narrow_size(s);
    Storage data = Storage::make<std::byte>(size.data), zeros = Storage::make<uint8_t>(size.zeros);
    std::memset(data.as<void>(), 0, data.size_bytes());
    const kernels::NarrowMatrix want = kernels::narrow_pack(s, data.as<std::byte>(), zeros.as<uint8_t>());
    const auto got = detail::packed_narrow(s);
    REQUIRE(got->b.size_bytes() == data.size_bytes());
    CHECK(std::memcmp(got->b.data(), data.data(), data.size_bytes()) == 0);
    CHECK((got->narrow.zeros != nullptr) == (want.zeros != nullptr));
    CHECK((got->narrow.type == want.type && got->narrow.k == want.k && got->narrow.n == want.n &&
           got->narrow.block == want.block));
    if (want.zeros != nullptr) CHECK(std::memcmp(got->zeros.data(), zeros.data(), zeros.size_bytes()) == 0);
  }
}

}  // namespace
}  // namespace tenon::passes
