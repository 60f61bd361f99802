#include "loader/tool/suite.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <fstream>

#include "tenon/base/error.hpp"
#include "tenon/base/platform/decimal.hpp"

namespace tenon::TENON_ABI::tool {

class JsonReader {
 public:
  explicit JsonReader(std::string_view text) : rest_(text) {}

  Json read_all() {
    Json value = read(0);
    skip_space();
    if (!rest_.empty()) refuse();
    return value;
  }

 private:
  [[noreturn]] void refuse() const {
    throw Error(ErrorCode::invalid_argument, "JSON", str_cat("no value at '", rest_.substr(0, 20), "'"));
  }
  void skip_space() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size())); }
  bool take(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  void expect(std::string_view text) {
    skip_space();
    if (!take(text)) refuse();
  }

  Json read(int depth) {
    if (depth == 100) refuse();
    Json value;
    skip_space();
    if (take("null")) return value;
    if (rest_.starts_with("true") || rest_.starts_with("false")) {
      value.kind_ = Json::Kind::boolean;
      value.boolean_ = take("true");
      if (!value.boolean_) take("false");
    } else if (rest_.starts_with('"')) {
      value.kind_ = Json::Kind::string;
      value.string_ = read_string();
    } else if (take("[")) {
      value.kind_ = Json::Kind::list;
      read_members("]", [&] { value.list_.push_back(read(depth + 1)); });
    } else if (take("{")) {
      value.kind_ = Json::Kind::object;
      read_members("}", [&] {
        skip_space();
        std::string key = read_string();
        expect(":");
        value.object_[std::move(key)] = read(depth + 1);
      });
    } else {
      read_number(value);
    }
    return value;
  }
  template <class Read>
  void read_members(std::string_view end, Read read_member) {
    skip_space();
    if (take(end)) return;
    do {
      read_member();
      skip_space();
    } while (take(","));
    expect(end);
  }
  void read_number(Json& value) {
    value.kind_ = Json::Kind::number;
    const char *first = rest_.data(), *last = first + rest_.size();
    const auto [end, code] = tenon::detail::read_decimal_number(first, last, value.number_);
    if (code != std::errc()) refuse();
    if (std::from_chars(first, last, value.integer_).ptr != end) value.integer_ = 0;
    rest_.remove_prefix(static_cast<std::size_t>(end - first));
  }

  std::string read_string() {
    if (!take("\"")) refuse();
    std::string text;
    while (!rest_.empty() && rest_.front() != '"') {
      const char c = rest_.front();
      rest_.remove_prefix(1);
      if (c == '\\') read_escape(text);
      else text += c;
    }
    if (!take("\"")) refuse();
    return text;
  }
  void read_escape(std::string& text) {
    if (rest_.empty()) refuse();
    const char c = rest_.front();
    rest_.remove_prefix(1);
    switch (c) {
      case 'b': text += '\b'; return;
      case 'f': text += '\f'; return;
      case 'n': text += '\n'; return;
      case 'r': text += '\r'; return;
      case 't': text += '\t'; return;
      case 'u': return add_utf8(read_code_point(), text);
      case '"':
      case '\\':
      case '/': text += c; return;
      default: refuse();
    }
  }
  uint32_t read_unit() {
    uint32_t unit = 0;
    if (rest_.size() < 4 || std::from_chars(rest_.data(), rest_.data() + 4, unit, 16).ptr != rest_.data() + 4)
      refuse();
    rest_.remove_prefix(4);
    return unit;
  }
  // One UTF-16 unit, or a surrogate pair.
  uint32_t read_code_point() {
    const uint32_t unit = read_unit();
    if (unit < 0xd800 || unit >= 0xe000) return unit;
    if (unit >= 0xdc00 || !take("\\u")) refuse();
    const uint32_t low = read_unit();
    if (low < 0xdc00 || low >= 0xe000) refuse();
    return 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
  }
  static void add_utf8(uint32_t c, std::string& text) {
    const auto add = [&](uint32_t byte) { text += static_cast<char>(byte); };
    const auto more = [&](int shift) { add(0x80 | (c >> shift & 0x3f)); };
    if (c < 0x80) return add(c);
    if (c < 0x800) return add(0xc0 | c >> 6), more(0);
    if (c < 0x10000) return add(0xe0 | c >> 12), more(6), more(0);
    add(0xf0 | c >> 18), more(12), more(6), more(0);
  }

  std::string_view rest_;
};

Json Json::parse(std::string_view text) { return JsonReader(text).read_all(); }

const Json& Json::operator[](std::string_view key) const {
  static const Json nothing;
  const auto it = object_.find(key);
  return it == object_.end() ? nothing : it->second;
}

int run_suite(const std::filesystem::path& folder, const std::function<std::string(const Json&)>& differs) {
  std::ifstream index(folder / "index.jsonl");
  if (!index) throw Error(ErrorCode::io, loader::path_text(folder / "index.jsonl"), "cannot be read");
  int passed = 0, failed = 0;
  for (std::string line; std::getline(index, line);) {
    Json call;
    std::string reason;
    try {
      call = Json::parse(line);
      reason = differs(call);
    } catch (const std::exception& e) {
      reason = e.what();
    }
    std::replace(reason.begin(), reason.end(), '\n', ' ');
    if (reason.empty()) ++passed;
    else ++failed, std::printf("FAIL %s: %s\n", call["in"].string().c_str(), reason.c_str());
  }
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}

void read_message(const std::filesystem::path& file, google::protobuf::MessageLite& message) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw Error(ErrorCode::io, loader::path_text(file), "cannot be read");
  if (!message.ParseFromIstream(&in))
    throw Error(ErrorCode::io, loader::path_text(file), str_cat("not a ", message.GetTypeName()));
}

}  // namespace tenon::TENON_ABI::tool
