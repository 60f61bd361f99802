// A folder of a test's own, which is removed with everything in it.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "loader/os.hpp"

namespace tenon {

class Folder {
 public:
  Folder() : path_(loader::os::make_temporary_folder("tenon_test_")) {}
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(std::string_view name) const { return path_ / loader::path_named(name); }

 private:
  std::filesystem::path path_;
};

inline void write_bytes(const std::filesystem::path& file, std::string_view bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
}
inline std::string bytes_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream bytes;
  bytes << in.rdbuf();
  return std::move(bytes).str();
}

}  // namespace tenon
