#include "tenon/graph/gradients/operators.hpp"

#include <doctest/doctest.h>

#include <random>

#include "tenon/graph/session.hpp"
#include "tenon/loader.hpp"
#include "tenon/op/tensor/non_zero.hpp"

namespace tenon {
namespace {

using Doubles = std::vector<double>;

Tensor<double> tensor(const Extents& extents, const Doubles& values) {
  Tensor<double> t(extents);
  REQUIRE(t.size() == static_cast<int64_t>(values.size()));
  std::copy(values.begin(), values.end(), t.begin());
  return t;
}

/// An operand of a case: random numbers in [low, high], or a constant, or none.
struct Given {
  Extents extents{};
  double low = -2, high = 2;
  Value constant{};
  bool left_out = false;
};
Given reals(const Extents& extents, double low = -2, double high = 2) {
  return {extents, low, high, {}, false};
}
Given constant(Value v) { return {{}, 0, 0, std::move(v), false}; }
Given none() { return {{}, 0, 0, {}, true}; }
Given ints(const Extents& extents, std::initializer_list<int64_t> list) {
  return constant(Tensor<int64_t>(extents, list));
}
Given ints(std::initializer_list<int64_t> list) { return ints({static_cast<int64_t>(list.size())}, list); }
Given bools(const Extents& extents, std::initializer_list<bool> list) {
  return constant(Tensor<bool>(extents, list));
}

template <class Op>
AnyOperator any(const Op& op) {
  return {*standard_registry().find(Op::spec.domain, Op::spec.name, Op::spec.latest()).op_class,
          std::make_shared<const Op>(op), Op::spec.latest()};
}

/// sum(c * f(x)) for one result of the operator, whose derivatives are held to finite differences, once with
/// extents that are known and once with extents that only the run knows.
void check_operator(const AnyOperator& op, const std::vector<Given>& given, int outputs = 1,
                    std::vector<int> differentiated = {0}, bool twice = false) {
  CAPTURE(std::string(op.spec().name));
  std::mt19937 random(7);
  const auto draw = [&](const Extents& extents, double low, double high) {
    Tensor<double> t(extents);
    for (double& v : t) v = std::uniform_real_distribution<double>(low, high)(random);
    return t;
  };
  std::vector<std::pair<std::string, Tensor<double>>> operands;
  for (std::size_t k = 0; k < given.size(); ++k)
    if (!given[k].constant && !given[k].left_out)
      operands.emplace_back(concat("x", k), draw(given[k].extents, given[k].low, given[k].high));
  for (bool known : {true, false}) {
    CAPTURE(known);
    Graph g;
    std::vector<ValueId> in, xs;
    for (std::size_t k = 0; k < given.size(); ++k) {
      if (given[k].left_out) in.push_back(-1);
      else if (given[k].constant) in.push_back(g.add_constant({}, given[k].constant));
      else {
        const Dims dims = known ? Dims(given[k].extents) : Dims::of_rank(given[k].extents.size());
        in.push_back(g.add_input(concat("x", k), DType::float64, dims));
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
    for (std::size_t k = 0; k < d.size(); ++k) g.add_output(concat("d", k), d[k]);
    const Session session(std::move(g));
    const auto run = [&](std::initializer_list<std::string> wanted) {
      Feeds feeds;
      for (const auto& [name, t] : operands) feeds.emplace_back(name, t);
      return session.run(feeds, {.outputs = std::vector<std::string>(wanted), .profile = nullptr});
    };
    for (std::size_t k = 0; k < operands.size(); ++k) {
      CAPTURE(operands[k].first);
      Outputs o = run({concat("d", k)});
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

template <class Op>
void check_op(const Op& op, const std::vector<Given>& given, int outputs = 1,
              std::vector<int> differentiated = {0}) {
  check_operator(any(op), given, outputs, std::move(differentiated));
}
/// Second derivatives: those of the first derivatives.
template <class Op>
void check_twice(const Op& op, const std::vector<Given>& given, int outputs = 1,
                 std::vector<int> differentiated = {0}) {
  check_operator(any(op), given, outputs, std::move(differentiated), true);
}
template <class... Op>
void check_unary(double low, double high, const Op&... op) {
  (check_op(op, {{{2, 5}, low, high}}), ...);
}

TEST_CASE("Functions of one element") {
  check_unary(-2, 2, op::Identity{}, op::Neg{}, op::Exp{}, op::Abs{}, op::Sin{}, op::Cos{}, op::Atan{},
              op::Sinh{}, op::Cosh{}, op::Tanh{}, op::Asinh{}, op::Erf{}, op::Sigmoid{}, op::Softplus{},
              op::Softsign{}, op::Relu{}, op::LeakyRelu{.alpha = 0.3f}, op::ThresholdedRelu{.alpha = 0.7f},
              op::Elu{.alpha = 1.5f}, op::Selu{}, op::HardSigmoid{.alpha = 0.4f}, op::Gelu{},
              op::Gelu{.approximate = "tanh"}, op::Mish{}, op::Swish{.alpha = 1.5f}, op::Ceil{}, op::Floor{},
              op::Round{}, op::Sign{});
  check_unary(-5, 5, op::HardSwish{});
  check_unary(-0.9, 0.9, op::Asin{}, op::Acos{}, op::Atanh{}, op::Tan{});
  check_unary(0.3, 3, op::Log{}, op::Sqrt{}, op::Reciprocal{});
  check_unary(1.1, 3, op::Acosh{});
  check_op(op::Cast{.to = static_cast<int64_t>(DType::float64)}, {reals({3})});
}

TEST_CASE("Functions of several elements, which are stretched") {
  const auto each = [](const auto&... op) {
    for (const auto& [a, b] :
         std::vector<std::pair<Given, Given>>{{reals({2, 3}, 0.5, 2), reals({2, 3}, 0.5, 2)},
                                              {reals({2, 1, 3}, 0.5, 2), reals({4, 1}, 0.5, 2)},
                                              {reals({}, 0.5, 2), reals({2, 1}, 0.5, 2)}})
      (check_op(op, {a, b}), ...);
  };
  each(op::Add{}, op::Sub{}, op::Mul{}, op::Div{}, op::Pow{}, op::Max{}, op::Min{}, op::Sum{}, op::Mean{},
       op::Mod{.fmod = 1});
  check_op(op::Max{}, {reals({2, 3}), reals({3}), reals({2, 1}), reals({})});
  check_op(op::Min{}, {reals({2, 3}), reals({3}), reals({2, 1}), reals({})});
  check_op(op::PRelu{}, {reals({2, 3, 4}), reals({3, 1})});
  check_op(op::Clip{}, {reals({4, 5}), reals({}, -1, -0.5), reals({}, 0.5, 1)});
  check_op(op::Clip{}, {reals({4, 5}), none(), reals({}, 0.5, 1)});
  check_op(op::Clip{}, {reals({4, 5}), reals({}, 0.5, 1), reals({}, -1, -0.5)});
  check_op(op::Where{}, {bools({3, 1}, {true, false, true}), reals({3, 2}), reals({2})});
}

TEST_CASE("Reductions") {
  const auto each = [](const auto&... op) {
    ((check_op(op, {reals({2, 3, 2}, 0.5, 2), ints({1})}), check_op(op, {reals({2, 3}, 0.5, 2)}),
      check_op(op, {reals({2, 3, 2}, 0.5, 2), ints({-1, 0})})),
     ...);
  };
  each(op::ReduceSum{}, op::ReduceMean{}, op::ReduceMax{}, op::ReduceMin{}, op::ReduceProd{}, op::ReduceL1{},
       op::ReduceL2{}, op::ReduceSumSquare{}, op::ReduceLogSum{}, op::ReduceLogSumExp{});
  each(op::ReduceSum{.keepdims = 0}, op::ReduceMean{.keepdims = 0}, op::ReduceMax{.keepdims = 0},
       op::ReduceMin{.keepdims = 0}, op::ReduceProd{.keepdims = 0}, op::ReduceL1{.keepdims = 0},
       op::ReduceL2{.keepdims = 0}, op::ReduceSumSquare{.keepdims = 0}, op::ReduceLogSum{.keepdims = 0},
       op::ReduceLogSumExp{.keepdims = 0});
  check_op(op::ReduceSum{.noop_with_empty_axes = 1}, {reals({2, 3})});
}

TEST_CASE("Movement") {
  check_op(op::Reshape{}, {reals({2, 6}), ints({3, -1})});
  check_op(op::Flatten{}, {reals({2, 3, 2})});
  check_op(op::Squeeze{}, {reals({2, 1, 3}), ints({1})});
  check_op(op::Unsqueeze{}, {reals({2, 3}), ints({0, -1})});
  check_op(op::Expand{}, {reals({2, 1}), ints({2, 2, 3})});
  check_op(op::Transpose{}, {reals({2, 3, 2})});
  check_op(op::Transpose{.perm = {1, 2, 0}}, {reals({2, 3, 4})});
  check_op(op::Concat{.axis = 1}, {reals({2, 1}), reals({2, 3}), reals({2, 2})});
  check_op(op::Concat{.axis = -1}, {reals({2, 1}), reals({2, 3})});
  check_op(op::Split{.axis = 1}, {reals({2, 5}), ints({2, 0, 3})}, 3, {0, 2});
  check_op(op::Slice{}, {reals({4, 5}), ints({3, 0}), ints({-10, 4}), ints({0, 1}), ints({-1, 2})});
  check_op(op::Tile{}, {reals({2, 3}), ints({2, 2})});
  check_op(op::Compress{.axis = 1}, {reals({2, 3}), bools({3}, {true, false, true})});
  check_op(op::DepthToSpace{.blocksize = 2}, {reals({1, 4, 2, 1})});
  check_op(op::SpaceToDepth{.blocksize = 2}, {reals({1, 1, 2, 4})});
  check_op(op::ReverseSequence{}, {reals({3, 2}), ints({2, 3})});
  check_op(op::Pad{}, {reals({2, 3}), ints({1, -1, 0, 2}), reals({})});
  check_op(op::Pad{}, {reals({2, 3}), ints({1, 2}), none(), ints({1})});
  check_op(op::Pad{.mode = "reflect"}, {reals({2, 3}), ints({0, 2, 1, 1})});
  check_op(op::Pad{.mode = "edge"}, {reals({2, 3}), ints({0, 2, 1, 1})});
  check_op(op::Pad{.mode = "wrap"}, {reals({2, 3}), ints({0, 2, 1, 1})});
  check_op(op::Gather{}, {reals({3, 2}), ints({2, 2}, {0, -1, 2, 0})});
  check_op(op::Gather{.axis = 1}, {reals({2, 3}), ints({}, {2})});
  check_op(op::GatherElements{.axis = 1}, {reals({2, 3}), ints({2, 2}, {0, 0, -1, 1})});
  check_op(op::GatherND{}, {reals({2, 3}), ints({3, 1}, {0, 1, 0})});
  check_op(op::ScatterElements{.axis = 1}, {reals({2, 3}), ints({2, 1}, {0, 2}), reals({2, 1})});
  check_op(op::ScatterElements{.axis = 1, .reduction = "add"},
           {reals({2, 3}), ints({2, 2}, {0, 0, 2, 1}), reals({2, 2})});
  check_op(op::ScatterND{}, {reals({3, 2}), ints({2, 1}, {2, 0}), reals({2, 2})});
  check_op(op::ScatterND{.reduction = "add"}, {reals({3, 2}), ints({2, 1}, {2, 2}), reals({2, 2})});
  check_op(op::TopK{}, {reals({2, 5}), ints({2})}, 2);
  check_op(op::Trilu{}, {reals({3, 3})});
  check_op(op::CumSum{.exclusive = 1}, {reals({2, 3}), ints({}, {1})});
  check_op(op::CumSum{.reverse = 1}, {reals({2, 3}), ints({}, {0})});
  check_op(op::Dropout{}, {reals({2, 3})});
}

TEST_CASE("Products") {
  check_op(op::MatMul{}, {reals({2, 3}), reals({3, 4})});
  check_op(op::MatMul{}, {reals({3}), reals({3})});
  check_op(op::MatMul{}, {reals({3}), reals({2, 3, 2})});
  check_op(op::MatMul{}, {reals({2, 2, 3}), reals({3})});
  check_op(op::MatMul{}, {reals({2, 1, 2, 3}), reals({2, 3, 1})});
  for (int64_t a : {0, 1})
    for (int64_t b : {0, 1})
      check_op(op::Gemm{.alpha = 0.5f, .beta = 2, .transA = a, .transB = b},
               {a ? reals({3, 2}) : reals({2, 3}), b ? reals({4, 3}) : reals({3, 4}), reals({4})});
  check_op(op::Einsum{.equation = "bij,bjk->ik"}, {reals({2, 2, 3}), reals({2, 3, 2})});
  check_op(op::Einsum{.equation = "ij"}, {reals({2, 3})});
  check_op(op::Einsum{.equation = "ij,k->i"}, {reals({2, 3}), reals({2})});
}

TEST_CASE("Convolutions") {
  for (int64_t group : {1, 2}) {
    const Given w = reals({4, 4 / group, 3});
    check_op(op::Conv{.group = group}, {reals({2, 4, 7}), w, reals({4})});
    check_op(op::Conv{.dilations = {2}, .group = group, .pads = {2, 1}, .strides = {3}},
             {reals({2, 4, 9}), w});
    check_op(op::Conv{.auto_pad = "SAME_UPPER", .group = group, .strides = {2}}, {reals({1, 4, 6}), w});
    check_op(op::Conv{.auto_pad = "SAME_LOWER", .group = group}, {reals({1, 4, 5}), w});
    const Given t = reals({4, 3, 3});
    check_op(op::ConvTranspose{.group = group}, {reals({2, 4, 3}), t, reals({3 * group})});
    check_op(
        op::ConvTranspose{
            .dilations = {2}, .group = group, .output_padding = {1}, .pads = {2, 1}, .strides = {2}},
        {reals({2, 4, 3}), t});
    check_op(op::ConvTranspose{.auto_pad = "SAME_UPPER", .group = group, .strides = {2}},
             {reals({1, 4, 3}), t});
    check_op(op::ConvTranspose{.group = group, .output_shape = {6}, .strides = {2}}, {reals({1, 4, 3}), t});
  }
  check_op(op::Conv{.pads = {1, 0, 1, 2}, .strides = {2, 1}}, {reals({1, 2, 4, 3}), reals({3, 2, 2, 2})});
}

TEST_CASE("Pools") {
  check_op(op::AveragePool{.kernel_shape = {2}}, {reals({1, 2, 5})});
  for (int64_t include : {0, 1}) {
    check_op(
        op::AveragePool{
            .count_include_pad = include, .kernel_shape = {3, 2}, .pads = {1, 1, 1, 0}, .strides = {2, 1}},
        {reals({1, 2, 4, 3})});
    check_op(op::AveragePool{.ceil_mode = 1,
                             .count_include_pad = include,
                             .kernel_shape = {3},
                             .pads = {1, 1},
                             .strides = {2}},
             {reals({2, 1, 6})});
    check_op(
        op::AveragePool{
            .auto_pad = "SAME_UPPER", .count_include_pad = include, .kernel_shape = {3}, .strides = {2}},
        {reals({1, 2, 6})});
  }
  check_op(op::MaxPool{.kernel_shape = {3, 2}, .pads = {1, 1, 1, 0}, .strides = {2, 1}},
           {reals({2, 2, 4, 3})});
  check_op(
      op::MaxPool{.ceil_mode = 1, .dilations = {2}, .kernel_shape = {2}, .storage_order = 1, .strides = {2}},
      {reals({1, 2, 6})}, 2);
  check_op(op::GlobalAveragePool{}, {reals({2, 3, 2, 2})});
  check_op(op::GlobalMaxPool{}, {reals({2, 3, 2, 2})});
}

TEST_CASE("Normalisations") {
  check_op(op::Softmax{}, {reals({2, 4})});
  check_op(op::Softmax{.axis = 0}, {reals({2, 4})});
  check_op(op::LogSoftmax{.axis = 1}, {reals({2, 4, 2})});
  check_op(op::LayerNormalization{}, {reals({2, 4}), reals({4}), reals({4})});
  check_op(op::LayerNormalization{.axis = 1}, {reals({2, 2, 2}), reals({2, 2})});
  check_op(op::RMSNormalization{}, {reals({2, 4}), reals({4})});
  check_op(op::InstanceNormalization{}, {reals({2, 2, 3}), reals({2}), reals({2})});
  check_op(op::GroupNormalization{.num_groups = 2}, {reals({2, 4, 3}), reals({4}), reals({4})});
  check_op(op::BatchNormalization{},
           {reals({2, 3, 2}), reals({3}), reals({3}), reals({3}), reals({3}, 0.5, 2)});
  check_op(op::BatchNormalization{.training_mode = 1},
           {reals({2, 3, 2}), reals({3}), reals({3}), reals({3}), reals({3}, 0.5, 2)}, 3, {0, 1, 2});
  check_op(op::MeanVarianceNormalization{}, {reals({2, 2, 2, 2})});
  check_op(op::LpNormalization{.p = 1}, {reals({2, 3})});
  check_op(op::LpNormalization{.axis = 0}, {reals({2, 3})});
  check_op(op::LRN{.alpha = 0.5f, .size = 3}, {reals({2, 5, 2})});
  check_op(op::LRN{.alpha = 0.5f, .size = 2}, {reals({1, 3, 2, 2})});
}

TEST_CASE("Losses") {
  for (const char* reduction : {"none", "sum", "mean"}) {
    const Given weights = reals({3}, 0.5, 2), labels = ints({2, 2}, {0, 2, 1, 2}), few = ints({2}, {2, 0});
    const Given ignored = ints({2, 2}, {0, -1, 1, 2});
    check_op(op::NegativeLogLikelihoodLoss{.reduction = reduction}, {reals({2, 3}), few});
    check_op(op::NegativeLogLikelihoodLoss{.ignore_index = -1, .reduction = reduction},
             {reals({2, 3, 2}), ignored, weights});
    check_op(op::SoftmaxCrossEntropyLoss{.reduction = reduction}, {reals({2, 3, 2}), labels, weights}, 2,
             {0, 1});
    check_op(op::SoftmaxCrossEntropyLoss{.ignore_index = 2, .reduction = reduction},
             {reals({2, 3, 2}), labels});
  }
}

TEST_CASE("Second derivatives") {
  const auto functions = [](const auto&... op) { (check_twice(op, {reals({2, 3}, 0.2, 0.8)}), ...); };
  functions(op::Exp{}, op::Log{}, op::Sqrt{}, op::Reciprocal{}, op::Sin{}, op::Cos{}, op::Tan{}, op::Asin{},
            op::Acos{}, op::Atan{}, op::Sinh{}, op::Cosh{}, op::Tanh{}, op::Asinh{}, op::Atanh{}, op::Erf{},
            op::Sigmoid{}, op::Softplus{}, op::Softsign{}, op::Relu{}, op::Elu{}, op::Selu{}, op::Gelu{},
            op::Mish{}, op::Swish{}, op::HardSwish{}, op::Identity{});
  functions(op::ReduceMean{}, op::ReduceMax{}, op::ReduceL2{}, op::ReduceProd{}, op::ReduceLogSumExp{},
            op::ReduceLogSum{}, op::ReduceSumSquare{});
  check_twice(op::Pow{}, {reals({2, 3}, 0.5, 2), reals({3}, 1.5, 3)});
  check_twice(op::Div{}, {reals({2, 3}, 0.5, 2), reals({3}, 0.5, 2)});
  check_twice(op::Mul{}, {reals({2, 3}), reals({2, 1})});
  check_twice(op::MatMul{}, {reals({2, 1, 3}), reals({3, 2})});
  check_twice(op::Gemm{}, {reals({2, 3}), reals({3, 2}), reals({2})});
  check_twice(op::Einsum{.equation = "ij,jk->k"}, {reals({2, 3}), reals({3, 2})});
  check_twice(op::Slice{}, {reals({4}), ints({1}), ints({3})});
  check_twice(op::Conv{.group = 2, .pads = {1, 0}, .strides = {2}},
              {reals({1, 2, 5}), reals({2, 1, 3}), reals({2})});
  check_twice(op::ConvTranspose{.pads = {1, 0}, .strides = {2}}, {reals({1, 2, 3}), reals({2, 2, 3})});
  check_twice(op::AveragePool{.kernel_shape = {3}, .pads = {1, 1}}, {reals({1, 2, 4})});
  check_twice(op::MaxPool{.kernel_shape = {2}}, {reals({1, 2, 4})});
  check_twice(op::Softmax{}, {reals({2, 3})});
  check_twice(op::LogSoftmax{}, {reals({2, 3})});
  check_twice(op::LayerNormalization{}, {reals({2, 3}), reals({3}), reals({3})});
  check_twice(op::BatchNormalization{},
              {reals({2, 2, 2}), reals({2}), reals({2}), reals({2}), reals({2}, 0.5, 2)});
  check_twice(op::SoftmaxCrossEntropyLoss{}, {reals({2, 3}), ints({2}, {2, 0})});
}

// --- the graph ---

Outputs run(Graph g, const Feeds& feeds) { return Session(std::move(g)).run(feeds); }
void check_error(auto f, std::string_view text) {
  try {
    f();
    FAIL_CHECK("no error");
  } catch (const Error& e) {
    CHECK_MESSAGE(std::string_view(e.what()).find(text) != std::string_view::npos, std::string(e.what()));
  }
}
ValueId node(Graph& g, const auto& op, std::vector<ValueId> in) {
  return g.add_node({}, any(op), std::move(in), {})[0];
}

TEST_CASE("A value's way to y may split and join; what y does not depend on has zeros") {
  Graph g;
  const ValueId x = g.add_input("x", DType::float64, {2}), unused = g.add_input("u", DType::float64, {1, 2});
  const ValueId square = node(g, op::Mul{}, {x, x});
  const ValueId y = node(g, op::Add{}, {node(g, op::Mul{}, {square, x}), square});
  const std::vector<ValueId> d = add_gradient(g, {.xs = {x, unused}, .y = y}, standard_registry());
  g.add_output("dx", d[0]);
  g.add_output("du", d[1]);
  Outputs o = run(std::move(g), {{"x", tensor({2}, {1, 2})}, {"u", tensor({1, 2}, {7, 7})}});
  CHECK(o["dx"].view<double>()[0] == 5);
  CHECK(o["dx"].view<double>()[1] == 16);
  CHECK(o["du"].view<double>()[1] == 0);
}

TEST_CASE("Derivatives have derivatives") {
  Graph g;
  const ValueId x = g.add_input("x", DType::float64, {2});
  ValueId y = node(g, op::Sin{}, {node(g, op::Mul{}, {x, x})});
  for (int k = 0; k < 2; ++k) y = add_gradient(g, {.xs = {x}, .y = y}, standard_registry())[0];
  g.add_output("y", y);
  Outputs o = run(std::move(g), {{"x", tensor({2}, {0.5, -1})}});
  for (int64_t k = 0; k < 2; ++k) {
    const double v = k == 0 ? 0.5 : -1;
    CHECK(o["y"].view<double>()[k] == doctest::Approx(2 * std::cos(v * v) - 4 * v * v * std::sin(v * v)));
  }
}

TEST_CASE("An intermediate value is independent of the values that it is computed from") {
  Graph g;
  const ValueId w = g.add_input("w", DType::float64, {1}), h = node(g, op::Mul{}, {w, w});
  const ValueId y = node(g, op::Mul{}, {h, w});
  const std::vector<ValueId> d = add_gradient(g, {.xs = {h, w}, .y = y}, standard_registry());
  const ValueId held = add_gradient(g, {.xs = {w}, .zs = {h}, .y = y}, standard_registry())[0];
  g.add_output("dh", d[0]);
  g.add_output("dw", d[1]);
  g.add_output("held", held);
  Outputs o = run(std::move(g), {{"w", tensor({1}, {3})}});
  CHECK(o["dh"].view<double>()[0] == 3);
  CHECK(o["dw"].view<double>()[0] == 9);
  CHECK(o["held"].view<double>()[0] == 9);
}

TEST_CASE("Derivatives at other values") {
  Graph g;
  const ValueId a = g.add_input("a", DType::float64, {}), b = g.add_input("b", DType::float64, {});
  const ValueId y = node(g, op::Div{}, {node(g, op::Mul{}, {a, a}), b});
  // The inputs exchanged, and one input for both.
  const std::vector<ValueId> d =
      add_gradient(g, {.xs = {a, b}, .y = y, .inputs = {b, a}}, standard_registry());
  const std::vector<ValueId> e =
      add_gradient(g, {.xs = {a}, .zs = {b}, .y = y, .inputs = {b, b}}, standard_registry());
  g.add_output("da", d[0]);
  g.add_output("db", d[1]);
  g.add_output("e", e[0]);
  Outputs o = run(std::move(g), {{"a", tensor({}, {2})}, {"b", tensor({}, {3})}});
  CHECK(o["da"].view<double>().item() == doctest::Approx(3.0));       // 2 a / b at a = 3, b = 2
  CHECK(o["db"].view<double>().item() == doctest::Approx(-9.0 / 4));  // -a a / (b b)
  CHECK(o["e"].view<double>().item() == doctest::Approx(2.0));
}

TEST_CASE("Types and ranks that only the run knows") {
  Graph g;
  const ValueId x = g.add_input("x", Type(Kind::unknown, DType::undefined), {});
  const ValueId y = node(g, op::ReduceSum{}, {node(g, op::Mul{}, {x, node(g, op::Tanh{}, {x})})});
  g.add_output("d", add_gradient(g, {.xs = {x}, .y = y}, standard_registry())[0]);
  Outputs o = run(std::move(g), {{"x", tensor({2}, {0, 0.5})}});
  const double tanh = std::tanh(0.5);
  CHECK(o["d"].view<double>()[0] == 0);
  CHECK(o["d"].view<double>()[1] == doctest::Approx(tanh + 0.5 * (1 - tanh * tanh)));
}

TEST_CASE("Typed edges") {
  Graph g;
  auto x = g.input<double, Shape<2, 3>>("x");
  auto w = g.input<double, Shape<3>>("w");
  auto y = Edge<double>{&g, node(g, op::Mul{}, {x.id, w.id})};
  auto [dx, dw] = gradient(y, standard_registry(), x, w);
  static_assert(std::is_same_v<decltype(dw), Edge<double, Shape<3>>>);
  g.output("dw", dw);
  Outputs o = run(std::move(g), {{"x", tensor({2, 3}, {1, 2, 3, 4, 5, 6})}, {"w", tensor({3}, {0, 0, 0})}});
  CHECK(o["dw"].view<double>()[2] == 9);
}

TEST_CASE("What is refused") {
  Graph g;
  const ValueId x = g.add_input("x", DType::float64, {2, 2});
  const ValueId det = node(g, op::NonZero{}, {x});
  const ValueId y = node(g, op::Einsum{.equation = "ii->i"}, {x});
  check_error([&] { add_gradient(g, {.xs = {x}, .y = y}, standard_registry()); },
              "Gradient: no derivative of Einsum with a diagonal");
  check_error([&] { add_gradient(g, {.xs = {x}, .y = det}, standard_registry()); },
              "y is tensor(int64), not a tensor of floats");
  check_error([&] { add_gradient(g, {.xs = {99}, .y = y}, standard_registry()); },
              "a value is not of this graph");
  check_error([&] { add_gradient(g, {.xs = {x}, .y = y, .inputs = {x, x}}, standard_registry()); },
              "2 inputs for 1 values");
  check_error([&] { add_gradient(g, {.xs = {x}, .y = node(g, op::Exp{}, {x})}, Registry()); },
              "which the registry lacks");
}

}  // namespace
}  // namespace tenon
