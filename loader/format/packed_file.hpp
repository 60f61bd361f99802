// A file of packed constants, with which a model's second start need not pack them again.
#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <string_view>

#include "loader/format/file.hpp"
#include "tenon/base/platform/mutex.hpp"
#include "tenon/graph/shared_constants.hpp"

namespace tenon::TENON_ABI::loader {

/// The file holds a header, a table, and parts aligned to 64 bytes. Table and parts have digests, so that
/// damage is noticed. A file that is damaged, cut off, of another version, or no such file at all is one
/// without constants: it is replaced. Digests do not protect against forgery: whoever writes the file chooses
/// the numbers with which the model computes, and nothing else.
class PackedFile final : public PackedStore {
 public:
  explicit PackedFile(std::filesystem::path file);

  Parts find(std::string_view key) override;
  void add(std::string_view key, Parts parts) override;
  /// Writes the file anew, with what was found and added, if anything was added.
  void finish() override;

 private:
  using Digest = tenon::detail::Digest;
  struct Part {
    uint64_t offset = 0, bytes = 0;
    Digest digest{};
  };
  struct Entry {
    Digest key{};
    std::array<Part, 2> parts{};
  };
  struct Header;

  void read_table(std::span<const std::byte> bytes);

  const std::filesystem::path file_;
  bool foreign_ = false;        // there is a file, which has not been written here
  tenon::detail::Mutex mutex_;  // guards all that follows
  std::shared_ptr<const MappedFile> mapped_;
  std::map<Digest, Entry> table_;  // of the file
  std::map<Digest, Parts> used_;   // found or added, by the digests of keys
  bool added_ = false, finished_ = false;
};

}  // namespace tenon::TENON_ABI::loader
