#include <map>

#include "loader/devices/read_placement.hpp"
#include "loader/devices/sharded_model.hpp"
#include "loader/graph/import.hpp"

namespace tenon::TENON_ABI {

namespace loader {
namespace {

// The weights of a model that are not in its graph: their names, and where their elements lie.
struct Weights {
  std::filesystem::path model;
  std::shared_ptr<ExternalFiles> files{};
  std::map<std::string, onnx::TensorProto, std::less<>> tensors{};

  void add(const onnx::TensorProto& t) {
    expect_external(t, *files);
    tensors.emplace(t.name(), t);
  }
  AnyTensor read(const std::string& name, const AxisPart& part) const {
    return in_file(model, [&] { return read_part(tensors.find(name)->second, *files, part); });
  }
};

}  // namespace

ShardedModel read_sharded(const std::filesystem::path& file, devices::Transport& transport,
                          const devices::ShardedOptions& options) {
  ShardedModel result{{}, {}, options.partition};
  devices::detail::abort_on_failure(transport, [&] {
    const auto weights = std::make_shared<Weights>(Weights{file});
    result.graph = load_without_weights(
        file, options.load, [&](const onnx::ModelProto& model, const std::shared_ptr<ExternalFiles>& files) {
          result.placement = read_placement(model, options.configuration, options.partition.gather);
          weights->files = files;
          for (const auto& t : model.graph().initializer())
            if (is_outside(t)) weights->add(t);
        });
    result.partition.read_constant = [weights](const std::string& name, const AxisPart& part) {
      return weights->read(name, part);
    };
  });
  return result;
}

devices::ShardedSession session_of(const ShardedModel& model,
                                   const std::shared_ptr<devices::Transport>& transport,
                                   const SessionOptions& options) {
  return {model.graph, model.placement, transport, with_standard_passes(options), model.partition};
}

}  // namespace loader

devices::ShardedSession devices::load_sharded(const std::filesystem::path& file,
                                              const std::shared_ptr<Transport>& transport,
                                              const ShardedOptions& options) {
  return loader::session_of(loader::read_sharded(file, *transport, options), transport, options.session);
}

}  // namespace tenon::TENON_ABI
