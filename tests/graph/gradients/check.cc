#include "tests/graph/gradients/check.hpp"

#include <random>

#include "tenon/graph/gradients/operators.hpp"
#include "tenon/graph/session.hpp"

namespace tenon::test {

constexpr const char* names[] = {"x0", "x1", "x2", "x3", "x4", "x5", "x6"};

void check_operator(const AnyOperator& op, const std::vector<Given>& given, int outputs,
                    std::vector<int> differentiated, bool twice) {
  CAPTURE(std::string(op.spec().name));
  std::mt19937 random(7);
  const auto draw = [&](const Extents& extents, double low, double high) {
    Tensor<double> t(extents);
    for (double& v : t) v = std::uniform_real_distribution<double>(low, high)(random);
    return t;
  };
  std::vector<std::pair<std::string, Tensor<double>>> operands;
  for (std::size_t k = 0; k < given.size(); ++k)
    if (!given[k].constant && !given[k].left_out) {
      operands.emplace_back(names[k], draw(given[k].extents, given[k].low, given[k].high));
      std::copy(given[k].numbers.begin(), given[k].numbers.end(), operands.back().second.begin());
    }
  for (bool known : {true, false}) {
    CAPTURE(known);
    Graph g;
    std::vector<ValueId> in, xs;
    for (std::size_t k = 0; k < given.size(); ++k) {
      if (given[k].left_out) in.push_back(-1);
      else if (given[k].late)
        in.push_back(g.add_input(names[k], given[k].constant.tensor().dtype(),
                                 Dims(given[k].constant.tensor().extents())));
      else if (given[k].constant) in.push_back(g.add_constant({}, given[k].constant));
      else {
        const Dims dims = known ? Dims(given[k].extents) : Dims::of_rank(given[k].extents.size());
        in.push_back(g.add_input(names[k], DType::float64, dims));
        xs.push_back(in.back());
      }
    }
    const std::vector<ValueId> out =
        g.add_node({}, op, in, std::vector<std::string>(static_cast<std::size_t>(outputs)));
    gradients::Writer w(g, standard_registry());
    // Weights that differ from element to element.
    const auto weighed = [&](gradients::Term f) {
      const gradients::Term index =
          w.add(op::Range{}, {w.number(0, f), cast_like(size(f), f), w.number(1, f)});
      const gradients::Term weight = reshape(gradients::apply(op::Cos{}, index) + 1.5, shape(f));
      return sum(f * weight);
    };
    gradients::Term y = w.number(0, w.term(out[0]));
    for (int k : differentiated) y = y + weighed(w.term(out[static_cast<std::size_t>(k)]));
    const auto differentiate = [&] {
      return add_gradient(g, {.xs = xs, .y = y.id}, gradient_operators<double>());
    };
    std::vector<ValueId> d = differentiate();
    if (twice) {
      y = w.number(0, y);
      for (ValueId v : d) y = y + weighed(w.term(v));
      d = differentiate();
    }
    g.add_output("y", y.id);
    for (std::size_t k = 0; k < d.size(); ++k) g.add_output(str_cat("d", k), d[k]);
    const Session session(std::move(g));
    const auto run = [&](std::initializer_list<std::string> wanted) {
      Feeds feeds;
      for (const auto& [name, t] : operands) feeds.emplace_back(name, t);
      for (std::size_t k = 0; k < given.size(); ++k)
        if (given[k].late) feeds.emplace_back(names[k], given[k].constant);
      return session.run(feeds, {.outputs = std::vector<std::string>(wanted), .profile = nullptr});
    };
    for (std::size_t k = 0; k < operands.size(); ++k) {
      CAPTURE(operands[k].first);
      Outputs o = run({str_cat("d", k)});
      const auto slope = o[std::size_t{0}].view<double>();
      REQUIRE(std::equal(slope.extents().begin(), slope.extents().end(), operands[k].second.extents().begin(),
                         operands[k].second.extents().end()));
      for (int64_t j = 0; j < slope.size(); ++j) {
        double& x = operands[k].second[j];
        const double at = x, h = 1e-5;
        x = at + h;
        const double above = run({"y"})[std::size_t{0}].view<double>().item();
        x = at - h;
        const double below = run({"y"})[std::size_t{0}].view<double>().item();
        x = at;
        CHECK(slope[j] == doctest::Approx((above - below) / (2 * h)).epsilon(1e-5).scale(1));
      }
    }
  }
}

std::vector<double> slopes(const AnyOperator& op, const std::vector<Value>& in, DType type) {
  Graph g;
  std::vector<ValueId> operands, xs;
  Feeds feeds;
  for (const Value& v : in) {
    feeds.emplace_back(names[feeds.size()], v);
    operands.push_back(
        g.add_input(std::string(feeds.back().first), v.tensor().dtype(), Dims(v.tensor().extents())));
    if (v.tensor().dtype() == type) xs.push_back(operands.back());
  }
  gradients::Writer w(g, standard_registry());
  const gradients::Term f = w.term(g.add_node({}, op, operands, {})[0]);
  const gradients::Term index = w.add(op::Range{}, {w.integer(1), size(f) + 1.0, w.integer(1)});
  const gradients::Term y = f * cast_like(reshape(index, shape(f)), f);
  const std::vector<ValueId> d = add_gradient(g, {.xs = xs, .y = y.id}, standard_registry());
  for (std::size_t k = 0; k < d.size(); ++k) g.add_output(str_cat("d", k), d[k]);
  Outputs out = Session(std::move(g)).run(feeds);
  std::vector<double> result;
  for (std::size_t k = 0; k < d.size(); ++k) {
    const AnyTensor& t = out[k].tensor();
    std::vector<double> numbers(static_cast<std::size_t>(t.size()));
    convert_n(DType::float64, numbers.data(), t.dtype(), t.data(), t.size());
    result.insert(result.end(), numbers.begin(), numbers.end());
  }
  return result;
}

}  // namespace tenon::test
