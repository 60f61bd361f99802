// Trains a network that reads handwritten digits: train [TRAINED.onnx [IMAGES.npy LABELS.npy]]
#include <cstdio>
#include <cstring>

#include "tenon/training.hpp"

namespace {
using namespace tenon;

// The network, and what a step of its training adds: the loss, its derivatives, and the optimizer, whose
// averages v and squares h have the extents of the weights.
constexpr const char* network = R"(
<ir_version: 10, opset_import: ["" : 21, "ai.onnx.preview.training" : 1]>
digits (uint8[batch, 8, 8] image) => (float[batch, 10] probability) <float scale = {0.0625}> {
  ink = Cast <to = 1> (image)
  pixels = Flatten (ink)
  x = Mul (pixels, scale)
  a = Gemm (x, w1, b1)
  hidden = Relu (a)
  logits = Gemm (hidden, w2, b2)
  probability = Softmax (logits)
})";
constexpr const char* algorithm = R"(
step (uint8[batch] label) => (float loss, int64 t_new, float[64, 32] w1_new, float[32] b1_new, float[32, 10] w2_new,
      float[10] b2_new, float[64, 32] v1_new, float[32] v2_new, float[32, 10] v3_new, float[10] v4_new,
      float[64, 32] h1_new, float[32] h2_new, float[32, 10] h3_new, float[10] h4_new)
    <float rate = {0.005}, int64 t = {0}, int64 one = {1}> {
  target = Cast <to = 7> (label)
  loss = SoftmaxCrossEntropyLoss (logits, target)
  dw1, db1, dw2, db2 =
      ai.onnx.preview.training.Gradient <xs = ["w1", "b1", "w2", "b2"], y = "loss"> (w1, b1, w2, b2)
  w1_new, b1_new, w2_new, b2_new, v1_new, v2_new, v3_new, v4_new, h1_new, h2_new, h3_new, h4_new =
      ai.onnx.preview.training.Adam
      (rate, t, w1, b1, w2, b2, dw1, db1, dw2, db2, v1, v2, v3, v4, h1, h2, h3, h4)
  t_new = Add (t, one)
})";
constexpr const char* initialization = R"(
start () => (float[64, 32] r1, float[32, 10] r2) {
  r1 = RandomNormal <shape = [64, 32], scale = 0.18, seed = 1.0> ()
  r2 = RandomNormal <shape = [32, 10], scale = 0.25, seed = 2.0> ()
})";

Model training_model() {
  const Tensor<float> w1({64, 32}), b1({32}), w2({32, 10}), b2({10});  // zeros
  Model model = parse_text(network);
  model.add_initializer("w1", w1);
  model.add_initializer("b1", b1);
  model.add_initializer("w2", w2);
  model.add_initializer("b2", b2);
  add_training(
      model,
      {.algorithm = algorithm,
       .update = {{"w1", "w1_new"},
                  {"b1", "b1_new"},
                  {"w2", "w2_new"},
                  {"b2", "b2_new"},
                  {"v1", "v1_new"},
                  {"v2", "v2_new"},
                  {"v3", "v3_new"},
                  {"v4", "v4_new"},
                  {"h1", "h1_new"},
                  {"h2", "h2_new"},
                  {"h3", "h3_new"},
                  {"h4", "h4_new"},
                  {"t", "t_new"}},
       .initialization = initialization,
       .initialize = {{"w1", "r1"}, {"w2", "r2"}},
       .initializers = {
           {"v1", w1}, {"v2", b1}, {"v3", w2}, {"v4", b2}, {"h1", w1}, {"h2", b1}, {"h3", w2}, {"h4", b2}}});
  return model;
}

// Items [first, first + count) along the first axis.
Value slice(const Value& all, int64_t first, int64_t count) {
  const AnyTensor& from = all.tensor();
  Extents extents = from.extents();
  const int64_t bytes = from.bytes() / extents[0];
  extents[0] = count;
  AnyTensor part = AnyTensor::uninitialized(from.dtype(), extents);
  std::memcpy(part.out().data(), static_cast<const char*>(from.data()) + first * bytes,
              static_cast<std::size_t>(count * bytes));
  return part;
}

double accuracy(const Session& session, const Value& images, const Value& labels) {
  Outputs out = session.run({{"image", images}});
  const auto probability = out["probability"].view<float, Shape<dyn, 10>>();
  const auto label = labels.view<uint8_t>();
  int64_t right = 0;
  for (int64_t k = 0; k < label.size(); ++k) {
    int likeliest = 0;
    for (int digit = 1; digit < 10; ++digit)
      if (probability(k, digit) > probability(k, likeliest)) likeliest = digit;
    right += likeliest == label[k];
  }
  return 100.0 * static_cast<double>(right) / static_cast<double>(label.size());
}
}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 || argc > 4) {
    std::fprintf(stderr, "usage: train [TRAINED.onnx [IMAGES.npy LABELS.npy]]\n");
    return 2;
  }
  try {
    const Value images = read_npy(argc > 2 ? argv[2] : "examples/digits/images.npy");
    const Value labels = read_npy(argc > 2 ? argv[3] : "examples/digits/labels.npy");
    const int64_t count = images.view<uint8_t, Shape<dyn, 8, 8>>().extent(0), batch = 50;
    if (labels.view<uint8_t, Shape<dyn>>().size() != count || count < 2 * batch)
      throw Error(ErrorCode::invalid_shape, "labels", "one for each of 100 or more images is needed");
    const int64_t held_out = count / 4, learnt = count - held_out;

    Model model = training_model();
    Training training(model, {.threads = 2});
    training.initialize();
    double first = 0, loss = 0;
    for (int epoch = 1; epoch <= 30; ++epoch) {
      loss = 0;
      int steps = 0;
      for (int64_t k = 0; k + batch <= learnt; k += batch, ++steps) {
        Outputs out = training.step({{"image", slice(images, k, batch)}, {"label", slice(labels, k, batch)}});
        loss += static_cast<double>(*out["loss"].view<float>().data());
      }
      loss /= steps;
      if (epoch == 1) first = loss;
      if (epoch == 1 || epoch % 5 == 0) std::printf("epoch %2d: loss %.4f\n", epoch, loss);
    }

    training.store(model);
    if (argc > 1) save(model, argv[1]);
    const Session session = argc > 1 ? load(argv[1]) : Session(model.graph());
    std::printf("%.1f %% of the images learnt from and %.1f %% of those held out are right\n",
                accuracy(session, slice(images, 0, learnt), slice(labels, 0, learnt)),
                accuracy(session, slice(images, learnt, held_out), slice(labels, learnt, held_out)));
    return loss < first / 10 ? 0 : 1;
  } catch (const Error& e) {
    std::fprintf(stderr, "train: %s\n", e.what());
    return 1;
  }
}
