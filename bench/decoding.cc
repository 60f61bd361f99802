// decoding: times the steps of a language model in Tenon, or its reading of a prompt, with caches in a State:
// see bench/README.md.
#include "decoding.hpp"

#include "tenon/graph/graph.hpp"
#include "tenon/loader.hpp"
#include "tenon/op/com.microsoft.hpp"

namespace {

using namespace tenon;

void bench(const DecodingArguments& a) {
  if (a.words.size() != 1) throw std::invalid_argument("a model");
  Registry registry = standard_registry();
  register_com_microsoft(registry);
  const Graph graph = load_graph(a.words[0], {.registry = &registry});
  StateOptions options;
  options.capacity = a.rows();
  Feeds feeds{{"input_ids", {}}, {"attention_mask", {}}};
  for (const ValueId id : graph.inputs()) {
    const Graph::ValueEntry& e = graph.entry(id);
    if (e.name == feeds[0].first || e.name == feeds[1].first) continue;
    options.pairs.push_back({e.name, present_of(e.name)});
    const int64_t heads = e.info.dims[1].value(), size = e.info.dims[3].value();
    Tensor<float> cache = Tensor<float>::uninitialized(Extents{1, heads, a.rows(), size});
    fill_cache(cache.data(), heads, a.rows(), size, a.past, static_cast<uint32_t>(options.pairs.size()));
    feeds.emplace_back(e.name, std::move(cache));
  }
  State state(options);
  const Session session = load(a.words[0], {.threads = a.threads, .state = &state}, {.registry = &registry});
  Outputs outputs;
  decode(a, [&](const std::vector<int64_t>& tokens, int64_t length) {
    Tensor<int64_t> mask(Extents{1, length});
    std::ranges::fill(mask, 1);
    const auto count = static_cast<int64_t>(tokens.size());
    feeds[0].second = Tensor<int64_t>({1, count}, std::span(tokens));
    feeds[1].second = std::move(mask);
    session.run(feeds, outputs, {.outputs = {"logits"}, .state = &state});
    feeds.resize(2);  // the caches are the state's now
    const TensorView<const float> logits = outputs[0].view<float>();
    return std::span(logits.data(), static_cast<std::size_t>(logits.size()))
        .last(static_cast<std::size_t>(logits.size() / count));
  });
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("usage: decoding MODEL [--threads N] [--past N] [--steps N] [--prompt N]",
                     [&] { bench(DecodingArguments(argc, argv)); });
}
