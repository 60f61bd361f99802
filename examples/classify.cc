// Loads a network from a file and shows the classes that it finds likeliest: classify [MODEL.onnx [INPUT.pb|INPUT.npy]]
#include <algorithm>
#include <cstdio>
#include <numeric>

#include "tenon/loader.hpp"

int main(int argc, char** argv) {
  using namespace tenon;
  const std::string folder = "/usr/share/libonnx-testdata/data/pytorch-converted/test_Conv2d_padding/";
  const std::string model = argc > 1 ? argv[1] : folder + "model.onnx";
  const std::string input = argc > 2 ? argv[2] : folder + "test_data_set_0/input_0.pb";
  try {
    const Session session = load(model, {.threads = 2});
    const Graph& g = session.graph();
    ValueId first = -1;  // the input that has no value of its own
    for (ValueId v : g.inputs())
      if (first < 0 && !g.entry(v).content) first = v;
    if (first < 0) throw Error(ErrorCode::invalid_argument, model, "the model takes no input");
    const Value image = input.ends_with(".npy") ? read_npy(input) : read_pb(input);
    Outputs out = session.run({{g.entry(first).name, image}});
    const auto scores = out[std::size_t{0}].view<float>();
    std::vector<int64_t> order(static_cast<std::size_t>(scores.size()));
    std::iota(order.begin(), order.end(), 0);
    const std::size_t shown = std::min<std::size_t>(5, order.size());
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end(),
                      [&](int64_t a, int64_t b) { return scores[a] > scores[b]; });
    std::printf("%s: %s, the greatest of %lld results:\n", model.c_str(), out.names()[0].c_str(),
                static_cast<long long>(scores.size()));
    for (std::size_t k = 0; k < shown; ++k)
      std::printf("  %6lld  %g\n", static_cast<long long>(order[k]), static_cast<double>(scores[order[k]]));
  } catch (const Error& e) {
    std::fprintf(stderr, "classify: %s\n", e.what());
    return 1;
  }
}
