// Beam search: of all sentences of four words the likeliest, found without looking at all of them.
#include <cmath>
#include <cstdio>
#include <string>

#include "tenon/array/math.hpp"
#include "tenon/op/math/top_k.hpp"
#include "tenon/op/tensor/gather.hpp"

namespace {
using namespace tenon;

constexpr int64_t V = 8, length = 4;
constexpr const char* word[V] = {"the", "a", "cat", "dog", "sleeps", "barks", "softly", "loudly"};

struct Sentence {
  std::string text;
  float score;  // the logarithm of its probability
};

// `start` has the logarithm of each word's probability to come first, next(i, j) of j's to follow i.
template <int64_t Beams>
Sentence search(const Tensor<float, Shape<V>>& start, const Tensor<float, Shape<V, V>>& next) {
  auto [score, last] = apply<op::TopK{}>(start, constant<int64_t, Beams>);
  std::string text[Beams], longer[Beams];
  for (int64_t b = 0; b < Beams; ++b) text[b] = word[last[b]];
  for (int k = 1; k < length; ++k) {
    // Every beam goes on with every word: (Beams, 1) + (Beams, V).
    const auto all = reshape<-1, 1>(score) + apply<op::Gather{}>(next, last);
    auto [best, place] = apply<op::TopK{}>(reshape<-1>(all), constant<int64_t, Beams>);
    for (int64_t b = 0; b < Beams; ++b) {
      last[b] = place[b] % V;
      longer[b] = text[place[b] / V] + " " + word[last[b]];
    }
    score = std::move(best);
    std::swap(text, longer);
  }
  return {text[0], score[0]};
}

// The scores of all V * V * V * V sentences: s(i, j, k, l) = start(i) + next(i, j) + next(j, k) + next(k, l).
Sentence exhaustive(const Tensor<float, Shape<V>>& start, const Tensor<float, Shape<V, V>>& next) {
  const Tensor<float, Shape<V, V, V, V>> s =
      reshape<V, 1, 1, 1>(start) + reshape<V, V, 1, 1>(next) + reshape<V, V, 1>(next) + next;
  const int64_t place = argmax<0>(reshape<-1>(s)).item();
  std::string text = word[place % V];
  for (int64_t rest = place / V, k = 1; k < length; ++k, rest /= V) text = word[rest % V] + (" " + text);
  return {text, s[place]};
}
}  // namespace

int main() {
  const Tensor<float, Shape<V>> start = log(Tensor<float, Shape<V>>{0.6f, 0.4f, 0, 0, 0, 0, 0, 0});
  const Tensor<float, Shape<V, V>> follows{{0, 0, 0.35f, 0.45f, 0.1f, 0.1f, 0, 0},  // the
                                           {0, 0, 0.9f, 0.1f, 0, 0, 0, 0},          // a
                                           {0, 0, 0, 0, 0.8f, 0.1f, 0.1f, 0},       // cat
                                           {0, 0, 0, 0, 0.4f, 0.5f, 0, 0.1f},       // dog
                                           {0.1f, 0, 0, 0, 0, 0, 0.7f, 0.2f},       // sleeps
                                           {0.2f, 0.1f, 0, 0, 0, 0, 0.1f, 0.6f},    // barks
                                           {0.5f, 0.5f, 0, 0, 0, 0, 0, 0},          // softly
                                           {0.5f, 0.5f, 0, 0, 0, 0, 0, 0}};         // loudly
  const Tensor<float, Shape<V, V>> next = log(follows);
  const Sentence greedy = search<1>(start, next), beam = search<3>(start, next),
                 best = exhaustive(start, next);
  for (const auto& [name, s] : {std::pair{"one beam", greedy}, {"three beams", beam}, {"all 4096", best}})
    std::printf("%-12s %-22s %.3f\n", name, s.text.c_str(), std::exp(static_cast<double>(s.score)));
  return beam.text == best.text && greedy.score < best.score ? 0 : 1;
}
