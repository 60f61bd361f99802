// Softmax regression learns to read digits: a model with its derivative in ONNX's text, and steps of Adam.
#include <cstdio>
#include <tuple>

#include "tenon/model.hpp"
#include "tenon/op/training/adam.hpp"

namespace {
using namespace tenon;

constexpr const char* regression = R"(
<ir_version: 10, opset_import: ["" : 21, "ai.onnx.preview.training" : 1]>
regression (float[n, 64] image, int64[n] label, float[64, 10] w) =>
    (float loss, float[64, 10] dw, int64[n] digit) {
  scores = MatMul (image, w)
  loss = SoftmaxCrossEntropyLoss (scores, label)
  dw = ai.onnx.preview.training.Gradient <xs = ["w"], y = "loss"> (w)
  digit = ArgMax <axis = 1, keepdims = 0> (scores)
})";

// Scans of digits, 8 x 8 pixels from 0, paper, to 1, ink, and what each shows.
template <int64_t First, int64_t Count>
struct Scans {
  Tensor<float, Shape<Count, 64>> image;
  Tensor<int64_t, Shape<Count>> label;

  Scans() {
    const Value images = read_npy("examples/digits/images.npy"),
                labels = read_npy("examples/digits/labels.npy");
    const auto pixels = images.view<uint8_t>(), digits = labels.view<uint8_t>();
    for (int64_t k = 0; k < Count * 64; ++k) image[k] = static_cast<float>(pixels[First * 64 + k]) / 16;
    for (int64_t k = 0; k < Count; ++k) label[k] = digits[First + k];
  }
};

template <class Scans>
Outputs run(const Session& session, const Scans& scans, const Tensor<float, Shape<64, 10>>& w) {
  return session.run({{"image", scans.image}, {"label", scans.label}, {"w", w}});
}
template <class Scans>
double percent_right(const Session& session, const Scans& scans, const Tensor<float, Shape<64, 10>>& w) {
  Outputs out = run(session, scans, w);
  const auto digit = out["digit"].view<int64_t>();
  int right = 0;
  for (int64_t k = 0; k < digit.size(); ++k) right += digit[k] == scans.label[k];
  return 100.0 * right / static_cast<double>(digit.size());
}
}  // namespace

int main() {
  const Scans<0, 300> learnt;
  const Scans<300, 100> held_out;
  const Session session(parse_text(regression).graph());

  Tensor<float, Shape<64, 10>> w, v, h;  // weights, averages of their derivatives and of the squares of these
  for (int64_t t = 0; t <= 100; ++t) {
    Outputs out = run(session, learnt, w);
    const float loss = out["loss"].view<float>().item();
    if (t % 50 == 0) std::printf("step %3d: loss %.2f\n", static_cast<int>(t), static_cast<double>(loss));
    const auto dw = out["dw"].view<float, Shape<64, 10>>();
    std::tie(w, v, h) = apply<op::Adam{}, 3>(0.05f, t, w, dw, v, h);
  }
  const double seen = percent_right(session, learnt, w), unseen = percent_right(session, held_out, w);
  std::printf("right: %.0f %% of the scans learnt from, %.0f %% of those held out\n", seen, unseen);
  return seen > 98 && unseen > 85 ? 0 : 1;
}
