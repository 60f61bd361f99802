#include "loader/format/external.hpp"

#include <algorithm>
#include <charconv>
#include <set>

#include "loader/format/sha1.hpp"
#include "loader/format/wire.hpp"
#include "loader/text/text_words.hpp"
#include "tenon/base/types.hpp"
#include "tenon/base/utf8.hpp"

namespace tenon::TENON_ABI::loader {
namespace {

namespace fs = std::filesystem;

Error refusal(const std::string& what) { return {ErrorCode::invalid_model, "external data", what}; }
Error refusal(const std::string& location, const std::string& what) {
  return {ErrorCode::invalid_model, str_cat("external data '", location, "'"), what};
}

int64_t read_number(const std::string& key, const std::string& text) {
  int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || value < 0)
    throw refusal(str_cat("its ", key, " is '", text, "', no number of bytes"));
  return value;
}

}  // namespace

void check_location(const std::string& location) {
  if (location.empty()) throw refusal(location, "not a path");
  // A message would lose the text after a zero byte.
  if (location.find('\0') != location.npos) throw refusal("its location has a byte of zero");
  if (!detail::is_utf8(location)) throw refusal(location, "the path is not UTF-8");
  if (location.find('\\') != location.npos) throw refusal(location, "the path has a backslash");
  if (begins_name(location[0]) && location[0] != '_' && location.size() > 1 && location[1] == ':')
    throw refusal(location, "the path names a drive");
  // Not path::is_absolute, which on Windows is false for the root of a drive that is not named.
  if (location[0] == '/') throw refusal(location, "the path is absolute");
  const fs::path path = path_named(location);
  if (std::find(path.begin(), path.end(), "..") != path.end())
    throw refusal(location, "the path leaves the model's folder");
}

ExternalReference read_reference(const onnx::TensorProto& t) {
  ExternalReference r;
  int64_t length = -1;
  bool located = false;
  std::set<std::string_view> keys;
  std::string unknown;
  for (const auto& entry : t.external_data()) {
    // Raw data in addition to the reference is ignored, wherever it is.
    if (entry.key() == mapped_key) continue;
    if (!keys.insert(entry.key()).second) throw refusal(str_cat("it has the key '", entry.key(), "' twice"));
    if (entry.key() == "location") r.location = entry.value(), located = true;
    else if (entry.key() == "offset") r.offset = read_number(entry.key(), entry.value());
    else if (entry.key() == "length") length = read_number(entry.key(), entry.value());
    else if (entry.key() == "checksum") r.checksum = entry.value();
    else if (entry.key() != "basepath") unknown += str_cat(unknown.empty() ? "'" : ", '", entry.key(), "'");
  }
  if (!unknown.empty()) throw refusal(str_cat("it has keys that are not allowed: ", unknown));
  if (!located) throw refusal("it has no location");
  check_location(r.location);
  const DType d = dtype_from_onnx(t.data_type());
  if (d == DType::string) throw refusal(r.location, "strings cannot be external");
  if (d == DType::undefined) {
    if (length < 0) throw refusal(r.location, str_cat("no length, for elements of type ", t.data_type()));
    r.size = length;
    return r;
  }
  const int64_t count = elements_of(t);
  if (count < 0) throw refusal(r.location, "the tensor has no valid extents");
  try {
    r.size = packed_bytes(count, d);
  } catch (const Error& e) {
    throw refusal(r.location, e.message());
  }
  if (length >= 0 && length != r.size)
    throw refusal(r.location, str_cat("it has ", length, " bytes, ", r.size, " are needed"));
  return r;
}

void set_reference(onnx::TensorProto& t, const ExternalReference& reference) {
  t.clear_raw_data(), t.clear_float_data(), t.clear_double_data(), t.clear_int32_data(), t.clear_int64_data();
  t.clear_uint64_data(), t.clear_string_data(), t.clear_external_data();
  t.set_data_location(onnx::TensorProto::EXTERNAL);
  const auto add = [&](const char* key, std::string value) {
    auto* entry = t.add_external_data();
    entry->set_key(key);
    entry->set_value(std::move(value));
  };
  add("location", reference.location);
  add("offset", std::to_string(reference.offset));
  add("length", std::to_string(reference.size));
  if (!reference.checksum.empty()) add("checksum", reference.checksum);
}

Descriptor ExternalFiles::open(const std::string& location) const {
  const fs::path path = path_named(location);
  os::Opened opened =
      trusted_root_.empty() ? os::open_beneath(folder_, path) : os::open_within(trusted_root_, folder_, path);
  if (!opened.file) throw refusal(location, opened.refusal);
  return std::move(opened.file);
}

Descriptor ExternalFiles::open_again(const std::string& location, const File& f) const {
  Descriptor d = open(location);
  const std::optional<os::Status> now = os::status_of(d);
  if (!now) throw refusal(location, os::last_error());
  if (!(*now == f.status))
    throw Error(ErrorCode::io, str_cat("external data '", location, "'"),
                "was replaced or written to after it was first read");
  return d;
}

ExternalFiles::File& ExternalFiles::file(const std::string& location) {
  if (const auto it = by_location_.find(location); it != by_location_.end()) return *it->second;
  const Descriptor d = open(location);
  const std::optional<os::Status> status = os::status_of(d);
  if (!status) throw refusal(location, os::last_error());
  const auto [it, added] = files_.try_emplace({status->device, status->index});
  File& f = it->second;
  if (added) f.status = *status;
  if (mapping_ == Mapping::whole && !f.mapped)
    f.mapped = MappedFile::map(d, str_cat("external data '", location, "'"), f.status, 0,
                               static_cast<std::size_t>(f.status.size));
  by_location_.emplace(location, &f);
  return f;
}

void ExternalFiles::check_unchanged() const {
  for (const auto& [location, file] : by_location_)
    if (file->mapped) file->mapped->check_unchanged(folder_ / path_named(location));
}

FileBytes ExternalFiles::map(const ExternalReference& r, const File& f, int64_t first, int64_t size) const {
  const auto offset = static_cast<std::size_t>(r.offset + first), count = static_cast<std::size_t>(size);
  if (f.mapped) return {f.mapped->bytes().subspan(offset, count), f.mapped};
  const Descriptor d = open_again(r.location, f);
  auto part = MappedFile::map(d, str_cat("external data '", r.location, "'"), f.status, offset, count);
  const auto bytes = part->bytes();
  return {bytes, std::move(part)};
}

void ExternalFiles::check_digest(const ExternalReference& r, File& f) const {
  if (f.digest.empty()) {
    constexpr int64_t part = 16 << 20;  // bounds the memory meanwhile
    Sha1 digest;
    ExternalReference all = r;
    all.offset = 0;
    for (int64_t at = 0; at < f.status.size; at += part) {
      const FileBytes piece = map(all, f, at, std::min(part, f.status.size - at));
      digest.add(piece.bytes);
      piece.forget();
    }
    f.digest = digest.hex();
  }
  const auto same = [](char a, char b) { return a == (b >= 'A' && b <= 'F' ? b - 'A' + 'a' : b); };
  if (!std::equal(f.digest.begin(), f.digest.end(), r.checksum.begin(), r.checksum.end(), same))
    throw refusal(r.location, str_cat("the checksum of the file is ", f.digest, ", not '", r.checksum, "'"));
}

ExternalFiles::File& ExternalFiles::expect(const ExternalReference& r) {
  File& f = file(r.location);
  const int64_t available = f.status.size;
  if (r.offset > available || r.size > available - r.offset)
    throw refusal(r.location,
                  str_cat(r.size, " bytes at ", r.offset, ": this reaches beyond the file's ", available));
  if (!r.checksum.empty()) check_digest(r, f);
  if (r.size > 0) {
    const int64_t end = r.offset + r.size;
    const auto next = f.segments.lower_bound(r.offset);
    const bool known = next != f.segments.end() && next->first == r.offset && next->second == end;
    if (!known) {
      if ((next != f.segments.end() && next->first < end) ||
          (next != f.segments.begin() && std::prev(next)->second > r.offset))
        throw refusal(r.location,
                      str_cat("the bytes from ", r.offset, " to ", end, " overlap another tensor"));
      f.segments.emplace_hint(next, r.offset, end);
    }
  }
  return f;
}

void ExternalFiles::expect(const onnx::TensorProto& t) { expect(read_reference(t)); }

FileBytes ExternalFiles::find(const onnx::TensorProto& t) {
  const ExternalReference r = read_reference(t);
  return map(r, expect(r), 0, r.size);
}

FileBytes ExternalFiles::find(const onnx::TensorProto& t, int64_t first, int64_t size) {
  const ExternalReference r = read_reference(t);
  return map(r, file(r.location), first, size);
}

std::pair<Descriptor, int64_t> ExternalFiles::open_data(const onnx::TensorProto& t) {
  const ExternalReference r = read_reference(t);
  return {open_again(r.location, file(r.location)), r.offset};
}

namespace {

class Tensors {
 public:
  explicit Tensors(const std::function<void(onnx::TensorProto&, bool)>& f) : f_(f) {}

  void visit(onnx::GraphProto& g) const {
    for (auto& t : *g.mutable_initializer()) f_(t, false);
    for (auto& t : *g.mutable_sparse_initializer()) visit(t, false);
    visit(*g.mutable_node());
  }
  void visit(google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes) const {
    for (auto& n : nodes) visit(*n.mutable_attribute());
  }
  void visit(google::protobuf::RepeatedPtrField<onnx::AttributeProto>& attributes) const {
    for (auto& a : attributes) {
      if (a.has_t()) f_(*a.mutable_t(), true);
      for (auto& t : *a.mutable_tensors()) f_(t, true);
      if (a.has_sparse_tensor()) visit(*a.mutable_sparse_tensor(), true);
      for (auto& t : *a.mutable_sparse_tensors()) visit(t, true);
      if (a.has_g()) visit(*a.mutable_g());
      for (auto& g : *a.mutable_graphs()) visit(g);
    }
  }

 private:
  void visit(onnx::SparseTensorProto& t, bool in_attribute) const {
    if (t.has_values()) f_(*t.mutable_values(), in_attribute);
    if (t.has_indices()) f_(*t.mutable_indices(), in_attribute);
  }

  const std::function<void(onnx::TensorProto&, bool)>& f_;
};

}  // namespace

void for_each_tensor(onnx::ModelProto& model, const std::function<void(onnx::TensorProto&, bool)>& f) {
  const Tensors tensors(f);
  if (model.has_graph()) tensors.visit(*model.mutable_graph());
  for (auto& function : *model.mutable_functions()) {
    tensors.visit(*function.mutable_attribute_proto());
    tensors.visit(*function.mutable_node());
  }
  for (auto& training : *model.mutable_training_info()) {
    if (training.has_initialization()) tensors.visit(*training.mutable_initialization());
    if (training.has_algorithm()) tensors.visit(*training.mutable_algorithm());
  }
}

void embed(onnx::TensorProto& t, const FileBytes& data) {
  t.set_raw_data(data.bytes.data(), data.bytes.size());
  t.clear_external_data();
  t.clear_data_location();
  data.forget();
}

bool embed_external_data(onnx::ModelProto& model, ExternalFiles& files) {
  bool any = false;
  for_each_tensor(model, [&](onnx::TensorProto& t, bool) {
    if (!is_external(t)) return;
    embed(t, files.find(t));
    any = true;
  });
  return any;
}

}  // namespace tenon::TENON_ABI::loader
