// The main function of a fuzz target where libFuzzer is not: the target reads each file named, and each file
// below a folder named. Without any that is still a test, of an empty input.
#include <algorithm>
#include <iterator>
#include <vector>

#include "tests/fuzz/support.hpp"

int main(int count, char** arguments) {
  namespace fs = std::filesystem;
  std::vector<fs::path> files;
  for (int k = 1; k < count; ++k) {
    if (!fs::is_directory(arguments[k])) {
      files.emplace_back(arguments[k]);
      continue;
    }
    for (const auto& entry : fs::recursive_directory_iterator(arguments[k]))
      if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  LLVMFuzzerTestOneInput(nullptr, 0);
  for (const fs::path& file : files) {
    std::ifstream in(file, std::ios::binary);
    tenon::fuzz::require(in.good(), "a file that is named can be read", file.string());
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    std::printf("%s, %zu bytes\n", file.c_str(), bytes.size());
    std::fflush(stdout);
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  }
  std::printf("%zu files\n", files.size());
}
