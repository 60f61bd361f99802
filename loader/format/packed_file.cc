#include "loader/format/packed_file.hpp"

#include <cstring>
#include <vector>

namespace tenon::TENON_ABI::loader {
namespace {

#define TENON_TEXT_OF(...) #__VA_ARGS__
#define TENON_TEXT(...) TENON_TEXT_OF(__VA_ARGS__)
/// The version, and what else may change layouts: how Tenon was compiled.
constexpr std::string_view compiled_as = TENON_TEXT(TENON_ABI);
#undef TENON_TEXT
#undef TENON_TEXT_OF

constexpr uint64_t part_alignment = storage_alignment;
constexpr char packed_magic[16] = "tenon packed 1\n";
constexpr std::size_t any_version = 13;  // characters

tenon::detail::Digest digest_of_text(std::string_view text) {
  return tenon::detail::digest_of(reinterpret_cast<const std::byte*>(text.data()), text.size());
}
uint64_t end_of_padding(uint64_t offset) {
  return (offset + part_alignment - 1) / part_alignment * part_alignment;
}

template <class T>
std::string_view as_text(const T& object) {
  return {reinterpret_cast<const char*>(&object), sizeof object};
}

}  // namespace

struct PackedFile::Header {
  char magic[16];
  uint64_t entries;
  uint64_t size;   // of the file
  Digest version;  // of Tenon and of how it was compiled
  Digest table;
};

PackedFile::PackedFile(std::filesystem::path file) : file_(std::move(file)) {
  try {
    mapped_ = MappedFile::open(file_);
  } catch (const Error&) {
    return;  // there is none, or `finish` says what is wrong with it
  }
  const std::span<const std::byte> bytes = mapped_->bytes();
  foreign_ =
      !bytes.empty() && std::memcmp(bytes.data(), packed_magic, std::min(bytes.size(), any_version)) != 0;
  read_table(bytes);
  if (table_.empty()) mapped_ = nullptr;
}

void PackedFile::read_table(std::span<const std::byte> bytes) {
  Header h;
  if (bytes.size() < sizeof h) return;
  std::memcpy(&h, bytes.data(), sizeof h);
  const auto rest = bytes.subspan(sizeof h);
  if (std::memcmp(h.magic, packed_magic, sizeof packed_magic) != 0 || h.size != bytes.size() ||
      h.version != digest_of_text(compiled_as) || h.entries > rest.size() / sizeof(Entry))
    return;
  const auto entries = rest.first(h.entries * sizeof(Entry));
  if (h.table != tenon::detail::digest_of(entries.data(), entries.size())) return;
  for (uint64_t n = 0; n < h.entries; ++n) {
    Entry e;
    std::memcpy(&e, entries.data() + n * sizeof e, sizeof e);
    for (const Part& p : e.parts)
      if (p.offset % part_alignment != 0 || p.offset > bytes.size() || p.bytes > bytes.size() - p.offset) {
        table_.clear();
        return;
      }
    table_[e.key] = e;
  }
}

PackedStore::Parts PackedFile::find(std::string_view key) {
  const Digest digest = digest_of_text(key);
  Entry entry;
  std::shared_ptr<const MappedFile> mapped;
  {
    const tenon::detail::LockGuard lock(mutex_);
    const auto at = table_.find(digest);
    if (at == table_.end()) return {};
    entry = at->second, mapped = mapped_;
  }
  Parts parts;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const Part& p = entry.parts[k];
    const std::byte* const data = mapped->bytes().data() + p.offset;
    if (tenon::detail::digest_of_parts(data, p.bytes) != p.digest) return {};
    if (p.bytes == 0) continue;
    if constexpr (os::replaces_mapped) {
      parts[k] = Storage::keep(data, p.bytes, FilePart(mapped, data, p.bytes));
    } else {
      parts[k] = Storage::allocate(p.bytes);
      std::memcpy(parts[k].as<std::byte>(), data, p.bytes);
    }
  }
  const tenon::detail::LockGuard lock(mutex_);
  if (!finished_) used_[digest] = parts;
  return parts;
}

void PackedFile::add(std::string_view key, Parts parts) {
  const tenon::detail::LockGuard lock(mutex_);
  if (finished_) return;
  used_[digest_of_text(key)] = std::move(parts);
  added_ = true;
}

void PackedFile::finish() {
  std::map<Digest, Parts> used;
  {
    const tenon::detail::LockGuard lock(mutex_);
    finished_ = true;
    used = std::exchange(used_, {});
    table_.clear(), mapped_ = nullptr;
    if (!std::exchange(added_, false)) return;
  }
  if (foreign_)
    raise(ErrorCode::io, path_text(file_),
          "it is no file of packed constants, and is therefore not replaced");
  std::vector<Entry> entries;
  uint64_t end = end_of_padding(sizeof(Header) + used.size() * sizeof(Entry));
  for (const auto& [key, parts] : used) {
    Entry e{key, {}};
    for (std::size_t k = 0; k < parts.size(); ++k) {
      const Storage& s = parts[k];
      e.parts[k] = {end, s.size_bytes(), tenon::detail::digest_of_parts(s.data(), s.size_bytes())};
      end = end_of_padding(end + s.size_bytes());
    }
    entries.push_back(e);
  }
  const std::string_view table(reinterpret_cast<const char*>(entries.data()), entries.size() * sizeof(Entry));
  Header h{{}, entries.size(), end, digest_of_text(compiled_as), digest_of_text(table)};
  std::memcpy(h.magic, packed_magic, sizeof packed_magic);
  NewFile out(file_);
  out.write(as_text(h));
  out.write(table);
  const auto pad = [&] {
    const char zeros[part_alignment] = {};
    const auto size = static_cast<uint64_t>(out.size());
    out.write({zeros, end_of_padding(size) - size});
  };
  pad();
  for (const auto& [key, parts] : used)
    for (const Storage& s : parts) {
      out.write({static_cast<const char*>(s.data()), s.size_bytes()});
      pad();
    }
  out.put_in_place();
}

}  // namespace tenon::TENON_ABI::loader
