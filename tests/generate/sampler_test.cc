#include "tenon/generate/sampler.hpp"

#include <doctest/doctest.h>

#include <map>
#include <numeric>

#include "tests/graph/build.hpp"

namespace tenon {
using namespace test;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

/// The probability of each token by the definitions, which sort the whole vocabulary.
std::vector<double> by_definition(const std::vector<float>& logits, const GenerateOptions& o) {
  std::vector<std::size_t> order(logits.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  });
  std::vector<double> p(logits.size());
  const auto normalise = [&] {
    const double sum = std::accumulate(p.begin(), p.end(), 0.0);
    for (double& x : p) x /= sum;
  };
  for (std::size_t k = 0; k < order.size(); ++k)
    if (o.top_k == 0 || static_cast<int64_t>(k) < o.top_k)
      p[order[k]] = std::exp((static_cast<double>(logits[order[k]]) - logits[order[0]]) / o.temperature);
  normalise();
  double sum = 0;
  for (const std::size_t token : order) {
    if (token != order[0] && sum >= o.top_p) p[token] = 0;
    sum += p[token];
  }
  for (const std::size_t token : order)
    if (p[token] < o.min_p * p[order[0]]) p[token] = 0;
  normalise();
  return p;
}

/// The share of all 64-bit numbers with which `choose` returns each token, by bisection for its limits.
std::vector<double> by_sampler(const std::vector<float>& logits, const GenerateOptions& o) {
  Sampler s(o);
  std::vector<double> p(logits.size());
  uint64_t first = 0;
  while (true) {
    const int token = s.choose(logits, first);
    uint64_t last = first, beyond = ~uint64_t{0};
    if (s.choose(logits, beyond) == token) last = beyond;
    while (last != beyond && last + 1 < beyond) {
      const uint64_t middle = last + (beyond - last) / 2;
      (s.choose(logits, middle) == token ? last : beyond) = middle;
    }
    p[static_cast<std::size_t>(token)] += (static_cast<double>(last - first) + 1) * 0x1p-64;
    if (last == ~uint64_t{0}) return p;
    first = last + 1;
  }
}

}  // namespace

TEST_CASE("Sampler: the probabilities are the ones of the definitions") {
  const std::vector<std::vector<float>> rows = {{1, 2, 3, 4, 0.5f},
                                                {0, 0, 0, 0},
                                                {-1, 5, 5, -infinity, 2, 5},
                                                {7},
                                                {0.1f, -0.2f, 0.3f, 1.7f, -3, 2.5f, 2.4f}};
  for (const auto& logits : rows)
    for (const float temperature : {0.5f, 1.0f, 2.5f})
      for (const int64_t top_k : {0, 2, 3, 100})
        for (const float top_p : {0.0f, 0.3f, 0.81f, 1.0f})
          for (const float min_p : {0.0f, 0.2f, 1.0f}) {
            const GenerateOptions o{
                .temperature = temperature, .top_k = top_k, .top_p = top_p, .min_p = min_p};
            const std::vector<double> expected = by_definition(logits, o), got = by_sampler(logits, o);
            for (std::size_t k = 0; k < logits.size(); ++k) {
              CAPTURE(k);
              CAPTURE(temperature);
              CAPTURE(top_k);
              CAPTURE(top_p);
              CAPTURE(min_p);
              CHECK(got[k] == doctest::Approx(expected[k]).epsilon(1e-8));
            }
          }
}

TEST_CASE("Sampler: a seed gives the same tokens everywhere") {
  const GenerateOptions o{.temperature = 1, .seed = 7};
  Sampler s(o);
  // Probabilities 1/8, 1/8, 1/4, 1/2.
  const std::vector<float> logits = {0, 0, std::log(2.0f), std::log(4.0f)};
  std::map<int, int> counts;
  for (int64_t k = 0; k < 8000; ++k) ++counts[s.choose(logits, s.random(0, k))];
  CHECK(counts == std::map<int, int>{{0, 983}, {1, 996}, {2, 1955}, {3, 4066}});
  CHECK(s.random(0, 0) != s.random(0, 1));
  CHECK(s.random(0, 1) != s.random(1, 0));
  const GenerateOptions other{.temperature = 1, .seed = 8};
  CHECK(Sampler(other).random(0, 0) != s.random(0, 0));
}

TEST_CASE("Sampler: greedy") {
  const GenerateOptions o;
  Sampler s(o);
  CHECK(s.choose(std::vector<float>{1, 3, 2, 3}, 12345) == 1);
  CHECK(s.choose(std::vector<float>{-infinity, -7}, 0) == 1);
  CHECK(s.choose(std::vector<float>{0, infinity, 0}, 0) == 1);
  const GenerateOptions one{.temperature = 2, .top_k = 1};
  CHECK(Sampler(one).choose(std::vector<float>{1, 3, 2, 3}, ~uint64_t{0}) == 1);
  check_error([&] { return s.choose(std::vector<float>{1, NAN, 2}, 0); }, {"a logit is not a number"});
  check_error([&] { return s.choose(std::vector<float>{NAN, 1}, 0); }, {"a logit is not a number"});
  check_error([&] { return s.choose(std::vector<float>{-infinity, -infinity}, 0); }, {"no token is left"});
  check_error([&] { return s.choose({}, 0); }, {"no token is left"});
}

TEST_CASE("Sampler: repetition penalty, once for each token") {
  const GenerateOptions o{.repetition_penalty = 2};
  const Sampler s(o);
  SeenTokens seen;
  std::vector<float> logits = {4, -4, 1, 0};
  s.penalise(logits, seen, std::vector<int>{0, 1, 0, 100, -1});
  CHECK(logits == std::vector<float>{2, -8, 1, 0});
  logits = {4, -4, 1, 0};
  s.penalise(logits, seen, std::vector<int>{0, 1, 0, 100, -1, 2});
  CHECK(logits == std::vector<float>{2, -8, 0.5f, 0});
  const GenerateOptions none;
  Sampler(none).penalise(logits, seen, std::vector<int>{0, 1});
  CHECK(logits == std::vector<float>{2, -8, 0.5f, 0});
}

TEST_CASE("Sampler: options out of range") {
  const auto refused = [](const GenerateOptions& o, std::string_view name) {
    check_error([&] { Sampler{o}; }, {"generator", name, "is out of range"});
  };
  refused({.temperature = -1}, "temperature");
  refused({.temperature = NAN}, "temperature");
  refused({.top_k = -1}, "top_k");
  refused({.top_p = 1.5f}, "top_p");
  refused({.min_p = -0.5f}, "min_p");
  refused({.repetition_penalty = 0}, "repetition_penalty");
}

}  // namespace tenon
