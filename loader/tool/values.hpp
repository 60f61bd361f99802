// The values of runs: from files, made up, and to files.
#pragma once

#include <set>

#include "loader/tool/command.hpp"

namespace tenon::TENON_ABI::tool {

/// An input of a run: a file, "random:1x3x224x224", or "" for one that is made up with the declared extents.
struct InputSource {
  std::string name, source;
};
/// "image=cat.npy". UsageError otherwise.
InputSource parse_input(std::string_view option, const std::string& given);

/// The inputs of a run, from their sources. Inputs without a source are made up, the same in every run, or
/// left out if they have a value of their own. Refers to the graph's names. Error for a source whose name is
/// no input's.
Feeds make_feeds(const Graph& graph, std::span<const InputSource> sources, const std::string& model);

/// The value of an input from a .npy or .pb file. UsageError for files of other names.
Value read_value(const Graph::ValueEntry& input, const std::filesystem::path& file);
/// The file of a value in a folder: NAME.npy, or else NAME.pb, with the name as file_stem has it. "" where
/// neither is there.
std::filesystem::path file_of_value(const std::filesystem::path& folder, std::string_view name);
/// folder/stem_0.pb and so on.
std::vector<std::filesystem::path> numbered(const std::filesystem::path& folder, std::string_view stem);
/// Old ONNX cases have bfloat16 as uint16 of the same bits, because numpy had no bfloat16.
Value as_declared(Value value, Type declared);
/// The inputs of a folder in the layout of ONNX's backend tests, input_0.pb and so on. The files are for the
/// inputs without a value of their own, in order. If there are more files, they are for all inputs.
Feeds read_data_set(const Graph& graph, const std::filesystem::path& set);
/// The inputs of a folder in that layout, or with files of the inputs' names. Inputs that it lacks are made
/// up.
Feeds read_inputs(const Graph& graph, const std::filesystem::path& folder, const std::string& model);

/// The name of a value's file without extension. Values' names may hold any character and be of any length;
/// files' names may not.
std::string file_stem(std::string_view name);

/// Values as files of one folder, .npy where numpy has the type, else .pb.
class ValueFiles {
 public:
  explicit ValueFiles(std::filesystem::path folder);
  /// Names that become the same file name are told apart by a number.
  void write(const std::string& name, const Value& value);
  /// Writes values.tsv: the file of each name.
  void write_table() const;

 private:
  std::filesystem::path folder_;
  std::set<std::string> taken_;
  std::string table_;
};

}  // namespace tenon::TENON_ABI::tool
