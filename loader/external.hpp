// External data: tensors whose elements lie in files beside the model.
#pragma once

#include <functional>
#include <map>

#include "loader/file.hpp"
#include "loader/onnx.pb.h"

namespace tenon::TENON_ABI::loader {

/// A reference to external data, as a tensor's entries state it.
struct ExternalReference {
  std::string location;  ///< of the file, relative to the model's folder
  int64_t offset = 0;    ///< of the first byte
  int64_t size =
      0;  ///< in bytes: as the extents and the type want it, which a stated length has to agree with
  std::string checksum;  ///< SHA-1 of the whole file, in hexadecimal digits; "" if it is not stated
};

inline bool is_external(const onnx::TensorProto& t) {
  return t.data_location() == onnx::TensorProto::EXTERNAL;
}

/// Reads the entries. No file is looked at. Error{invalid_model}: no location, an absolute one, one with `..`
/// or a backslash or a drive; keys that ONNX does not have, or twice; numbers that are none or negative; a
/// length that is not the tensor's; strings. The key "basepath" means nothing: a model cannot say where it
/// is.
ExternalReference read_reference(const onnx::TensorProto& t);
/// Makes a tensor refer to external data in place of its own elements.
void set_reference(onnx::TensorProto& t, const ExternalReference& reference);
/// The other way: elements that are raw data in the message, and nowhere else.
void embed(onnx::TensorProto& t, const FileBytes& data);
/// Whether a file may have the name in a reference; else Error{invalid_model} that says why.
void check_location(const std::string& location);

/// The files around one model that its external data lies in. Each is mapped once, however many tensors lie
/// in it and whatever names they have for it.
///
/// A file has to lie in the model's folder. Symbolic links on the way to it are refused, and hard links,
/// since either may show a file from elsewhere; folders on the way to the model's folder may be links. All of
/// this is asked of the file once it is open, not of its name, so that replacing the file in between changes
/// nothing. Files that are not regular are refused before anything is read of them.
///
/// A trusted root is a folder in which nobody puts files that should not be read. With one, links of both
/// kinds may lead to files within it, or within the model's folder: caches that keep each file once are made
/// of links.
class ExternalFiles {
 public:
  explicit ExternalFiles(std::filesystem::path folder, std::filesystem::path trusted_root = {})
      : folder_(std::move(folder)), trusted_root_(std::move(trusted_root)) {}

  ExternalFiles(const ExternalFiles&) = delete;
  ExternalFiles& operator=(const ExternalFiles&) = delete;

  /// The elements of a tensor. Error{invalid_model}: references that read_reference refuses, files that are
  /// refused as above, or whose bytes do not have the checksum, segments beyond a file's end, and segments
  /// that overlap another tensor's without being the same. Error{io} when the folder cannot be opened.
  FileBytes find(const onnx::TensorProto& t);
  /// Error{io} where a file that was mapped was written to since.
  void check_unchanged() const;

  const std::filesystem::path& folder() const { return folder_; }

 private:
  struct File {
    std::shared_ptr<const MappedFile> mapped;
    std::map<int64_t, int64_t> segments;  // from where to where
    std::string digest;                   // "" until it is asked for
  };
  using Identity = std::pair<uint64_t, uint64_t>;  // device and number of the file on it

  Descriptor open(const std::string& location) const;
  File& file(const std::string& location);

  std::filesystem::path folder_, trusted_root_;
  std::map<Identity, File> files_;
  std::map<std::string, File*> by_location_;
};

/// Calls f(tensor, in_attribute) with every tensor of a model: initializers and attributes, sparse tensors'
/// values and indices, in bodies, functions and training graphs too.
void for_each_tensor(onnx::ModelProto& model, const std::function<void(onnx::TensorProto&, bool)>& f);
/// Brings external data into the model's message. Whether there was any.
bool embed_external_data(onnx::ModelProto& model, ExternalFiles& files);

}  // namespace tenon::TENON_ABI::loader
