// External data: tensors whose elements are stored in files next to the model.
#pragma once

#include <functional>
#include <map>

#include "loader/format/file.hpp"
#include "loader/onnx.pb.h"

namespace tenon::TENON_ABI::loader {

/// A reference to external data, as a tensor's entries state it.
struct ExternalReference {
  std::string location;  ///< of the file, relative to the model's folder
  int64_t offset = 0;    ///< of the first byte
  int64_t size = 0;      ///< in bytes, as extents and type require; a stated length must equal it
  std::string checksum;  ///< SHA-1 of the whole file, in hexadecimal digits; "" if not stated
};

inline bool is_external(const onnx::TensorProto& t) {
  return t.data_location() == onnx::TensorProto::EXTERNAL;
}

/// Reads the entries without touching any file. Error{invalid_model}: no location, or one that is absolute or
/// not UTF-8, or contains `..`, a backslash or a drive; unknown or repeated keys; invalid or negative
/// numbers; a length that does not match the tensor's; string tensors. The key "basepath" is ignored: a model
/// cannot say where it is.
ExternalReference read_reference(const onnx::TensorProto& t);
/// Makes a tensor refer to external data in place of its own elements.
void set_reference(onnx::TensorProto& t, const ExternalReference& reference);
/// The reverse: the elements become raw data in the message, and nothing else.
void embed(onnx::TensorProto& t, const FileBytes& data);
/// Checks that a file may have the name in a reference; else Error{invalid_model} that says why.
void check_location(const std::string& location);

/// How the files of external data are mapped.
enum class Mapping : uint8_t {
  whole,   ///< each file once, however many tensors it holds and whatever names they use for it
  pieces,  ///< what is requested by itself, for a process that needs few of a large model's bytes
};

/// The files that hold the external data of one model.
///
/// A file must lie in the model's folder. Symbolic links on the way to it are refused, and so are hard links,
/// since either may expose a file from elsewhere; folders on the way to the model's folder may be links. All
/// of this is checked on the open file, not on its name, so that replacing the file in between changes
/// nothing. Files that are not regular are refused before anything is read from them.
///
/// A trusted root is a folder that contains nothing a model must not read. With one, links of both kinds may
/// lead to files within it, or within the model's folder: caches that store each file once consist of links.
class ExternalFiles {
 public:
  explicit ExternalFiles(std::filesystem::path folder, std::filesystem::path trusted_root = {},
                         Mapping mapping = Mapping::whole)
      : folder_(std::move(folder)), trusted_root_(std::move(trusted_root)), mapping_(mapping) {}

  ExternalFiles(const ExternalFiles&) = delete;
  ExternalFiles& operator=(const ExternalFiles&) = delete;

  /// The elements of a tensor. Error{invalid_model}: references that read_reference refuses, files that are
  /// refused as above, or do not match the checksum, segments past a file's end, and segments that overlap
  /// another tensor's without being identical. Error{io} if the folder cannot be opened.
  FileBytes find(const onnx::TensorProto& t);
  /// The errors of `find`, without mapping anything.
  void expect(const onnx::TensorProto& t);
  /// `size` bytes from `first` of the elements of a tensor that `expect` has accepted, mapped by themselves.
  /// Error{io} if another file has the name by now, or the file has been written to.
  FileBytes find(const onnx::TensorProto& t, int64_t first, int64_t size);
  /// The file that holds the elements of a tensor that `find` has accepted, and where they begin. Error{io}
  /// as above.
  std::pair<Descriptor, int64_t> open_data(const onnx::TensorProto& t);
  /// Error{io} if a mapped file has been written to since.
  void check_unchanged() const;

  const std::filesystem::path& folder() const { return folder_; }

 private:
  struct File {
    os::Status status;
    std::shared_ptr<const MappedFile> mapped;  // whole, or null
    std::map<int64_t, int64_t> segments;       // begin to end
    std::string digest;                        // "" until requested
  };
  using Identity = std::pair<uint64_t, uint64_t>;  // device and inode number

  Descriptor open(const std::string& location) const;
  // The same for a file that has been seen.
  Descriptor open_again(const std::string& location, const File& f) const;
  File& file(const std::string& location);
  // Checks a reference, whose file it returns.
  File& expect(const ExternalReference& r);
  void check_digest(const ExternalReference& r, File& f) const;
  FileBytes map(const ExternalReference& r, const File& f, int64_t first, int64_t size) const;

  std::filesystem::path folder_, trusted_root_;
  Mapping mapping_;
  std::map<Identity, File> files_;
  std::map<std::string, File*> by_location_;
};

/// Calls f(tensor, in_attribute) with every tensor of a model: initializers and attributes, sparse tensors'
/// values and indices, in bodies, functions and training graphs too.
void for_each_tensor(onnx::ModelProto& model, const std::function<void(onnx::TensorProto&, bool)>& f);
/// Moves external data into the model's message. Returns whether there was any.
bool embed_external_data(onnx::ModelProto& model, ExternalFiles& files);

}  // namespace tenon::TENON_ABI::loader
