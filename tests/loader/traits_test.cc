// What operators state of themselves for passes and tools, held to random operands: a specification that says
// anything wrong fails.
#include <doctest/doctest.h>

#include <set>

#include "tests/graph/build.hpp"
#include "tests/loader/draw_recorded.hpp"

namespace tenon::test {
namespace {

/// A use of an operator that it accepts.
struct Accepted {
  AnyOperator op;
  std::vector<Value> in, out;

  static std::vector<Value> evaluate(const AnyOperator& op, const std::vector<Value>& in,
                                     std::size_t results) {
    static Moderate memory;
    std::vector<const Value*> operands;
    for (const Value& v : in) operands.push_back(&v);
    op::Context context(memory);
    return op::evaluate(op, context, operands, results);
  }
  std::vector<Value> with(const std::vector<Value>& operands) const {
    return evaluate(op, operands, out.size());
  }
  /// The operands that are members of the first parameter.
  std::size_t first_inputs() const {
    return op.spec().input(0).arity == op::Arity::variadic ? in.size() : std::min<std::size_t>(1, in.size());
  }
  std::size_t first_outputs() const {
    return op.spec().output(0).arity == op::Arity::variadic ? out.size() : 1;
  }
};

DrawnUse draw_use(Draw& draw, const OperatorClass& c, WantedType& any) {
  const int version = c.spec->latest();
  if (!uses_of(c).empty()) return draw_varied(draw, c, version, uses_of(c), any);
  AnyOperator op = draw_operator(draw, c, version, any, [] { return op::AttributeValue(); });
  std::vector<Value> in = draw_operands(draw, *c.spec, version, any);
  return {std::move(op), std::move(in), draw_results(draw, *c.spec)};
}

/// Calls f(use) for accepted uses of the newest version of a struct until it has returned true as often as is
/// wanted. The number of times that it has.
template <class F>
int for_uses(const OperatorClass& c, F f) {
  constexpr int wanted = 20;
  constexpr uint64_t most = 20000;
  int met = 0;
  for (uint64_t seed = 1; met < wanted && seed <= most; ++seed) {
    Draw draw(seed_of(seed, c.spec->latest()));
    WantedType any;
    Accepted use;
    try {
      DrawnUse drawn = draw_use(draw, c, any);
      use.out = drawn.evaluate();
      use.op = std::move(drawn.op), use.in = std::move(drawn.in);
    } catch (const Error&) {
      continue;
    }
    CAPTURE(seed);
    met += f(use, draw);
  }
  return met;
}

/// Calls f(class) for each operator struct of the registry.
template <class F>
void for_each_class(F f) {
  std::set<const OperatorClass*> seen;
  for (const auto& [key, versions] : every_operator().operators())
    for (const auto& [version, c] : versions)
      if (runs_alone(key) && seen.insert(c).second) {
        const std::string name = str_cat(key.first, key.first.empty() ? "" : ".", key.second, "-", version);
        CAPTURE(name);
        f(*c);
      }
}

// --- elements at the same place ---

bool has_whole_bytes(const Value& v) {
  return !v || (v.is_tensor() && v.tensor().dtype() != DType::string && bits_of(v.tensor().dtype()) >= 8);
}
AnyTensor element(const AnyTensor& t, int64_t k, int rank) {
  AnyTensor one = AnyTensor::uninitialized(t.dtype(), Extents::filled(rank, 1));
  const auto size = static_cast<std::size_t>(bits_of(t.dtype()) / 8);
  std::memcpy(one.out().data(), static_cast<const std::byte*>(t.data()) + static_cast<std::size_t>(k) * size,
              size);
  return one;
}
/// Where element k of a result comes from in an operand that is broadcast to it.
int64_t place_in(const Extents& x, const Extents& y, int64_t k) {
  int64_t place = 0, step = 1;
  for (int d = y.size(), e = x.size(); d-- > 0; k /= y[d])
    if (e-- > 0) place += x[e] == 1 ? 0 : k % y[d] * step, step *= x[e];
  return place;
}

/// Whether a use says anything of a claim that results depend on the elements at their places alone.
bool check_places(const Accepted& use, Draw& draw, bool function) {
  if (!std::ranges::all_of(use.in, has_whole_bytes) || !has_whole_bytes(use.out[0])) return false;
  const AnyTensor& y = use.out[0].tensor();
  const Extents extents(y.extents());
  Dims broadcast(use.in[0].tensor().extents());
  for (std::size_t k = 1; k < use.in.size() && !function; ++k) {
    if (!use.in[k]) continue;
    const Extents x(use.in[k].tensor().extents());
    while (broadcast.rank() < x.size()) broadcast.insert(0, Dim(1));
    for (int d = x.size(), e = broadcast.rank(); d-- > 0;)
      if (--e; broadcast[e].is(1)) broadcast[e] = x[d];
  }
  CHECK(broadcast.extents() == extents);
  if (y.size() < 2) return false;
  for (int tries = 0; tries < 3; ++tries) {
    const int64_t k = draw.below(y.size());
    std::vector<Value> in = use.in;
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (!in[i] || (function && i > 0)) continue;
      const Extents x(in[i].tensor().extents());
      in[i] = element(in[i].tensor(), place_in(x, extents, k), x.size());
    }
    const std::vector<Value> one = use.with(in);
    CHECK(same(one[0], element(y, k, one[0].tensor().rank())));
  }
  return true;
}

TEST_CASE("functions and arithmetic read the elements at the same place") {
  for_each_class([](const OperatorClass& c) {
    const op::Elements e = c.spec->elements;
    if (e != op::Elements::function && e != op::Elements::arithmetic) return;
    CHECK((c.planned || c.is_function));
    CHECK(c.spec->deterministic);
    CHECK(c.spec->memory == op::Memory::elementwise);
    CHECK(for_uses(c, [&](const Accepted& use, Draw& draw) {
            return check_places(use, draw, e == op::Elements::function);
          }) >= 10);
  });
}

// --- elements that are moved ---

/// Numbers that grow with their rank, in two ways, and are exact in every type of numbers.
constexpr int64_t most_elements = 50;
int64_t grown(int64_t rank, int way) { return way == 0 ? 2 * rank + 5 : rank + 60; }

using Numbers = TypeList<float, double, float16, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t,
                         uint32_t, uint64_t>;

/// The results' numbers if the elements of rank r replace the first operands' elements.
std::optional<std::vector<int64_t>> moved(const Accepted& use, std::span<const int64_t> ranks, int way) {
  std::vector<Value> in = use.in;
  std::size_t at = 0;
  for (std::size_t k = 0; k < use.first_inputs(); ++k) {
    AnyTensor t = AnyTensor::uninitialized(in[k].tensor().dtype(), Extents(in[k].tensor().extents()));
    std::vector<int64_t> numbers;
    for (int64_t j = 0; j < t.size(); ++j) numbers.push_back(grown(ranks[at++], way));
    convert_n(t.dtype(), t.out().data(), DType::int64, numbers.data(), t.size());
    in[k] = std::move(t);
  }
  std::vector<int64_t> results;
  try {
    const std::vector<Value> out = use.with(in);
    for (std::size_t k = 0; k < use.first_outputs(); ++k) {
      const AnyTensor& t = out[k].tensor();
      results.resize(results.size() + static_cast<std::size_t>(t.size()));
      convert_n(DType::int64, results.data() + results.size() - t.size(), t.dtype(), t.data(), t.size());
    }
  } catch (const Error&) {
    return {};
  }
  return results;
}

bool check_moves(const Accepted& use, Draw& draw, bool order) {
  int64_t count = 0;
  for (std::size_t k = 0; k < use.first_inputs(); ++k) {
    if (!use.in[k].is_tensor() || !visit_types(Numbers{}, use.in[k].tensor().dtype(), []<class T>() {}))
      return false;
    count += use.in[k].tensor().size();
  }
  if (count < 2 || count > most_elements) return false;
  std::vector<int64_t> ranks;
  for (int64_t k = 0; k < count; ++k) ranks.insert(ranks.begin() + draw.below(k + 1), k);
  const auto a = moved(use, ranks, 0), b = moved(use, ranks, 1);
  if (!a || !b) return false;  // the other elements do not suit
  REQUIRE(a->size() == b->size());
  if (a->size() > 1000) return false;
  std::vector<int64_t> times(static_cast<std::size_t>(count));
  for (std::size_t k = 0; k < a->size(); ++k) {
    const int64_t rank = ((*a)[k] - grown(0, 0)) / 2;
    REQUIRE(0 <= rank);
    REQUIRE(rank < count);
    CHECK((*a)[k] == grown(rank, 0));
    CHECK((*b)[k] == grown(rank, 1));
    ++times[static_cast<std::size_t>(rank)];
  }
  if (!order) return !a->empty();
  CHECK(std::ranges::count(times, 1) == count);
  // Other elements go the same ways.
  std::vector<int64_t> turned;
  for (const int64_t r : ranks) turned.push_back(count - 1 - r);
  const auto c = moved(use, turned, 0);
  REQUIRE(c);
  for (std::size_t k = 0; k < a->size(); ++k)
    CHECK((*c)[k] == grown(count - 1 - ((*a)[k] - grown(0, 0)) / 2, 0));
  return true;
}

TEST_CASE("orders and choices give elements of the first input") {
  for_each_class([](const OperatorClass& c) {
    const auto may_be = [&](op::Elements e) {
      return c.spec->elements == e ||
             (c.elements != nullptr && c.elements(c.create(c.spec->latest()).get()) == e);
    };
    if (!may_be(op::Elements::order) && !may_be(op::Elements::choice)) return;
    CHECK(c.spec->deterministic);
    CHECK(for_uses(c, [](const Accepted& use, Draw& draw) {
            const op::Elements e = use.op.elements();
            if (e != op::Elements::order && e != op::Elements::choice) return false;
            return check_moves(use, draw, e == op::Elements::order);
          }) >= 10);
  });
}

// --- elements that are places ---

TEST_CASE("operands that look something up may be anything below the extent, and not the extent") {
  for_each_class([](const OperatorClass& c) {
    for (int k = 0; k < c.spec->inputs.size(); ++k) {
      const int table = c.spec->input(k).looks_up;
      if (table < 0) continue;
      CHECK(for_uses(c, [&](const Accepted& use, Draw& draw) {
              for (const int operand : {k, table})
                if (operand >= static_cast<int>(use.in.size()) || !use.in[static_cast<std::size_t>(operand)])
                  return false;
              const Extents looked_up(use.in[static_cast<std::size_t>(table)].tensor().extents());
              const AnyTensor& places = use.in[static_cast<std::size_t>(k)].tensor();
              if (places.size() == 0) return false;
              int64_t least = INT64_MAX, greatest = 0;
              for (const int64_t e : looked_up) least = std::min(least, e), greatest = std::max(greatest, e);
              for (const op::AttributeInfo& a : use.op.attributes())
                if (const int64_t* axis = std::get_if<int64_t>(&a.value); axis != nullptr && a.name == "axis")
                  least = greatest =
                      looked_up[static_cast<int>(*axis < 0 ? *axis + looked_up.size() : *axis)];
              if (least == 0 || looked_up.empty()) return false;
              std::vector<int64_t> numbers(static_cast<std::size_t>(places.size()));
              for (int64_t& n : numbers) n = draw.below(least);
              const auto evaluate = [&] {
                AnyTensor t = AnyTensor::uninitialized(places.dtype(), Extents(places.extents()));
                convert_n(t.dtype(), t.out().data(), DType::int64, numbers.data(), t.size());
                std::vector<Value> in = use.in;
                in[static_cast<std::size_t>(k)] = std::move(t);
                use.with(in);
              };
              CHECK_NOTHROW(evaluate());
              numbers[static_cast<std::size_t>(draw.below(places.size()))] = greatest;
              CHECK_THROWS_AS(evaluate(), Error);
              return true;
            }) >= 10);
    }
  });
}

}  // namespace
}  // namespace tenon::test
