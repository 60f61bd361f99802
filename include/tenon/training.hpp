// Training: models that train as their training information says. Link //loader.
#pragma once

#include "tenon/model.hpp"

namespace tenon::TENON_ABI {

/// Initializers, and the outputs of a graph that they get the values of: {{"w", "w_new"}, {"t", "t_new"}}.
using Bindings = std::vector<std::pair<std::string, std::string>>;

/// A stage of training, to be added to a model. Texts are graphs in ONNX's textual syntax; no text is an
/// empty graph.
struct TrainingStage {
  /// One step. Its nodes stand behind the model's own, whose values they read by name: inputs, loss,
  /// Gradient, optimizer, and the new values as outputs.
  std::string_view algorithm{};
  Bindings update{};                                          ///< what outputs of a step update
  std::string_view initialization{};                          ///< a graph without inputs
  Bindings initialize{};                                      ///< what its outputs initialize
  std::vector<std::pair<std::string, Value>> initializers{};  ///< of the algorithm, besides the text's
};

/// Adds a stage to the model's training information.
///
///     add_training(model, {.algorithm = R"(
///         step (float[n, 1] target) => (float loss, float[2, 1] w_new) <float rate = {0.1}> {
///           error = Sub (y, target)
///           square = Mul (error, error)
///           loss = ReduceMean <keepdims = 0> (square)
///           d = ai.onnx.preview.training.Gradient <xs = ["w"], y = "loss"> (w)
///           change = Mul (rate, d)
///           w_new = Sub (w, change)
///         })", .update = {{"w", "w_new"}}});
///
/// Error{invalid_model} with the line and the column for text that is no graph.
void add_training(Model& model, const TrainingStage& stage);

/// A model in training. Its variables are the initializers, of the main graph and of the algorithms, that
/// bindings name; they start with the values that the model has. Several stages may update a variable of the
/// main graph, although the format gives each to one stage and `check` reports it: the order of steps tells
/// what happens.
///
///     Training training(model);
///     training.initialize();
///     for (int k = 0; k < 100; ++k) print(training.step({{"x", images}, {"label", labels}})["loss"]);
///     training.store(model);
///
/// Belongs to one thread at a time.
class Training {
 public:
  /// Makes all stages ready to run. Nothing is kept of the model. Passes that `session` does not name are
  /// standard_passes(); its source is not used.
  ///
  /// Error{invalid_model} for bindings that name no initializer or no output, for two of one
  /// initializer, or of two algorithms' initializers of one name; {invalid_type, invalid_shape} for bindings
  /// of a value that does not fit; {invalid_model, not_supported} for graphs that cannot run; {limit} for
  /// stages that take more than `load` allows, each with the main graph. The place is the stage's.
  explicit Training(const Model& model, const SessionOptions& session = {}, const LoadOptions& load = {});
  Training(Training&&) noexcept;
  Training& operator=(Training&&) noexcept;
  ~Training();

  /// The number of stages, which are the model's TrainingInfoProtos in their order.
  [[nodiscard]] std::size_t stages() const;
  /// What a step of a stage runs: the main graph and the algorithm behind it. Variables are inputs.
  [[nodiscard]] const Graph& graph(std::size_t stage) const;

  /// Gives all variables the values that the model had, and then what the initializations of all stages give
  /// them, in order. The bounds of `options` hold for each. Errors as from step().
  void initialize(const RunOptions& options = {});
  /// Runs a stage's algorithm, and gives its variables their new values, all at once when it has run. `feeds`
  /// are inputs of the main graph and of the algorithm; variables that are inputs too may be among them, for
  /// this step. Returns the algorithm's outputs, or the values of main graph and algorithm that
  /// options.outputs names, and with them the new values of variables.
  ///
  /// Errors of Session::run, and Error{invalid_type, invalid_shape} for new values that do not fit; the
  /// variables are then as they were.
  Outputs step(const Feeds& feeds, std::size_t stage = 0, const RunOptions& options = {});

  /// The variables' names: of the main graph, then of each algorithm.
  [[nodiscard]] std::vector<std::string> variables() const;
  /// The value that a variable has now. Error{invalid_argument} when there is none of the name.
  [[nodiscard]] const Value& operator[](std::string_view variable) const;
  /// Gives a variable a value of its type and extents. Error{invalid_argument, invalid_type, invalid_shape}.
  void assign(std::string_view variable, Value value);
  /// Writes the variables into the initializers of the model that the training was made of.
  /// Error{invalid_argument} when one of them is not there.
  void store(Model& model) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tenon::TENON_ABI
