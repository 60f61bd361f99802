#include "tests/op/check.hpp"

#include "tenon/base/convert.hpp"
#include "tenon/tensor/difference.hpp"

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
  const std::string d = difference(actual, expected, {rtol, atol});
  CHECK_MESSAGE(d.empty(), d);
}

std::vector<Value> run(const AnyOperator& op, const std::vector<Value>& in, int outputs) {
  std::vector<const Value*> operands;
  for (const Value& v : in) operands.push_back(&v);
  op::Context context;
  return op::evaluate(op, context, operands, static_cast<std::size_t>(outputs));
}

void check(const AnyOperator& op, const std::vector<Value>& in, const std::vector<Value>& expected,
           double rtol, double atol) {
  const std::vector<Value> out = run(op, in, static_cast<int>(expected.size()));
  for (std::size_t o = 0; o < out.size(); ++o)
    if (expected[o]) check_equal(out[o], expected[o], rtol, atol);
}

void check_fails(const AnyOperator& op, const std::vector<Value>& in, std::string_view text, int outputs) {
  check_throws([&] { return run(op, in, outputs); }, text);
}

std::vector<op::Info> infer(const AnyOperator& op, const std::vector<op::Info>& in, int outputs) {
  std::vector<op::Info> out(static_cast<std::size_t>(outputs));
  const op::Message m = op.infer(in, out);
  if (!m.empty()) throw Error(ErrorCode::invalid_shape, std::string(op.spec().name), std::string(m.view()));
  return out;
}

op::Info info(DType dtype, const Dims& dims, const op::PropagatedData& values) {
  op::Info i;
  i.type = dtype;
  i.dims = dims;
  i.propagated = values;
  return i;
}

}  // namespace tenon::test
