// A body made of functions, for the tests of If, Loop and Scan.
#pragma once

#include <functional>

#include "tests/op/check.hpp"

namespace tenon::test {

class FunctionBody : public op::Body {
 public:
  using Run = std::function<std::vector<Value>(std::span<const Value>)>;
  using Rule = std::function<std::vector<op::Info>(std::span<const op::Info>)>;
  FunctionBody(int inputs, int outputs, Rule rule, Run run)
      : inputs_(inputs), outputs_(outputs), rule_(std::move(rule)), run_(std::move(run)) {}
  int inputs() const override { return inputs_; }
  int outputs() const override { return outputs_; }
  std::vector<op::Info> infer(std::span<const op::Info> in) const override { return rule_(in); }
  std::vector<Value> run(op::Context&, std::span<const Value> in) const override { return run_(in); }

 private:
  int inputs_, outputs_;
  Rule rule_;
  Run run_;
};

inline op::BodyRef body(int inputs, int outputs, FunctionBody::Rule rule, FunctionBody::Run run) {
  return {std::make_shared<const FunctionBody>(inputs, outputs, std::move(rule), std::move(run))};
}

inline float number(const Value& v) { return v.view<float>().item(); }
inline Value scalar(float x) { return t<float>({}, {x}); }
inline Value truth(bool b) { return t<bool>({}, {b}); }

}  // namespace tenon::test
