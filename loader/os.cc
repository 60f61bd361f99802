#include "loader/os.hpp"

#include <algorithm>
#include <cstring>

#include "loader/os_parts.hpp"

namespace tenon::TENON_ABI::loader {
namespace os {

namespace fs = std::filesystem;

std::string random_digits() {
  unsigned char random[8] = {};
  fill_randomly(random);
  std::string digits;
  for (const unsigned char byte : random) {
    digits += "0123456789abcdef"[byte / 16];
    digits += "0123456789abcdef"[byte % 16];
  }
  return digits;
}

fs::path hidden_name(const fs::path& file) {
  return fs::path(".").concat(file.filename().native().substr(0, 200)).concat("." + random_digits());
}

std::optional<bool> same_bytes(const Descriptor& a, const Descriptor& b, int64_t size) {
  if (size == 0) return true;
  const auto bytes = static_cast<std::size_t>(size);
  const std::byte* const of_a = map(a, 0, bytes);
  if (of_a == nullptr) return std::nullopt;
  const std::byte* const of_b = map(b, 0, bytes);
  const bool mapped = of_b != nullptr, same = mapped && std::memcmp(of_a, of_b, bytes) == 0;
  if (mapped) unmap(of_b, bytes);
  unmap(of_a, bytes);
  return mapped ? std::optional(same) : std::nullopt;
}

#if defined(__linux__) || defined(_WIN32)

Opened open_within(const fs::path& root, const fs::path& folder, const fs::path& location) {
  const Descriptor within = open_folder(folder);
  const fs::path from = path_of(within), most = path_of(open_folder(root));
  Opened found = find_beneath(within, location);
  if (!found.file) return found;
  const fs::path path = path_of(found.file);
  if (!lies_within(path, most) && !lies_within(path, from))
    return refused("it is outside the trusted root and the model's folder");
  return open_found(found.file);
}

#endif

}  // namespace os
}  // namespace tenon::TENON_ABI::loader
