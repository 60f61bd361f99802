#include "tenon/op/controlflow/scan.hpp"

#include "tests/op/controlflow/body.hpp"
#include "tests/op/stated.hpp"

namespace tenon {
using namespace test;

namespace {

/// State + element, which is the new state and the scan output.
op::BodyRef sums() {
  return body(
      2, 2,
      [](auto in) {
        op::Info shape = in[1];
        return std::vector<op::Info>{in[0], shape};
      },
      [](auto in) {
        const auto s = in[0].template view<float>(), x = in[1].template view<float>();
        Tensor<float> y(Extents(x.extents()));
        for (int64_t k = 0; k < y.size(); ++k) y[k] = s[k] + x[k];
        return std::vector<Value>{y, y};
      });
}

/// No state; elements go through.
op::BodyRef passes(int n) {
  return body(
      n, n, [](auto in) { return std::vector<op::Info>(in.begin(), in.end()); },
      [](auto in) { return std::vector<Value>(in.begin(), in.end()); });
}

}  // namespace

TEST_CASE("Scan: sums along axes and in directions") {
  const Value zero = t<float>({2}, {0, 0}), x = t<float>({3, 2}, {1, 2, 3, 4, 5, 6}),
              wide = t<float>({2, 3}, {1, 3, 5, 2, 4, 6});
  using S = op::Scan;
  struct Row {
    S op;
    Value x, scan;
  } rows[] = {
      {{.body = sums(), .num_scan_inputs = 1}, x, t<float>({3, 2}, {1, 2, 4, 6, 9, 12})},
      {{.body = sums(), .num_scan_inputs = 1, .scan_input_axes = {1}},
       wide,
       t<float>({3, 2}, {1, 2, 4, 6, 9, 12})},
      {{.body = sums(), .num_scan_inputs = 1, .scan_input_axes = {-1}, .scan_output_axes = {-1}},
       wide,
       t<float>({2, 3}, {1, 4, 9, 2, 6, 12})},
      {{.body = sums(), .num_scan_inputs = 1, .scan_input_directions = {1}},
       x,
       t<float>({3, 2}, {5, 6, 8, 10, 9, 12})},
      {{.body = sums(), .num_scan_inputs = 1, .scan_output_directions = {1}},
       x,
       t<float>({3, 2}, {9, 12, 4, 6, 1, 2})},
      {{.body = sums(),
        .num_scan_inputs = 1,
        .scan_input_axes = {1},
        .scan_input_directions = {1},
        .scan_output_axes = {1},
        .scan_output_directions = {1}},
       wide,
       t<float>({2, 3}, {9, 8, 5, 12, 10, 6})},
  };
  for (const Row& row : rows)
    for (int version : {9, 11, 16, 25})
      check(row.op, {zero, row.x}, {t<float>({2}, {9, 12}), row.scan}, 0, 0, version);
  check(S{.body = sums(), .num_scan_inputs = 1}, {zero, t<float>({0, 2}, {})}, {zero, t<float>({0, 2}, {})});
  check(S{.body = sums(), .num_scan_inputs = 1, .scan_input_axes = {1}, .scan_output_axes = {1}},
        {zero, t<float>({2, 0}, {})}, {zero, t<float>({2, 0}, {})});
}

TEST_CASE("Scan: elements of every kind, several scan inputs, no state") {
  const Value rows[] = {
      t<std::string>({2, 2}, {"a", "b", "c", std::string(40, 'd')}),
      cast<int4>({3, 3}, {1, 2, 3, 4, 5, 6, 7, -8, -1}),
      cast<int4>({3, 2}, {1, 2, 3, 4, 5, 6}),
      cast<uint2>({2, 5}, {1, 2, 3, 0, 1, 2, 3, 0, 1, 2}),
      t<complex128>({2, 2}, {{1, 2}, {3, 4}, {5, 6}, {7, 8}}),
      t<bool>({3, 1}, {true, false, true}),
      t<float>({3}, {1, 2, 3}),
      t<float>({2, 0}, {}),
      cast<bfloat16>({2, 1, 2}, {1, 2, 3, 4}),
  };
  for (const Value& x : rows) {
    check(op::Scan{.body = passes(1), .num_scan_inputs = 1}, {x}, {x});
    if (x.tensor().rank() < 2) continue;
    check(op::Scan{.body = passes(1), .num_scan_inputs = 1, .scan_input_axes = {1}, .scan_output_axes = {1}},
          {x}, {x});
    check(op::Scan{.body = passes(1),
                   .num_scan_inputs = 1,
                   .scan_input_axes = {-1},
                   .scan_input_directions = {1},
                   .scan_output_axes = {-1},
                   .scan_output_directions = {1}},
          {x}, {x});
  }
  const Value a = t<float>({2, 3}, {1, 2, 3, 4, 5, 6}), b = t<int64_t>({3}, {7, 8, 9});
  check(op::Scan{.body = passes(2),
                 .num_scan_inputs = 2,
                 .scan_input_axes = {1, 0},
                 .scan_input_directions = {0, 1}},
        {a, b}, {t<float>({3, 2}, {1, 4, 2, 5, 3, 6}), t<int64_t>({3}, {9, 8, 7})});
}

TEST_CASE("Scan: sequences without elements, whatever their other extents") {
  constexpr int64_t many = int64_t{1} << 62;
  const Value wide = t<float>({2, 0, many}, {}), turned = t<float>({0, 2, many}, {});
  check(op::Scan{.body = passes(1), .num_scan_inputs = 1}, {wide}, {wide});
  check(op::Scan{.body = passes(1), .num_scan_inputs = 1, .scan_input_axes = {1}, .scan_output_axes = {1}},
        {turned}, {turned});
  check(op::Scan{.body = passes(1), .num_scan_inputs = 1}, {t<float>({2, 4, many, 0}, {})},
        {t<float>({2, 4, many, 0}, {})});
}

TEST_CASE("Scan: errors") {
  using S = op::Scan;
  const Value zero = t<float>({2}, {0, 0}), x = t<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  check_fails(S{.num_scan_inputs = 1}, {zero, x}, "the body is missing", 2);
  check_fails(S{.body = sums()}, {zero, x}, "num_scan_inputs 0 of 2 inputs", 2);
  check_fails(S{.body = sums(), .num_scan_inputs = 3}, {zero, x}, "num_scan_inputs 3 of 2 inputs", 2);
  check_fails(S{.body = sums(), .num_scan_inputs = INT32_MIN}, {zero, x}, "num_scan_inputs -2147483648 of",
              2);
  check_fails(S{.body = sums(), .num_scan_inputs = (int64_t{1} << 32) + 1}, {zero, x}, "of 2 inputs", 2);
  check_fails(S{.body = sums(), .num_scan_inputs = 1}, {zero, zero, x}, "the body takes 2 values", 2);
  check_fails(S{.body = sums(), .num_scan_inputs = 1, .scan_input_axes = {0, 1}}, {zero, x},
              "scan_input_axes: 2 entries, expected 1", 2);
  check_fails(S{.body = sums(), .num_scan_inputs = 1, .scan_input_axes = {2}}, {zero, x},
              "axis 2 outside of [-2, 1]", 2);
  check_fails(S{.body = sums(), .num_scan_inputs = 1, .scan_output_axes = {2}}, {zero, x},
              "axis 2 outside of [-2, 1]", 2);
  check_fails(S{.body = sums(), .num_scan_inputs = 1, .scan_input_directions = {2}}, {zero, x},
              "scan_input_directions: 2, expected 0 or 1", 2);
  check_fails(S{.body = passes(2), .num_scan_inputs = 2}, {zero, x}, "lengths of scan inputs differ: 2 and 3",
              2);
  check_fails(S{.body = passes(1), .num_scan_inputs = 1}, {scalar(1)}, "axis 0 outside");
  check_fails(S{.body = passes(1), .num_scan_inputs = 1}, {cast<int4>({1}, {1})}, "cannot be tensor(int4)", 1,
              19);
}

TEST_CASE("Scan: symbols, and results that outlive lent memory") {
  const auto n = Dim::symbol(1), m = Dim::symbol(2);
  const op::Scan s{.body = sums(), .num_scan_inputs = 1, .scan_input_axes = {1}, .scan_output_axes = {-1}};
  const auto out = infer(s, {info(DType::float32, {n}), info(DType::float32, {n, m})}, 2);
  CHECK(out[0].dims == Dims{n});
  CHECK(out[1].dims == Dims{n, m});
  CHECK(out[1].type == Type(DType::float32));
  // The body tells what the operands do not.
  const auto four = body(
      2, 1, [](auto) { return std::vector<op::Info>{info(DType::float32, {4})}; },
      [](auto in) { return std::vector<Value>{in[0]}; });
  const auto last_dims = [&](const Dims& first) {
    return infer(op::Scan{.body = four, .num_scan_inputs = 1},
                 {info(DType::float32, first), info(DType::float32, {m, 4})})[0]
        .dims;
  };
  for (const Dims& first : {Dims{n}, Dims{Dim()}, Dims{4}, Dims{}}) CHECK(last_dims(first) == Dims{4});
  CHECK(last_dims({3}) == Dims{Dim()});
  // The element is the next state, so that the last one lies in the operand.
  const auto last = body(
      2, 1, [](auto in) { return std::vector<op::Info>{in[0]}; },
      [](auto in) { return std::vector<Value>{in[1]}; });
  Value result;
  {
    Tensor<float, Shape<2, 1>> x{{1}, {2}};
    Tensor<float, Shape<1>> first{0};
    result = op::Scan{.body = last, .num_scan_inputs = 1}(first.view(), x.view());
    x[1] = 0;
  }
  check_equal(result, t<float>({1}, {2}));
}

TEST_CASE("Scan: version 8 has a batch") {
  const Value none, zero = t<float>({2, 1}, {0, 10}), x = t<float>({2, 3, 1}, {1, 2, 3, 4, 5, 6});
  using S = op::Scan_8;
  struct Row {
    S op;
    std::vector<Value> in, out;
  } rows[] = {
      {{.body = sums(), .num_scan_inputs = 1},
       {none, zero, x},
       {t<float>({2, 1}, {6, 25}), t<float>({2, 3, 1}, {1, 3, 6, 14, 19, 25})}},
      {{.body = sums(), .directions = {1}, .num_scan_inputs = 1},
       {none, zero, x},
       {t<float>({2, 1}, {6, 25}), t<float>({2, 3, 1}, {3, 5, 6, 16, 21, 25})}},
      {{.body = sums(), .num_scan_inputs = 1},
       {t<int64_t>({2}, {1, 2}), zero, x},
       {t<float>({2, 1}, {1, 19}), t<float>({2, 3, 1}, {1, 0, 0, 14, 19, 0})}},
      {{.body = sums(), .directions = {1}, .num_scan_inputs = 1},
       {t<int64_t>({2}, {2, 3}), zero, x},
       {t<float>({2, 1}, {3, 25}), t<float>({2, 3, 1}, {2, 3, 0, 16, 21, 25})}},
      {{.body = sums(), .num_scan_inputs = 1},
       {t<int64_t>({2}, {0, 1}), zero, x},
       {t<float>({2, 1}, {0, 14}), t<float>({2, 3, 1}, {0, 0, 0, 14, 0, 0})}},
      {{.body = sums(), .num_scan_inputs = 1},
       {none, zero, t<float>({2, 0, 1}, {})},
       {zero, t<float>({2, 0, 1}, {})}},
      {{.body = sums(), .num_scan_inputs = 1},
       {none, t<float>({0, 1}, {}), t<float>({0, 3, 1}, {})},
       {t<float>({0, 1}, {}), t<float>({0, 3, 1}, {})}},
      {{.body = passes(1), .num_scan_inputs = 1},
       {t<int64_t>({1}, {1}), t<std::string>({1, 2}, {"a", "b"})},
       {t<std::string>({1, 2}, {"a", ""})}},
  };
  for (const Row& row : rows) {
    check(row.op, row.in, row.out);
    Attributes attributes{{"body", row.op.body}, {"num_scan_inputs", *row.op.num_scan_inputs}};
    if (!row.op.directions.empty()) attributes.emplace_back("directions", row.op.directions);
    check(stated<S>(8, attributes), row.in, row.out);
  }
  check_refused<S>(8, {{"body", sums()}}, "attribute 'num_scan_inputs' is required");
  check_refused<S>(8, {{"num_scan_inputs", int64_t{1}}}, "attribute 'body' is required");
  const S s{.body = sums(), .num_scan_inputs = 1};
  check_fails(s, {t<int64_t>({2}, {4, 1}), zero, x}, "sequence_lens has 4, the longest is 3", 2);
  check_fails(s, {t<int64_t>({2}, {-1, 1}), zero, x}, "sequence_lens has -1", 2);
  check_fails(s, {t<int64_t>({3}, {1, 1, 1}), zero, x}, "batch and number of sequence_lens differ", 2);
  check_fails(s, {t<int64_t>({}, {1}), zero, x}, "sequence_lens: rank 0, expected 1", 2);
  check_fails(s, {none, t<float>({1, 1}, {0}), x}, "batches differ", 2);
  check_fails(s, {none, zero, t<float>({2}, {1, 2})}, "has fewer than 2 axes", 2);
  check_fails(S{.body = sums(), .directions = {0, 1}, .num_scan_inputs = 1}, {none, zero, x},
              "directions: 2 entries, expected 1", 2);
  const auto n = Dim::symbol(1), m = Dim::symbol(2);
  const auto out = infer(s, {{}, info(DType::float32, {n, 4}), info(DType::float32, {n, m, 4})}, 2);
  CHECK(out[0].dims == Dims{n, 4});
  CHECK(out[1].dims == Dims{n, m, 4});
}
}  // namespace tenon
