// What the programs that time a language model's steps share: their arguments, the caches before the first
// step, and the line that they print.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

struct DecodingArguments {
  std::vector<std::string> words;  // that are no options
  std::string level;
  int threads = 1;
  std::int64_t past = 512, steps = 16;
  std::int64_t prompt =
      0;  // tokens of every step, which then starts from `past` again; 0: each follows another

  /// Throws std::invalid_argument.
  DecodingArguments(int argc, char** argv) {
    for (int k = 1; k < argc; ++k) {
      const std::string_view word = argv[k];
      if (!word.starts_with("--")) {
        words.emplace_back(word);
        continue;
      }
      if (++k == argc) throw std::invalid_argument("a value is missing");
      if (word == "--threads") threads = std::stoi(argv[k]);
      else if (word == "--past") past = std::stoll(argv[k]);
      else if (word == "--steps") steps = std::stoll(argv[k]);
      else if (word == "--prompt") prompt = std::stoll(argv[k]);
      else if (word == "--level") level = argv[k];
      else throw std::invalid_argument(std::string(word));
    }
    if (past < 0 || prompt < 0 || steps < 1)
      throw std::invalid_argument("--steps is 1 or more, --past and --prompt 0 or more");
  }
  /// Rows of a cache that holds all steps.
  std::int64_t rows() const { return past + (prompt > 0 ? prompt : steps); }
};

/// The present that replaces a past.
inline std::string present_of(std::string past) {
  constexpr std::string_view prefix = "past_key_values";
  if (!past.starts_with(prefix)) throw std::runtime_error("input '" + past + "' is no cache");
  return past.replace(0, prefix.size(), "present");
}

/// Fills the first `past` rows of each head of a cache (heads, rows, size), alike in each program.
inline void fill_cache(float* cache, std::int64_t heads, std::int64_t rows, std::int64_t size,
                       std::int64_t past, std::uint32_t seed) {
  std::uint32_t x = seed * 2 + 1;
  for (std::int64_t h = 0; h < heads; ++h, cache += rows * size) {
    for (std::int64_t k = 0; k < past * size; ++k) {
      x ^= x << 13, x ^= x >> 17, x ^= x << 5;
      cache[k] = static_cast<float>(static_cast<std::int32_t>(x)) * 0x1p-31f;
    }
    std::fill(cache + past * size, cache + rows * size, 0.0f);
  }
}

// The peak resident size in MB. Not from getrusage, which reports the parent's peak if that was greater.
inline double peak_mb() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::strtod(line.c_str() + 6, nullptr) / 1024;
  return 0;
}

/// Decodes greedily, or reads a prompt as often, and prints the times of the steps, the tokens that follow
/// them, and by how much of the greatest logit each exceeds the next one. step(tokens, length) runs the model
/// on tokens that make the text `length` long, and returns the logits after the last one.
template <class Step>
void decode(const DecodingArguments& a, Step step) {
  std::vector<double> ms;
  std::string followers, margins;
  std::vector<std::int64_t> tokens(static_cast<std::size_t>(std::max<std::int64_t>(a.prompt, 1)), 1);
  std::uint32_t x = 1;
  for (std::int64_t& token : tokens) token = (x = x * 1664525 + 1013904223) >> 18;  // below 16,384
  for (std::int64_t k = 0; k < a.steps; ++k) {
    const auto begin = std::chrono::steady_clock::now();
    const std::span<const float> logits = step(tokens, a.prompt > 0 ? a.rows() : a.past + k + 1);
    ms.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
    const auto best = std::max_element(logits.begin(), logits.end());
    float second = *std::min_element(logits.begin(), logits.end());
    for (auto at = logits.begin(); at != logits.end(); ++at)
      if (at != best) second = std::max(second, *at);
    const std::int64_t follower = best - logits.begin();
    if (a.prompt == 0) tokens[0] = follower;
    followers += (k == 0 ? "" : ", ") + std::to_string(follower);
    margins += (k == 0 ? "" : ", ") + std::to_string((*best - second) / *best);
  }
  std::sort(ms.begin(), ms.end());
  std::printf(
      "{\"min_ms\": %.6f, \"median_ms\": %.6f, \"rss_mb\": %.1f, \"tokens\": [%s], \"margins\": [%s]}\n",
      ms[0], ms[ms.size() / 2], peak_mb(), followers.c_str(), margins.c_str());
}

/// Runs main's body, whose errors are printed.
template <class Body>
int run_program(const char* usage, Body body) {
  try {
    body();
    std::fflush(stdout);
    return 0;
  } catch (const std::invalid_argument& e) {
    std::fprintf(stderr, "%s\n%s\n", e.what(), usage);
    return 2;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}

}  // namespace
