#include "loader/format/file.hpp"

namespace tenon::TENON_ABI::loader {

std::shared_ptr<const MappedFile> MappedFile::map(const Descriptor& file, const std::string& place) {
  const std::optional<os::Status> status = os::status_of(file);
  if (!status) throw Error(ErrorCode::io, place, os::last_error());
  if (!status->regular) throw Error(ErrorCode::io, place, "not a regular file");
  return map(file, place, *status, 0, static_cast<std::size_t>(status->size));
}

std::shared_ptr<const MappedFile> MappedFile::map(const Descriptor& file, const std::string& place,
                                                  const os::Status& status, std::size_t offset,
                                                  std::size_t size) {
  const std::size_t skipped = offset % os::map_alignment, all = size == 0 ? 0 : skipped + size;
  const std::byte* const data = all == 0 ? nullptr : os::map(file, offset - skipped, all);
  if (all > 0 && data == nullptr)
    throw Error(ErrorCode::io, place, str_cat("cannot be mapped: ", os::last_error()));
  return std::shared_ptr<const MappedFile>(new MappedFile({data, all}, all == 0 ? 0 : skipped, status));
}

void MappedFile::check_unchanged(const std::filesystem::path& name) const {
  const std::optional<os::Status> now = os::status_of(name);
  if (!now || now->device != state_.device || now->index != state_.index) return;
  if (now->size != state_.size || now->seconds != state_.seconds || now->nanoseconds != state_.nanoseconds)
    throw Error(ErrorCode::io, path_text(name), "was written to after it was read");
}

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& file) {
  const Descriptor d = os::open_to_read(file);
  if (!d) throw Error(ErrorCode::io, path_text(file), os::last_error());
  return map(d, path_text(file));
}

MappedFile::~MappedFile() {
  if (!mapped_.empty()) os::unmap(mapped_.data(), mapped_.size());
}

bool same_folder(const std::filesystem::path& a, const std::filesystem::path& b) {
  std::error_code none;
  return a == b || std::filesystem::equivalent(a, b, none);
}

void write_file(const std::filesystem::path& file, std::string_view bytes) {
  NewFile out(file);
  out.write(bytes);
  out.put_in_place();
}

}  // namespace tenon::TENON_ABI::loader
