// Models that commands read and write whole.
#pragma once

#include "loader/format/save.hpp"
#include "loader/tool/command.hpp"
#include "loader/tool/suite.hpp"
#include "loader/tool/text.hpp"

namespace tenon::TENON_ABI::tool {

/// A model in the format that the file's name says. Errors name the file.
onnx::ModelProto read_model(const std::filesystem::path& file);
/// A model without the raw data of its large tensors, which are represented as external data without a
/// location. It suffices for commands that describe models, and takes little memory for a file of any size.
onnx::ModelProto read_outline(const std::filesystem::path& file);

/// Where a command writes a model, and how: the options "-o FILE" and "--external BYTES".
class ModelOutput {
 public:
  /// Consumes a word of the command line, with its value, if it is one of the options; returns whether it is.
  bool takes(const std::string& word, Arguments& arguments) {
    if (word == "-o") file_ = arguments.file(word);
    else if (word == "--external") options_.external_threshold = arguments.integer(word, 0, INT64_MAX);
    else return false;
    return true;
  }
  bool is_given() const { return !file_.empty(); }
  /// Larger tensors go to a file next to the model, unless an option decides otherwise.
  void prefer_external() {
    constexpr int64_t bytes = 1024;  // the threshold at which ONNX's own function moves them
    if (!options_.external_threshold) options_.external_threshold = bytes;
  }
  /// Writes a model, with external data from a folder; "" for models without external data.
  void write(onnx::ModelProto model, const std::filesystem::path& folder) const {
    loader::DataSource source;
    if (!folder.empty()) source.external = std::make_shared<loader::ExternalFiles>(folder);
    loader::save_model(std::move(model), file_, options_, source);
  }

 private:
  std::filesystem::path file_;
  SaveOptions options_;
};

}  // namespace tenon::TENON_ABI::tool
