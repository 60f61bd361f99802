#include "tests/op/check.hpp"

#include <cmath>

#include "tenon/base/convert.hpp"

namespace tenon::test {

Value cast(DType dtype, const Extents& extents, std::initializer_list<double> values) {
  AnyTensor tensor = AnyTensor::uninitialized(dtype, extents);
  REQUIRE(static_cast<int64_t>(values.size()) == tensor.size());
  convert_n(dtype, tensor.data(), DType::float64, values.begin(), tensor.size());
  return tensor;
}

double as_double(AnyView v, int64_t k) {
  double result = 0;
  visit_dtype(v.dtype(), [&]<class T>() {
    if constexpr (!std::is_same_v<T, std::string>) result = convert<double>(T(v.as<T>()[k]));
  });
  return result;
}

void check_equal(const Value& actual, const Value& expected, double rtol, double atol) {
  REQUIRE_MESSAGE(actual.type() == expected.type(), to_string(actual.type()), " instead of ",
                  to_string(expected.type()));
  if (actual.is_sequence()) {
    REQUIRE(actual.sequence().items.size() == expected.sequence().items.size());
    for (std::size_t k = 0; k < actual.sequence().items.size(); ++k)
      check_equal(actual.sequence().items[k], expected.sequence().items[k], rtol, atol);
    return;
  }
  if (actual.is_optional()) {
    REQUIRE((actual.optional().value != nullptr) == (expected.optional().value != nullptr));
    if (actual.optional().value)
      check_equal(*actual.optional().value, *expected.optional().value, rtol, atol);
    return;
  }
  if (!actual.is_tensor()) return;
  const AnyView a = actual.tensor().view(), e = expected.tensor().view();
  const std::string extents = to_string(a.extents());
  REQUIRE_MESSAGE(std::equal(a.extents().begin(), a.extents().end(), e.extents().begin(), e.extents().end()),
                  extents, " instead of ", to_string(e.extents()));
  for (int64_t k = 0; k < a.size(); ++k) {
    if (a.dtype() == DType::string) {
      CHECK(a.as<std::string>()[k] == e.as<std::string>()[k]);
    } else if (is_integer(a.dtype()) && bits(a.dtype()) == 64) {
      CHECK_MESSAGE(static_cast<const int64_t*>(a.data())[k] == static_cast<const int64_t*>(e.data())[k],
                    "element ", k);
    } else {
      const double x = as_double(a, k), y = as_double(e, k);
      const bool same =
          std::isnan(y) ? std::isnan(x) : x == y || std::abs(x - y) <= rtol * std::abs(y) + atol;
      CHECK_MESSAGE(same, "element ", k, ": ", x, " instead of ", y);
    }
  }
}

std::vector<Value> run(const AnyOperator& op, const std::vector<Value>& in, int outputs) {
  std::vector<const Value*> operands;
  for (const Value& v : in) operands.push_back(&v);
  op::Context context;
  return op::evaluate(op, context, operands, static_cast<std::size_t>(outputs));
}

void check(const AnyOperator& op, const std::vector<Value>& in, const std::vector<Value>& expected, double rtol,
           double atol) {
  const std::vector<Value> out = run(op, in, static_cast<int>(expected.size()));
  for (std::size_t o = 0; o < out.size(); ++o)
    if (expected[o]) check_equal(out[o], expected[o], rtol, atol);
}

void check_fails(const AnyOperator& op, const std::vector<Value>& in, std::string_view text, int outputs) {
  try {
    run(op, in, outputs);
    FAIL_CHECK("no error, expected one with '", text, "'");
  } catch (const Error& e) {
    CHECK_MESSAGE(std::string_view(e.what()).find(text) != std::string_view::npos, "'", e.what(), "' lacks '", text,
                  "'");
  }
}

std::vector<op::Info> infer(const AnyOperator& op, const std::vector<op::Info>& in, int outputs) {
  std::vector<op::Info> out(static_cast<std::size_t>(outputs));
  const op::Message m = op.infer(in, out);
  if (!m.empty()) throw Error(ErrorCode::invalid_shape, std::string(op.spec().name), std::string(m.view()));
  return out;
}

op::Info info(DType dtype, const Dims& dims, const op::Values& values) {
  op::Info i;
  i.type = dtype;
  i.dims = dims;
  i.values = values;
  return i;
}

}  // namespace tenon::test
