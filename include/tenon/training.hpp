// Training of models as their training information states it. Link //loader.
#pragma once

#include "tenon/model.hpp"

namespace tenon::TENON_ABI {

/// Pairs of an initializer and the output of a graph whose value it receives: {{"w", "w_new"}, {"t",
/// "t_new"}}.
using Bindings = std::vector<std::pair<std::string, std::string>>;

/// A stage of training, to be added to a model. Texts are graphs in ONNX's textual syntax; an empty text is
/// an empty graph.
struct TrainingStage {
  /// One step: inputs, loss, Gradient, optimizer, and the new values as outputs. Its nodes follow the model's
  /// own and read their values by name.
  std::string_view algorithm{};
  Bindings update{};                                          ///< variables that a step updates
  std::string_view initialization{};                          ///< a graph without inputs
  Bindings initialize{};                                      ///< variables that it initializes
  std::vector<std::pair<std::string, Value>> initializers{};  ///< of the algorithm, in addition to the text's
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
/// Error{invalid_model} with the line and the column for text that is not a graph.
void add_training(Model& model, const TrainingStage& stage);

/// A model in training. Its variables are the initializers of the main graph and of the algorithms that
/// bindings name; they start with the model's values. Several stages may update the same variable of the main
/// graph, in the order of the steps, although the format assigns each variable to one stage and `check`
/// reports it.
///
///     Training training(model);
///     training.initialize();
///     for (int k = 0; k < 100; ++k) print(training.step({{"x", images}, {"label", labels}})["loss"]);
///     training.store(model);
///
/// Belongs to one thread at a time.
class Training {
 public:
  /// Prepares all stages. The model is not kept. If `session` does not set passes, standard_passes() apply;
  /// its source is not used.
  ///
  /// Error{invalid_model} for bindings that name no initializer or no output, for two bindings of one
  /// initializer, or of initializers of the same name in two algorithms; {invalid_type, invalid_shape} for
  /// bindings of a value that does not fit; {invalid_model, not_supported} for graphs that cannot run;
  /// {limit} for stages that, each with the main graph, exceed the bounds of `load`. where() names the stage.
  explicit Training(const Model& model, const SessionOptions& session = {}, const LoadOptions& load = {});
  Training(Training&&) noexcept;
  Training& operator=(Training&&) noexcept;
  ~Training();

  /// The number of stages: the model's TrainingInfoProtos, in order.
  [[nodiscard]] std::size_t stages() const;
  /// The graph that a step of a stage runs: the main graph followed by the algorithm. Variables are inputs.
  [[nodiscard]] const Graph& graph(std::size_t stage) const;

  /// Resets all variables to the model's values, then runs the initializations of all stages in order. The
  /// bounds of `options` apply to each. Errors as from step().
  void initialize(const RunOptions& options = {});
  /// Runs a stage's algorithm, then updates all its variables at once. `feeds` are inputs of the main graph
  /// and of the algorithm, and may override variables that are also inputs for this step. Returns the
  /// algorithm's outputs, or the values of main graph and algorithm that options.outputs names, together with
  /// the new values of variables.
  ///
  /// Errors of Session::run, and Error{invalid_type, invalid_shape} for new values that do not fit; the
  /// variables are then unchanged.
  Outputs step(const Feeds& feeds, std::size_t stage = 0, const RunOptions& options = {});

  /// The names of the variables of the main graph, then of each algorithm.
  [[nodiscard]] std::vector<std::string> variables() const;
  /// The current value of a variable. Error{invalid_argument} if the name is unknown.
  [[nodiscard]] const Value& operator[](std::string_view variable) const;
  /// Gives a variable a value of its type and extents. Error{invalid_argument, invalid_type, invalid_shape}.
  void assign(std::string_view variable, Value value);
  /// Writes the variables to the initializers of `model`, from which the training was made.
  /// Error{invalid_argument} if one of them is missing.
  void store(Model& model) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tenon::TENON_ABI
