// Every operator at every version, with attributes and operands drawn at random, extremes among them: it
// gives what its rule said, or an Error, and each accepts some. The sanitizers' configurations see what else
// it does.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "tenon/graph/body.hpp"
#include "tenon/loader.hpp"

namespace tenon {
namespace {

/// Extents that chance does not find: a word for each operand, of letters, which stand for one extent in all
/// words, of ones, and of greater digits, which multiply the letter behind them.
constexpr struct {
  std::string_view op, extents;
} hints[] = {
    {"LSTM", "sbi 14hi 14hh 18h b 1bh 1bh 13h"},
    {"AffineGrid", "12b3b 4b"},
    {"Resize", "ac 2b 2b 2b"},
};

/// What is drawn follows from the seed alone. Two draws of three are tame: numbers are small, the first
/// operand is a cube, the others have extents in common that suit it, and most attributes are left out.
class Draw {
 public:
  explicit Draw(uint64_t seed)
      : engine_(seed), tame_(!one_in(3)), side_(of({1, 1, 2, 2, 3, 4})), rank_(static_cast<int>(below(6))) {
    const int64_t lengths[] = {1, 1, side_, side_, rank_, rank_, 2 * rank_};
    others_ = one_in(2) ? cube() : Extents{of(lengths)};
  }
  bool tame() const { return tame_; }

  int64_t below(int64_t n) { return static_cast<int64_t>(engine_() % static_cast<uint64_t>(n)); }
  bool one_in(int64_t n) { return below(n) == 0; }
  template <class T, std::size_t N>
  T of(const T (&list)[N]) {
    return list[below(N)];
  }

  int64_t integer() {
    if (tame_) return of({0, 0, 1, 1, 1, 1, 2, -1});
    static constexpr int64_t near[] = {0, 0, 1, 1, 1, 2, 2, 3, 4, 5, -1, -1, -2, -3, -4, 7, 8, 16, -100};
    static constexpr int64_t far[] = {
        1000000,         INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, INT64_MIN + 1, int64_t{1} << 32 | 1,
        int64_t{1} << 40};
    return one_in(4) ? of(far) : of(near);
  }
  float real() {
    static constexpr float list[] = {0,     -0.0f,  1,        -1,        0.5f, 3,     -7.25f,
                                     1e30f, -1e30f, INFINITY, -INFINITY, NAN,  1e-40f};
    return of(list);
  }
  std::string text() {
    static constexpr const char* list[] = {
        "",        "NOTSET",  "SAME_UPPER", "VALID",         "constant",
        "reflect", "wrap",    "none",       "tanh",          "add",
        "max",     "DCR",     "CRD",        "forward",       "reverse",
        "up",      "nearest", "INT64",      "bidirectional", "Tanh",
        "Affine",  "-3",      "1.5",        "nan",           "a text that is too long to lie in its object"};
    return of(list);
  }
  Extents extents() {
    static constexpr int64_t list[] = {0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 8};
    Extents e;
    for (int64_t rank = below(6); rank > 0; --rank) e.push_back(of(list));
    return e;
  }
  DType type(uint32_t mask) {
    DType d = DType::undefined;
    while (!(mask >> static_cast<int>(d) & 1)) d = static_cast<DType>(1 + below(dtype_count - 1));
    return d;
  }
  /// Extents of operand k.
  Extents extents(std::string_view op, int64_t k) {
    if (!tame_ || one_in(8)) return extents();
    for (const auto& hint : hints)
      if (hint.op == op) return hinted(hint.extents, k);
    return k == 0 ? cube() : one_in(4) ? Extents() : others_;
  }
  std::vector<int64_t> list() {
    const int spatial = std::max(0, rank_ - 2);
    std::vector<int64_t> numbers(
        static_cast<std::size_t>(tame_ ? of({1, rank_, spatial, 2 * spatial}) : below(one_in(20) ? 40 : 5)));
    for (int64_t& n : numbers) n = integer();
    if (tame_ && one_in(2)) std::fill(numbers.begin(), numbers.end(), 1);
    return numbers;
  }
  AnyTensor tensor(DType d, const Extents& extents) {
    AnyTensor t = AnyTensor::uninitialized(d, extents);
    for (int64_t k = 0; k < t.size(); ++k) {
      if (d == DType::string) static_cast<std::string*>(t.data())[k] = text();
      else if (d == DType::bool_) static_cast<bool*>(t.data())[k] = one_in(2);
      else if (d == DType::int64) static_cast<int64_t*>(t.data())[k] = integer();
      else if (d == DType::int32) static_cast<int32_t*>(t.data())[k] = static_cast<int32_t>(integer());
      else if (d == DType::float32) static_cast<float*>(t.data())[k] = real();
    }
    const bool other = d != DType::string && d != DType::bool_ && d != DType::int64 && d != DType::int32 &&
                       d != DType::float32;
    for (int64_t k = 0; other && k < t.bytes(); ++k)
      static_cast<unsigned char*>(t.data())[k] = static_cast<unsigned char>(below(256));
    return t;
  }
  /// A value of a type in the set: of element type `usual` if it is a tensor that may have it.
  Value value(const TypeSet& set, DType usual, const Extents& extents) {
    if (set.tensor && (!one_in(4) || !(set.sequence | set.optional)))
      return tensor(set.contains(usual) ? usual : type(set.tensor), extents);
    if (set.sequence && (one_in(2) || !set.optional)) {
      Sequence s{type(set.sequence), {}};
      for (int64_t n = below(4); n > 0; --n) s.items.push_back(tensor(s.element.element, this->extents()));
      return s;
    }
    if (!set.optional) return {};
    const DType d = type(set.optional);
    return OptionalValue{d, one_in(3) ? nullptr : std::make_shared<const Value>(tensor(d, extents))};
  }
  op::AttributeValue attribute(const op::AttributeInfo& a) {
    std::vector<std::string> texts;
    switch (a.type) {
      case op::AttributeType::integer:
        return a.name.ends_with("dtype") || a.name == "to" ? below(28) : integer();
      case op::AttributeType::real: return real();
      case op::AttributeType::string: return text();
      case op::AttributeType::integers: return list();
      case op::AttributeType::reals: return std::vector<float>{real(), real()};
      case op::AttributeType::strings:
        for (int64_t n = below(7); n > 0; --n) texts.push_back(text());
        return texts;
      case op::AttributeType::tensor: return Value(tensor(type(~uint32_t{1}), extents()));
      default: return {};
    }
  }

 private:
  Extents cube() const { return Extents::filled(rank_, side_); }
  Extents hinted(std::string_view words, int64_t k) const {
    for (; k > 0 && !words.empty(); --k) words.remove_prefix(std::min(words.find(' '), words.size() - 1) + 1);
    Extents e;
    int64_t factor = 1;
    for (char c : words.substr(0, words.find(' '))) {
      if (c == '1') e.push_back(1);
      else if (c >= '0' && c <= '9') factor = c - '0';
      else e.push_back(std::exchange(factor, 1) * (1 + (side_ + c) % 3));
    }
    return e;
  }

  std::mt19937_64 engine_;
  bool tame_;
  int64_t side_;
  int rank_;
  Extents others_;
};

/// Memory for results of moderate size.
class Moderate final : public Allocator {
 public:
  void* allocate(std::size_t bytes, std::size_t alignment) override {
    return bytes > std::size_t{1} << 24 ? nullptr : default_allocator().allocate(bytes, alignment);
  }
  void deallocate(void* memory, std::size_t bytes, std::size_t alignment) noexcept override {
    default_allocator().deallocate(memory, bytes, alignment);
  }
};

/// A body that gives up in the end, for loops that have none.
class Limited final : public CapturingBody {
 public:
  explicit Limited(std::shared_ptr<const CapturingBody> body) : body_(std::move(body)) {}
  int inputs() const override { return body_->inputs(); }
  int outputs() const override { return body_->outputs(); }
  std::vector<op::Info> infer(std::span<const op::Info> in) const override { return body_->infer(in); }
  const Graph& graph() const override { return body_->graph(); }
  std::vector<ValueId> outer_values() const override { return body_->outer_values(); }
  std::shared_ptr<const CapturingBody> moved(Graph& outer, std::span<const ValueId> here) const override {
    return std::make_shared<const Limited>(body_->moved(outer, here));
  }
  std::shared_ptr<const CapturingBody> compiled(const ProgramScope& scope,
                                                const ProgramOptions& options) const override {
    return std::make_shared<const Limited>(body_->compiled(scope, options));
  }
  std::vector<Value> run(op::Context& scope, std::span<const Value> in) const override {
    if (++runs_ > 20) throw Error(ErrorCode::not_supported, "body", "too many runs");
    return body_->run(scope, in);
  }

 private:
  std::shared_ptr<const CapturingBody> body_;
  mutable int runs_ = 0;
};

/// A few nodes over the inputs, a constant, and values of the graph around. Result k is input k + skip half
/// of the time.
op::BodyRef draw_body(Draw& draw, Graph& outer, std::span<const Value> inputs, int results, int skip) {
  Graph g = Graph::inside(outer);
  std::vector<ValueId> values;
  for (std::size_t k = 0; k < inputs.size(); ++k)
    values.push_back(
        g.add_input(concat("in", k), draw.one_in(2) ? Type(Kind::unknown, {}) : inputs[k].type(), {}));
  values.push_back(g.add_constant({}, draw.tensor(draw.type(types::all.tensor), draw.extents({}, 1))));
  for (const ValueId v : outer.inputs())
    if (draw.one_in(2)) values.push_back(g.capture(v));
  const auto any = [&] {
    return values[static_cast<std::size_t>(draw.below(static_cast<int64_t>(values.size())))];
  };
  for (int64_t n = draw.below(5); n > 0; --n) {
    static constexpr std::string_view names[] = {"Identity", "Add", "Mul", "Neg", "Not", "Less", "Shape"};
    const auto [c, version] = standard_registry().find("", draw.of(names), 25);
    std::vector<ValueId> in(static_cast<std::size_t>(c->spec->inputs.size()));
    std::generate(in.begin(), in.end(), any);
    try {
      values.push_back(g.add_node({}, make_operator(*c, version, {}), in, std::vector<std::string>(1))[0]);
    } catch (const Error&) {  // a node that its operands do not suit
    }
  }
  for (int k = 0; k < results; ++k) {
    const bool through = k + skip < static_cast<int>(inputs.size()) && draw.one_in(2);
    g.add_output(concat("out", k), through ? g.inputs()[static_cast<std::size_t>(k + skip)] : any());
  }
  return {std::make_shared<const Limited>(std::make_shared<const GraphBody>(std::move(g)))};
}

std::vector<Value> draw_operands(Draw& draw, const op::Spec& spec, int version) {
  DType usual[5]{};
  for (int v = 0; v < spec.types.size(); ++v)
    if (const uint32_t mask = spec.types[v].at(version).tensor; mask != 0) usual[v] = draw.type(mask);
  const bool brief = draw.tame() && draw.one_in(2);  // optional operands are left out
  std::vector<Value> in;
  for (int64_t k = 0, n = spec.inputs.size() + (spec.variadic_inputs() ? draw.below(4) - 1 : 0); k < n; ++k) {
    const op::Param& p = spec.input(static_cast<int>(k), version);
    if (!p.in(version)) continue;
    if (p.arity == op::Arity::optional && (brief || draw.one_in(3))) {
      in.emplace_back();
      continue;
    }
    const int v = spec.variable(p.type);
    in.push_back(draw.value(spec.permits(p, version), v < 0 ? DType::undefined : usual[v],
                            draw.extents(spec.name, k)));
  }
  return in;
}

int draw_results(Draw& draw, const op::Spec& spec) {
  return static_cast<int>(1 + draw.below(spec.variadic_outputs() ? 4 : spec.outputs.size()));
}

/// The operator with attributes; body() draws those that are graphs.
template <class Body>
AnyOperator draw_operator(Draw& draw, const OperatorClass& c, int version, Body body) {
  std::vector<std::pair<std::string, op::AttributeValue>> attributes;
  for (const op::AttributeInfo& a : c.attributes(c.create(version).get())) {
    if (!a.in(version) || (!a.required && !draw.one_in(draw.tame() ? 4 : 2))) continue;
    op::AttributeValue v = a.type == op::AttributeType::graph ? body() : draw.attribute(a);
    if (v.index() != 0) attributes.emplace_back(a.name, std::move(v));
  }
  return make_operator(c, version, attributes);
}

/// Draws everything for one use of an operator, and evaluates it. Error where it refuses.
void use(Draw& draw, const OperatorClass& c, int version, Allocator& memory) {
  const AnyOperator any = draw_operator(draw, c, version, [] { return op::AttributeValue(); });
  const std::vector<Value> in = draw_operands(draw, *c.spec, version);
  std::vector<const Value*> operands;
  for (const Value& v : in) operands.push_back(&v);
  op::Context context(memory);
  op::evaluate(any, context, operands, static_cast<std::size_t>(draw_results(draw, *c.spec)));
}

/// The same in a session: for operators with bodies, which may capture its values, and for old versions,
/// which the graph brings into the newest form.
void use_in_session(Draw& draw, const OperatorClass& c, int version, Allocator& memory) {
  const op::Spec& spec = *c.spec;
  const std::vector<Value> in = draw_operands(draw, spec, version);
  const int results = draw_results(draw, spec);
  Graph g;
  Feeds feeds;
  std::vector<ValueId> ids;
  for (const Value& v : in) {
    static constexpr std::string_view names[] = {"0", "1", "2", "3", "4",  "5",
                                                 "6", "7", "8", "9", "10", "11"};
    const std::string_view name = names[ids.size()];
    const Dims dims = v.is_tensor() && draw.one_in(2) ? Dims(v.tensor().extents()) : Dims();
    const bool constant = draw.one_in(4);
    ids.push_back(!v         ? -1
                  : constant ? g.add_constant({}, v)
                             : g.add_input(std::string(name), v.type(), dims));
    if (v && !constant) feeds.emplace_back(name, v);
  }
  // A body of Loop takes all operands and gives the condition first; one of Scan takes the variadic ones, one
  // of If none.
  const bool loop = spec.name == "Loop";
  const std::size_t first = loop                ? 0
                            : spec.name == "If" ? 1
                                                : static_cast<std::size_t>(spec.inputs.size()) - 1;
  const std::span<const Value> taken = std::span(in).subspan(std::min(first, in.size()));
  const AnyOperator any = draw_operator(
      draw, c, version, [&] { return op::AttributeValue(draw_body(draw, g, taken, results + loop, loop)); });
  const std::vector<std::string> names(static_cast<std::size_t>(results));
  for (const ValueId v : g.add_node({}, any, ids, names)) g.add_output(concat("result", v), v);
  Session(std::move(g), {.allocator = &memory}).run(feeds);
}

}  // namespace

TEST_CASE("Operators on random operands") {
  constexpr int wanted = 20, least = 100, most = 10000;  // accepted uses of each version, and uses in all
  Moderate memory;
  for (const auto& [key, versions] : standard_registry().operators())
    for (const auto& [version, c] : versions) {
      CAPTURE(key.second);
      CAPTURE(version);
      const auto attributes = c->attributes(c->create(version).get());
      const bool bodies = std::any_of(attributes.begin(), attributes.end(), [](const op::AttributeInfo& a) {
        return a.type == op::AttributeType::graph;
      });
      int accepted = 0;
      for (int seed = 1; seed <= least || (accepted < wanted && seed <= most); ++seed) {
        CAPTURE(seed);
        Draw draw(static_cast<uint64_t>(seed) << 32 | static_cast<uint64_t>(version));
        try {
          (bodies || version != c->spec->latest() ? use_in_session : use)(draw, *c, version, memory);
          ++accepted;
        } catch (const Error& e) {
          CHECK_MESSAGE(std::string_view(e.what()).find("not what its rule said") == std::string_view::npos,
                        e.what());
        }
      }
      CHECK(accepted >= wanted);
    }
}
}  // namespace tenon
