// What `run` is told on a command line, for each program that has the command.
#pragma once

#include <functional>

#include "loader/tool/shapes.hpp"
#include "loader/tool/values.hpp"
#include "tenon/loader.hpp"

namespace tenon::TENON_ABI::tool {

/// The model of a run, its inputs, and where its outputs go.
struct RunRequest {
  std::string model;
  std::filesystem::path output{};
  std::vector<InputSource> inputs{};
  ShapeSet shapes{};
  SessionOptions session{};
  RunOptions run{};

  /// Consumes a word of the command line, with its value, if it is one of these options or the model; returns
  /// whether it is.
  bool takes(const std::string& word, Arguments& arguments);
  /// Calls f(), a run of these feeds. Its error says how to state extents that the tool chose.
  Outputs run_once(const Graph& graph, const Feeds& feeds, const std::function<Outputs()>& f) const;
  /// Prints the first `count` values, and writes them to the folder that --output names.
  void show(const Outputs& values, std::size_t count) const;
};

}  // namespace tenon::TENON_ABI::tool
