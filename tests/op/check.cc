#include "tests/op/check.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "tenon/base/convert.hpp"
#include "tests/op/types.hpp"

namespace tenon::test {

Value cast(DType dtype, const Extents& extents, std::initializer_list<double> values) {
  AnyTensor tensor = AnyTensor::uninitialized(dtype, extents);
  REQUIRE(static_cast<int64_t>(values.size()) == tensor.size());
  convert_n(dtype, tensor.out().data(), DType::float64, values.begin(), tensor.size());
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

namespace {

/// The one element type of the tensors that stand for a type variable; undefined where there are none, or
/// several.
DType element_of(const op::Spec& spec, int version, int variable, const std::vector<Value>& in) {
  DType found = DType::undefined;
  for (std::size_t k = 0; k < in.size(); ++k) {
    if (!in[k] || spec.variable(spec.input(static_cast<int>(k), version).type) != variable) continue;
    if (!in[k].is_tensor() || (found != DType::undefined && in[k].tensor().dtype() != found))
      return DType::undefined;
    found = in[k].tensor().dtype();
  }
  return found;
}

/// A case with operands of the type `from` of a type variable converted to `to`; none where they would be
/// rounded.
std::vector<Value> with_type(const AnyOperator& op, std::vector<Value> in, int variable, DType from,
                             DType to) {
  for (std::size_t k = 0; k < in.size(); ++k) {
    if (!in[k] || op.spec().variable(op.spec().input(static_cast<int>(k), op.version()).type) != variable)
      continue;
    Value v = converted(in[k], from, to);
    if (!difference(converted(v, to, from), in[k]).empty()) return {};
    in[k] = std::move(v);
  }
  return in;
}

/// What became of the uses of other types, by operator. The end of the program prints it, and fails where
/// an operator's rule leaves out more than two thirds of them: the tables of Cast and CastLike, most of which
/// are about numbers that only one type holds, have 60 %. Fewer uses than a table has are of a few of its
/// cases alone, and not judged.
class OtherTypes {
 public:
  enum Outcome { compared, left_out, rounded, refused };

  void count(std::string_view op, Outcome what) { ++of_[std::string(op)][what]; }
  ~OtherTypes() {
    bool good = true;
    for (const auto& [op, n] : of_) {
      const int uses = n[compared] + n[left_out] + n[rounded] + n[refused];
      const bool few = uses >= 32 && 3 * n[left_out] > 2 * uses;
      good = good && !few;
      std::printf(
          "%s%s: %d uses of other types: %d compared, %d left out by its rule, %d of operands that the "
          "type does not hold, %d refused\n",
          few ? "ERROR: too many left out: " : "", op.c_str(), uses, n[compared], n[left_out], n[rounded],
          n[refused]);
    }
    std::fflush(stdout);
    if (!good) std::_Exit(EXIT_FAILURE);
  }

 private:
  std::map<std::string, std::array<int, 4>> of_;
} other_types;

/// What a case gives, it gives with the other types of the kind that a type variable permits, where these
/// hold the operands.
void check_other_types(const AnyOperator& op, const std::vector<Value>& in, const std::vector<Value>& out) {
  const op::Spec& spec = op.spec();
  const TypeRule& rule = type_rule(spec.name);
  const auto attributes = op.attributes();
  const bool body = std::any_of(attributes.begin(), attributes.end(),
                                [](const auto& a) { return a.type == op::AttributeType::graph; });
  // A body is for one type.
  if (!spec.deterministic || rule.alone || body) return;
  const bool suitable = std::all_of(in.begin(), in.end(), [&](const Value& v) { return suits(v, rule); });
  for (int v = 0; v < spec.types.size(); ++v) {
    const DType d = element_of(spec, op.version(), v, in);
    for (const DType other : by_width) {
      if (other == d || !same_kind(other, d) || !spec.types[v].at(op.version()).contains(other)) continue;
      const TypePair pair = pair_of(1u << static_cast<int>(d) | 1u << static_cast<int>(other), d);
      if (is_float(d) && range_of(pair.narrow).second > range_of(pair.wide).second) continue;
      if (!suitable) {
        other_types.count(spec.name, OtherTypes::left_out);
        continue;
      }
      const std::vector<Value> operands = with_type(op, in, v, d, other);
      if (operands.empty()) {
        other_types.count(spec.name, OtherTypes::rounded);
        continue;
      }
      const std::string title = str_cat(spec.name, "-", op.version(), " with ", name_of(other),
                                        " in the place of ", name_of(d), ": ");
      std::vector<Value> results;
      try {
        results = run(op, operands, static_cast<int>(out.size()));
      } catch (const Error& e) {
        // Some meanings are not for all types, and a model is for one type.
        CHECK_MESSAGE(e.code() == ErrorCode::invalid_type, title, name_of(e.code()), ": ",
                      std::string(e.what()));
        other_types.count(spec.name, OtherTypes::refused);
        continue;
      }
      other_types.count(spec.name, OtherTypes::compared);
      for (std::size_t o = 0; o < out.size(); ++o) {
        const std::string text = pair.narrow == d ? difference(out[o], results[o], pair, rule)
                                                  : difference(results[o], out[o], pair, rule);
        CHECK_MESSAGE(text.empty(), title, text);
      }
    }
  }
}

}  // namespace

void check(const AnyOperator& op, const std::vector<Value>& in, const std::vector<Value>& expected,
           double rtol, double atol) {
  const std::vector<Value> out = run(op, in, static_cast<int>(expected.size()));
  for (std::size_t o = 0; o < out.size(); ++o)
    if (expected[o]) check_equal(out[o], expected[o], rtol, atol);
  check_other_types(op, in, out);
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
