// embed -o OUTPUT [--as NAME] [--list LIST] FILE...: writes a .cc whose tenon::tool::embedded_headers(), or
// the function NAME, returns the texts of the files, sorted by path. LIST names more files, one per line:
// some systems limit a command to fewer characters than hundreds of names have. A path is what follows
// include/ or, for the headers of freestanding programs, loader/; xsimd's notice is NOTICE. Whole-line
// comments that no printed text keeps are left out, and zlib deflates the rest: otherwise the texts would
// make up a tenth of the tool.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <zlib.h>

namespace {

std::string read(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in) throw std::runtime_error("cannot read " + file);
  return text;
}

std::string path_of(const std::string& file) {
  for (const std::string_view folder : {"include/", "loader/"}) {
    const size_t at = file.rfind(folder);
    const bool starts = at != file.npos && (at == 0 || file[at - 1] == '/');
    const std::string path = starts ? file.substr(at + folder.size()) : "";
    if (starts && (folder == "include/" || path.starts_with("freestanding/"))) return path;
  }
  if (file.ends_with("NOTICE")) return "NOTICE";
  throw std::runtime_error(file + " is in no folder that programs include from");
}

// Keeps Tenon's documentation comments, `///`.
std::string without_comments(std::string_view text, bool is_xsimd) {
  std::string kept;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    size_t length = end == text.npos ? text.size() : end + 1;
    const std::string_view line = text.substr(0, length);
    const size_t first = line.find_first_not_of(' ');
    const std::string_view code = first == line.npos ? line : line.substr(first);
    bool drop = code.starts_with("//") && (is_xsimd || !code.starts_with("///"));
    if (is_xsimd && code.starts_with("/*")) {
      // A comment is kept if code follows it on its last line.
      const size_t close = text.find("*/");
      if (close == text.npos) throw std::runtime_error("a comment has no end");
      const size_t after = text.find_first_not_of(' ', close + 2);
      drop = after == text.npos || text[after] == '\n';
      length = drop ? std::min(after, text.size() - 1) + 1 : length;
    }
    if (!drop) kept += line;
    text.remove_prefix(length);
  }
  return kept;
}

std::string deflated(const std::string& text) {
  uLongf size = compressBound(text.size());
  std::string out(size, '\0');
  if (compress2(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(text.data()),
                text.size(), Z_BEST_COMPRESSION) != Z_OK)
    throw std::runtime_error("zlib cannot deflate the texts");
  out.resize(size);
  return out;
}

void write(std::FILE* out, const std::string& name, const std::map<std::string, std::string>& texts) {
  std::string all;
  std::fprintf(out,
               "// Written by loader/bazel/embed.cc.\n#include \"loader/tool/embedded_headers.hpp\"\n\n"
               "namespace tenon::TENON_ABI::tool {\nnamespace {\n\nconstexpr EmbeddedHeader headers[] = {\n");
  for (const auto& [path, text] : texts) {
    std::fprintf(out, "    {\"%s\", %zu},\n", path.c_str(), text.size());
    all += text;
  }
  std::fprintf(out, "};\nconstexpr char deflated[] =");
  const std::string bytes = deflated(all);
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i % 64 == 0) std::fprintf(out, i == 0 ? "\n    \"" : "\"\n    \"");
    std::fprintf(out, "\\%03o", static_cast<unsigned char>(bytes[i]));
  }
  std::fprintf(out, "\";\n\n}  // namespace\n\n");
  if (name != "embedded_headers")
    std::fprintf(out, "std::span<const HeaderText> %s();  // declared by whoever links it\n", name.c_str());
  std::fprintf(out,
               "std::span<const HeaderText> %s() {\n"
               "  static const EmbeddedTexts texts(headers, {deflated, sizeof(deflated) - 1});\n"
               "  return texts.headers();\n}\n\n}  // namespace tenon::TENON_ABI::tool\n",
               name.c_str());
}

}  // namespace

int main(int count, char** argument) try {
  std::vector<std::string> files;
  std::string name = "embedded_headers", output;
  for (int i = 1; i < count; ++i) {
    const std::string word = argument[i];
    if (word != "-o" && word != "--as" && word != "--list") {
      files.push_back(word);
      continue;
    }
    if (++i == count) throw std::runtime_error(word + " needs an argument");
    if (word == "-o") output = argument[i];
    else if (word == "--as") name = argument[i];
    else {
      std::istringstream list(read(argument[i]));
      for (std::string file; std::getline(list, file);) {
        if (file.ends_with('\r')) file.pop_back();  // CMake writes lines as the system has them
        files.push_back(file);
      }
    }
  }
  std::map<std::string, std::string> texts;
  for (const std::string& file : files) {
    const std::string path = path_of(file), text = read(file);
    texts[path] = path == "NOTICE" ? text : without_comments(text, path.starts_with("xsimd/"));
  }
  std::FILE* const out = std::fopen(output.c_str(), "wb");
  if (out == nullptr) throw std::runtime_error("cannot write " + output);
  write(out, name, texts);
  const bool failed = std::ferror(out) != 0;
  if (std::fclose(out) != 0 || failed) throw std::runtime_error("cannot write all of " + output);
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "embed: %s\n", e.what());
  return 1;
}
