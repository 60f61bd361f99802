// Functions that fuzz targets share. A target is one source that defines LLVMFuzzerTestOneInput; it returns,
// or its finding ends the program.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "loader/onnx.pb.h"
#include "tenon/model.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace tenon::TENON_ABI {
void register_com_microsoft(Registry& registry);  // generated
}

namespace tenon::fuzz {

/// The operators that models may name, as in the tool.
inline const Registry& registry() {
  static const Registry all = [] {
    Registry r = standard_registry();
    register_com_microsoft(r);
    return r;
  }();
  return all;
}

/// Ends the program where a promise is broken, with what was promised.
inline void require(bool kept, std::string_view promise, std::string_view seen = {}) {
  if (kept) return;
  std::fprintf(stderr, "broken: %.*s\n%.*s\n", static_cast<int>(promise.size()), promise.data(),
               static_cast<int>(seen.size()), seen.data());
  std::abort();
}

/// Calls f; whether it came to an end. An Error is an answer, and names the fault.
template <class F>
bool accepted(F f) {
  try {
    f();
    return true;
  } catch (const Error& e) {
    require(!e.message().empty(), "an Error describes the fault");
    return false;
  }
}

/// An input: a first byte, which chooses the call, and the bytes for it.
struct Input {
  Input(const uint8_t* data, size_t size)
      : choice(size > 0 ? data[0] : 0), bytes(data + (size > 0), size - (size > 0)) {}

  std::string_view text() const { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
  /// The last bytes, mostly names and numbers of a model's last output.
  std::string_view last(std::size_t count) const {
    return text().substr(bytes.size() - std::min(bytes.size(), count));
  }
  /// The message that the bytes are; false where they are none.
  template <class Message>
  bool read(Message& m) const {
    return m.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  }

  uint8_t choice;
  std::span<const uint8_t> bytes;
};

/// The names of a main graph's values.
inline std::vector<std::string> value_names(const onnx::GraphProto& g) {
  std::vector<std::string> names;
  for (const auto& v : g.input()) names.push_back(v.name());
  for (const auto& t : g.initializer()) names.push_back(t.name());
  for (const auto& n : g.node()) names.insert(names.end(), n.output().begin(), n.output().end());
  return names;
}

/// A folder of the process, empty at first, and gone at its end.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "tenon_fuzz_XXXXXX").string();
    require(::mkdtemp(name.data()) != nullptr, "there is room for a temporary folder");
    path_ = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  /// A file of the folder, with these contents.
  std::filesystem::path write(std::string_view name, std::string_view bytes) const {
    const std::filesystem::path file = path_ / name;
    std::ofstream(file, std::ios::binary | std::ios::trunc)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return file;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace tenon::fuzz
