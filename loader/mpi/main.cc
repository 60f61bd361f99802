// `tenon-mpi`: runs a model on the processes that mpirun has started.
#include <chrono>
#include <thread>

#include "loader/devices/sharded_model.hpp"
#include "loader/tool/run_request.hpp"
#include "tenon/devices/mpi_transport.hpp"
#include "tenon/simd/arch.hpp"

namespace tenon::TENON_ABI {

void register_com_microsoft(Registry& registry);  // generated

namespace tool {
namespace {

constexpr std::string_view usage = R"(usage: mpirun -n RANKS tenon-mpi run MODEL …

  run MODEL [--configuration NAME] [--gather] [--input NAME=FILE.npy|FILE.pb|random:1x3x224x224]…
      [--shape NAME=N,INPUT=1x3x224x224…]… [--output DIR] [--threads N] [--no-passes] [--time-limit SECONDS]
      [--max-iterations N] [--max-bytes N]
      runs a model once on the devices that its annotations name, device k on rank k, and prints its outputs.
      Rank 0 reads the inputs and writes the outputs; inputs that are not named are random, and the same as in
      `tenon run`. --configuration names one of several device configurations; --gather runs a node whole
      whose annotation cannot be honoured. --threads is the number on each rank
  --help
      this text
  --version
      the version, the compiler, the instruction-set levels that the processor has
)";

void run_model(int rank, Arguments& arguments, const Registry& registry) {
  RunRequest request;
  devices::ShardedOptions options{.load = {.registry = &registry}};
  while (!arguments.empty()) {
    const std::string word = arguments.take();
    if (word == "--configuration") options.configuration = arguments.value(word);
    else if (word == "--gather") options.partition.gather = true;
    else if (!request.takes(word, arguments)) throw UsageError{str_cat("run has no option ", word)};
  }
  if (request.model.empty()) throw UsageError{"run needs a model"};
  options.session = request.session;
  const std::shared_ptr<devices::Transport> transport = devices::mpi_transport();
  const loader::ShardedModel model =
      loader::read_sharded(loader::path_named(request.model), *transport, options);
  devices::ShardedSession session = loader::session_of(model, transport, options.session);
  if (rank != 0) {
    static_cast<void>(session.run({}, request.run));
    return;
  }
  // Of the whole graph: this rank's lacks nodes by which indices are bounded.
  const Feeds feeds = make_feeds(model.graph, request.inputs, request.shapes, request.model);
  const Outputs outputs =
      request.run_once(model.graph, feeds, [&] { return session.run(feeds, request.run); });
  request.show(outputs, outputs.size());
}

void run_rank(int rank, int argc, char** argv) {
  simd::check_request();
  Registry registry = standard_registry();
  register_com_microsoft(registry);
  const Catalog catalog{.registry = &registry};
  Arguments arguments(argc - 1, argv + 1, catalog);
  if (arguments.empty()) throw UsageError{"a command is missing"};
  const std::string command = arguments.take();
  if (command == "--help" || command == "--version") {
    if (rank != 0) return;
    if (command == "--version") print_version();
    else std::fwrite(usage.data(), 1, usage.size(), stdout);
  } else if (command == "run") run_model(rank, arguments, registry);
  else throw UsageError{str_cat("there is no command '", command, "'")};
}

// Ends all ranks. What is wrong on one of them is rank 0's error too, which says it: the others only do if
// rank 0 is still at work after a while.
void end_all(int rank, int status, std::string_view text, std::string_view advice = {}) {
  if (rank != 0) std::this_thread::sleep_for(std::chrono::milliseconds(500));
  print_error(text, "tenon-mpi");
  std::fwrite(advice.data(), 1, advice.size(), stderr);
  std::fflush(nullptr);
  MPI_Abort(MPI_COMM_WORLD, status);
}

}  // namespace
}  // namespace tool
}  // namespace tenon::TENON_ABI

int main(int argc, char** argv) {
  int given = 0, rank = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  namespace tool = tenon::tool;
  try {
    tool::run_rank(rank, argc, argv);
  } catch (const tool::UsageError& e) {
    tool::end_all(rank, 2, e.message, tool::usage);
  } catch (const std::exception& e) {
    tool::end_all(rank, 1, e.what());
  }
  MPI_Finalize();
}
