// Trains a language model of letters on sentences that a grammar makes: train [STEPS [WRITER.onnx]]
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <set>

#include "network.hpp"
#include "sentences.hpp"
#include "tenon/generate.hpp"
#include "tenon/training.hpp"

namespace {
using namespace tenon;
using namespace writer;

constexpr int64_t batch = 24, steps = 128;

void add_constants(Model& model) {
  Tensor<float, Shape<8>> frequency;
  for (int64_t k = 0; k < 8; ++k) frequency[k] = std::pow(100.0f, -static_cast<float>(k) / 8);
  model.add_initializer("frequency", frequency);
  model.add_initializer("last", Tensor<int64_t, Shape<1>>{-1});
}

// The network, and a step of its training: the loss, its derivatives, and Adam with averages v_ and squares
// h_.
Model training_model(int64_t letters) {
  const std::string extents = str_cat("[", batch, ", ", steps, "]");
  Model model = parse_text(
      str_cat(R"(<ir_version: 12, opset_import: ["" : 25, "writer" : 1, "ai.onnx.preview.training" : 1]>)",
              "writer (int64", extents, " input_ids, int64", extents, " position_ids) => (float[", batch,
              ", ", steps, ", ", letters, "] logits) {", nodes(attention_in_training), "}", functions));
  add_constants(model);
  Tensor<float, Shape<steps, steps>> mask;
  for (int64_t i = 0; i < steps; ++i)
    for (int64_t j = 0; j < steps; ++j) mask(i, j) = j <= i && i - j < 64 ? 0 : -1e9f;
  model.add_initializer("mask", mask);

  TrainingStage stage;
  std::string declared, quoted, names[3], made[3], derivatives;
  for (const auto& [name, start] : weights(letters)) {
    const std::string separator = quoted.empty() ? "" : ", ";
    quoted += str_cat(separator, '"', name, '"');
    derivatives += str_cat(separator, "d_", name);
    constexpr const char* prefixes[] = {"", "v_", "h_"};
    for (int k = 0; k < 3; ++k) {
      const std::string variable = prefixes[k] + name, next = "new_" + variable;
      names[k] += separator + variable;
      made[k] += separator + next;
      declared += str_cat(", float[] ", next);
      stage.update.emplace_back(variable, next);
      if (k == 0) model.add_initializer(variable, start);
      else stage.initializers.emplace_back(variable, Tensor<float>(start.extents()));
    }
  }
  const std::string algorithm = str_cat(
      "step (int64[", batch * steps, "] target, float rate, int64 t) => (float loss", declared,
      ") <int64[2] rows = {", batch * steps, ", ", letters, "}> {\n", "scores = Reshape (logits, rows)\n",
      "loss = SoftmaxCrossEntropyLoss (scores, target)\n", derivatives,
      " = ai.onnx.preview.training.Gradient <xs = [", quoted, "], y = \"loss\"> (", names[0], ")\n", made[0],
      ", ", made[1], ", ", made[2], " = ai.onnx.preview.training.Adam <beta = 0.99> (rate, t, ", names[0],
      ", ", derivatives, ", ", names[1], ", ", names[2], ")\n}");
  stage.algorithm = algorithm;
  add_training(model, stage);
  return model;
}

// The network as it is saved: with caches, and its weights as halves.
Model trained_model(const Training& training, const std::string& letters) {
  std::string pasts, presents, casts;
  for (int64_t k = 0; k < layers; ++k)
    for (const char* what : {"key_", "value_"}) {
      pasts += str_cat(", float[batch, 4, past, 16] past_", what, k);
      presents += str_cat(", float[batch, 4, all, 16] present_", what, k);
    }
  const std::vector<Weight> list = weights(static_cast<int64_t>(letters.size()));
  for (const Weight& w : list) casts += str_cat("  ", w.name, " = Cast <to = 1> (", w.name, "_half)\n");
  Model model = parse_text(
      str_cat(R"(<ir_version: 12, opset_import: ["" : 25], producer_name: "examples/writer/train.cc",
      doc_string: "Writes letter by letter. A token is the number of a letter in the list of the metadata.",
      metadata_props: ["letters" : ")",
              letters, R"("]>
writer (int64[batch, steps] input_ids, int64[batch, steps] position_ids)",
              pasts, ") => (float[batch, steps, ", letters.size(), "] logits", presents, ") {\n", casts,
              nodes(attention), "}"));
  add_constants(model);
  for (const Weight& w : list) {
    const auto from = training[w.name].view<float>();
    Tensor<float16> half = Tensor<float16>::uninitialized(w.start.extents());
    for (int64_t k = 0; k < half.size(); ++k) half[k] = static_cast<float16>(from[k]);
    model.add_initializer(w.name + "_half", half);
  }
  return model;
}

// Texts, and random pieces of them as numbers of letters.
class Lessons {
 public:
  Lessons(unsigned seed, int texts) : random_(seed) {
    Sentences sentences(seed);
    for (int k = 0; k < texts; ++k) text_ += sentences.next();
  }
  [[nodiscard]] std::string letters() const {
    const std::set<char> all(text_.begin(), text_.end());
    return {all.begin(), all.end()};
  }
  /// The letters of a batch, their places, and the letter that follows each.
  Feeds next(const std::string& letters) {
    Tensor<int64_t> ids({batch, steps}), places({batch, steps}), target({batch * steps});
    for (int64_t b = 0; b < batch; ++b) {
      const std::size_t at = random_() % (text_.size() - steps);
      const auto number = [&](int64_t k) {
        return static_cast<int64_t>(letters.find(text_[at + static_cast<std::size_t>(k)]));
      };
      for (int64_t k = 0; k < steps; ++k)
        ids(b, k) = number(k), places(b, k) = k, target[b * steps + k] = number(k + 1);
    }
    return {{"input_ids", ids}, {"position_ids", places}, {"target", target}};
  }

 private:
  std::string text_;
  std::mt19937 random_;
};

double step(Training& training, Feeds feeds, int64_t t, double rate) {
  feeds.emplace_back("rate", Tensor<float, Shape<>>(static_cast<float>(rate)));
  feeds.emplace_back("t", Tensor<int64_t, Shape<>>(t));
  Outputs out = training.step(feeds);
  return static_cast<double>(out["loss"].view<float>().item());
}

// The loss of the model as it is saved.
double loss(const Session& session, const Feeds& lesson) {
  StateOptions caches;
  for (int64_t k = 0; k < layers; ++k)
    for (const char* what : {"key_", "value_"})
      caches.pairs.push_back({str_cat("past_", what, k), str_cat("present_", what, k)});
  State state(std::move(caches));
  Outputs out = session.run({lesson[0], lesson[1]}, {.state = &state});
  const auto logits = out["logits"].view<float, Shape<dyn, dyn, dyn>>();
  const auto target = lesson[2].second.view<int64_t>();
  double sum = 0;
  for (int64_t n = 0; n < target.size(); ++n) {
    const float* const row = logits.data() + n * logits.extent(2);
    double total = 0;
    for (int64_t c = 0; c < logits.extent(2); ++c) total += std::exp(static_cast<double>(row[c]));
    sum += std::log(total) - static_cast<double>(row[target[n]]);
  }
  return sum / static_cast<double>(target.size());
}
}  // namespace

int main(int argc, char** argv) {
  const int64_t count = argc > 1 ? std::atoll(argv[1]) : 30;
  if (argc > 3 || count < 1) {
    std::fprintf(stderr, "usage: train [STEPS [WRITER.onnx]]\n");
    return 2;
  }
  try {
    Lessons lessons(1, 4000), held_out(2, 200);
    const std::string letters = lessons.letters();
    Training training(training_model(static_cast<int64_t>(letters.size())), {.threads = 2});
    for (int64_t t = 1; t <= count; ++t) {
      const double share = static_cast<double>(t) / static_cast<double>(count);
      const double now = step(training, lessons.next(letters), t,
                              0.004 * std::min(1.0, static_cast<double>(t) / 50) * (1 - 0.98 * share));
      if (t == 1 || t % 100 == 0 || t == count)
        std::printf("step %4d: loss %.3f\n", static_cast<int>(t), now);
      std::fflush(stdout);
    }

    const Model model = trained_model(training, letters);
    if (argc > 2) save(model, argv[2]);
    const Session session(model.graph(), {.threads = 2});
    const Feeds lesson = held_out.next(letters);
    const double trained = step(training, lesson, 1, 0), saved = loss(session, lesson);
    std::printf("of sentences held out: %.3f as trained, %.3f as saved\n", trained, saved);
    return std::abs(trained - saved) < 0.01 ? 0 : 1;
  } catch (const Error& e) {
    std::fprintf(stderr, "train: %s\n", e.what());
    return 1;
  }
}
