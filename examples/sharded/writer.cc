// A language model on several ranks, each of which keeps its part of the keys and values of the text: writer
// MODEL.onnx RANKS [BEGINNING]. `tenon shard examples/writer/writer.onnx --devices RANKS -o MODEL.onnx` makes
// the model. The ranks are threads here; processes of an MPI program do the same with mpi_transport().
#include <algorithm>
#include <cstdio>
#include <exception>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tenon/devices/load.hpp"
#include "tenon/devices/thread_transport.hpp"

namespace {

using namespace tenon;
using devices::Transport;

// The letters by their tokens, as the file's metadata lists them.
constexpr std::string_view letters = "\n ,.ABILOTWabcdefghiklmnopqrstuvwxy";
constexpr int layers = 3, length = 60;

// Continues a line by its most likely letters. All ranks make as many runs; rank 0 knows the text.
std::string write(const std::string& file, const std::shared_ptr<Transport>& transport,
                  std::string_view beginning) {
  std::vector<StatePair> pairs;
  for (int l = 0; l < layers; ++l)
    for (const std::string what : {"key_", "value_"})
      pairs.push_back({"past_" + what + std::to_string(l), "present_" + what + std::to_string(l)});
  devices::ShardedSession session = devices::load_sharded(file, transport, {.partition = {.kept = pairs}});
  State state({.pairs = session.kept()});

  std::vector<int64_t> tokens{0};  // a line feed
  for (const char letter : beginning)
    if (const std::size_t at = letters.find(letter); at != letters.npos)
      tokens.push_back(static_cast<int64_t>(at));
  int64_t read = 0;
  for (int step = 0; step < length; ++step) {
    Feeds feeds;
    if (transport->rank() == 0) {
      const int64_t steps = std::ssize(tokens) - read;
      Tensor<int64_t> ids(Extents{1, steps}), places(Extents{1, steps});
      for (int64_t k = 0; k < steps; ++k, ++read) {
        ids[k] = tokens[static_cast<std::size_t>(read)];
        places[k] = read;
      }
      feeds = {{"input_ids", std::move(ids)}, {"position_ids", std::move(places)}};
    }
    const Outputs outputs = session.run(feeds, {.state = &state});
    if (transport->rank() != 0) continue;
    const auto logits = outputs["logits"].view<float>();
    const float* const end = logits.data() + logits.size();
    const float* const last = end - std::ssize(letters);
    tokens.push_back(std::max_element(last, end) - last);
  }
  std::printf("rank %d keeps %lld bytes of keys and values\n", transport->rank(),
              static_cast<long long>(state.bytes()));
  std::string text;
  for (const int64_t token : tokens)
    if (token != 0) text += letters[static_cast<std::size_t>(token)];
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 3) throw std::invalid_argument("usage: writer MODEL.onnx RANKS [BEGINNING]");
    const std::string beginning = argc > 3 ? argv[3] : "At dawn";
    std::string text;
    std::exception_ptr failed;
    std::vector<std::thread> threads;
    for (const auto& transport : devices::thread_transports(std::stoi(argv[2])))
      threads.emplace_back([&, transport] {
        try {
          const std::string all = write(argv[1], transport, beginning);
          if (transport->rank() == 0) text = all;
        } catch (...) {  // all ranks fail, with the reason
          if (transport->rank() == 0) failed = std::current_exception();
        }
      });
    for (std::thread& t : threads) t.join();
    if (failed) std::rethrow_exception(failed);
    std::printf("%s\n", text.c_str());
  } catch (const std::exception& e) {
    std::fprintf(stderr, "writer: %s\n", e.what());
    return 1;
  }
}
