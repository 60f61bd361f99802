// Services for a running operator: memory for results of unknown extents, and running graphs.
#pragma once

#include "tenon/op/framework/infer.hpp"
#include "tenon/tensor/value.hpp"

namespace tenon::TENON_ABI {
class CapturingBody;  // graph/capturing_body.hpp
struct StepCache;     // tensor/paged_rows.hpp
namespace detail {
class Budget;  // graph/limits.hpp
}
}  // namespace tenon::TENON_ABI

namespace tenon::TENON_ABI::op {

/// Passed to `compute` if it has a Context parameter. Graph attributes run in the context's scope.
class Context {
 public:
  explicit Context(Allocator& allocator = default_allocator()) : allocator_(&allocator) {}
  virtual ~Context() = default;
  Context(const Context&) = default;
  Context& operator=(const Context&) = default;

  Allocator& allocator() const { return *allocator_; }
  /// A value of the running graph, by its number; null when the operator runs outside of a graph.
  virtual const Value* value(int32_t) const { return nullptr; }
  /// A cache of the run's state, by its number; null when the run has no state.
  virtual StepCache* cache(int64_t) const { return nullptr; }
  /// The bounds of the run; null when it has none.
  virtual tenon::detail::Budget* budget() const { return nullptr; }

 protected:
  void set_allocator(Allocator& allocator) { allocator_ = &allocator; }

 private:
  Allocator* allocator_;
};

/// A graph as the value of an attribute: the branches of If, the bodies of Loop and Scan.
class Body {
 public:
  virtual ~Body() = default;
  virtual int inputs() const = 0;
  virtual int outputs() const = 0;
  /// The extents that the body declares for an input, of unknown rank if it declares none.
  virtual Dims declared_dims(int /*input*/) const { return {}; }
  /// The outputs' types and extents for the inputs' types and extents. Error when the body forbids the
  /// inputs.
  virtual std::vector<Info> infer(std::span<const Info> inputs) const = 0;
  /// The same in a run, whose `scope` has the values that the body captures, for results of a body that does
  /// not run: extents that no rule tells are those that the body declares.
  virtual std::vector<Info> infer_in(const Context& /*scope*/, std::span<const Info> inputs) const {
    return infer(inputs);
  }
  /// Runs the graph; `scope` is the context that the operator was given. One value for each output.
  virtual std::vector<Value> run(Context& scope, std::span<const Value> inputs) const = 0;
  /// The body itself if it can capture values of the enclosing graph, else null.
  virtual const CapturingBody* capturing() const { return nullptr; }
};

/// The member type of graph attributes. The graph must outlive the operator's use.
struct BodyRef {
  std::shared_ptr<const Body> body;
  explicit operator bool() const { return body != nullptr; }
  const Body* operator->() const { return body.get(); }
};

}  // namespace tenon::TENON_ABI::op
