#include "tests/op/recorded.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tenon/base/convert.hpp"

namespace tenon::test {
namespace {

/// Element k of a seed: 0 to 256.
uint32_t draw(uint32_t seed, uint32_t k) {
  uint32_t h = seed * 0x9e3779b1u + (k + 1) * 0x85ebca6bu;
  h = (h ^ h >> 15) * 0x2c1b3c6du;
  h = (h ^ h >> 12) * 0x297a2d39u;
  return (h ^ h >> 15) % 257;
}

std::vector<std::string> split(std::string_view text, std::string_view separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + separator.size(), text.size()));
  }
  return parts;
}

double number(const std::string& text) { return std::stod(text); }

/// The type and the extents of "float[2,3]"; what follows the blank after them remains in `text`.
AnyTensor tensor_of(std::string_view& text) {
  const size_t open = text.find('['), close = text.find(']');
  REQUIRE(close < text.size());
  const std::string_view name = text.substr(0, open);
  DType type = DType::undefined;
  for (int d = 1; d <= 26; ++d)
    if (name_of(static_cast<DType>(d)) == name) type = static_cast<DType>(d);
  REQUIRE_MESSAGE(type != DType::undefined, std::string(text));
  Extents extents;
  for (const std::string& e : split(text.substr(open + 1, close - open - 1), ","))
    extents.push_back(std::stoll(e));
  text.remove_prefix(std::min(close + 2, text.size()));
  return AnyTensor::uninitialized(type, extents);
}

void fill(const AnyTensor& tensor, const std::vector<double>& values) {
  REQUIRE(static_cast<int64_t>(values.size()) == tensor.size());
  convert_n(tensor.dtype(), AnyTensor(tensor).out().data(), DType::float64, values.data(), tensor.size());
}

Value operand(std::string_view text) {
  if (text == "-") return {};
  const AnyTensor tensor = tensor_of(text);
  const auto count = static_cast<size_t>(tensor.size());
  std::vector<double> values;
  if (text.starts_with('{')) {
    for (const std::string& v : split(text.substr(1, text.size() - 2), ",")) values.push_back(number(v));
    values.resize(count, values.empty() ? 0 : values.back());
  } else {
    const DType d = tensor.dtype();
    const bool real = !is_integer(d) && d != DType::bool_;
    double low = real ? -2 : d == DType::int8 ? -128 : 0;
    double high = real ? 2 : d == DType::int8 ? 127 : d == DType::uint8 ? 255 : 1;
    if (const size_t dots = text.find(".."); dots < text.size()) {
      low = number(std::string(text.substr(0, dots)));
      high = number(std::string(text.substr(dots + 2, text.find(' ') - dots - 2)));
      text.remove_prefix(text.find(' ') + 1);
    }
    const auto seed = static_cast<uint32_t>(std::stoul(std::string(text)));
    for (uint32_t k = 0; k < count; ++k) {
      const uint32_t drawn = draw(seed, k);
      values.push_back(low + (real ? (high - low) * drawn / 256
                                   : static_cast<double>(drawn % static_cast<uint32_t>(high - low + 1))));
    }
  }
  fill(tensor, values);
  return tensor;
}

op::AttributeValue attribute(std::string_view text) {
  if (text.starts_with('"')) return std::string(text.substr(1, text.size() - 2));
  const bool real = text.find_first_of(".e") < text.size();
  if (!text.starts_with('[')) {
    if (real) return std::stof(std::string(text));
    return int64_t{std::stoll(std::string(text))};
  }
  const std::vector<std::string> items = split(text.substr(1, text.size() - 2), ";");
  if (!items.empty() && items[0].starts_with('"')) {
    std::vector<std::string> list;
    for (const std::string& item : items) list.push_back(item.substr(1, item.size() - 2));
    return list;
  }
  if (real) {
    std::vector<float> list;
    for (const std::string& item : items) list.push_back(std::stof(item));
    return list;
  }
  std::vector<int64_t> list;
  for (const std::string& item : items) list.push_back(std::stoll(item));
  return list;
}

/// What stands between two marks, the first of which is looked for from `at` on.
std::string_view between(std::string_view text, std::string_view open, std::string_view close) {
  const size_t first = text.find(open);
  if (first == text.npos) return {};
  const size_t begin = first + open.size(), end = text.find(close, begin);
  return text.substr(begin, end - begin);
}

struct Case {
  std::string line;
  std::vector<Value> results;
};

/// The use of a line, without the rest that follows the operands.
RecordedUse use_of(std::string_view line, std::string_view& rest) {
  RecordedUse use{
      .domain = "com.microsoft", .name = {}, .opset = op::always, .attributes = {}, .in = {}, .results = 0};
  if (line.starts_with("ai.onnx@")) {
    use.domain = "";
    use.opset = std::stoi(std::string(line.substr(8)));
    line.remove_prefix(line.find(':') + 1);
  }
  use.name = line.substr(0, line.find(' '));
  const size_t open = line.find(" (");
  for (const std::string& a : split(between(line.substr(0, open), "<", ">"), ", "))
    use.attributes.emplace_back(a.substr(0, a.find('=')),
                                attribute(std::string_view(a).substr(a.find('=') + 1)));
  for (const std::string& o : split(between(line.substr(open), "(", ")"), "; ")) use.in.push_back(operand(o));
  rest = line.substr(line.find(')') + 2);
  use.results = static_cast<int>(std::min(rest.find(' '), rest.size()));
  return use;
}

void check_case(const Case& c, std::initializer_list<const OperatorClass*> operators) {
  CAPTURE(c.line);
  std::string_view rest;
  RecordedUse use = use_of(c.line, rest);
  const OperatorClass* found = nullptr;
  int version = 0;
  for (const OperatorClass* o : operators) {
    if (o->spec->name != use.name) continue;
    found = o;
    for (const int v : o->spec->since)
      if (v <= use.opset) version = v;
  }
  REQUIRE_MESSAGE(found != nullptr, "no such operator");
  std::vector<Value> expected;
  size_t next = 0;
  for (const char r : rest.substr(0, static_cast<size_t>(use.results)))
    expected.push_back(r != '-' && next < c.results.size() ? c.results[next++] : Value());
  REQUIRE(next == c.results.size());
  double tolerance = 1e-5;
  if (const size_t tilde = rest.find("~ "); tilde != rest.npos)
    tolerance = number(std::string(rest.substr(tilde + 2)));
  try {
    check(Stated{make_operator(*found, version, std::move(use.attributes))}, use.in, expected, tolerance,
          tolerance);
  } catch (const Error& e) {
    FAIL_CHECK(std::string(e.what()));
  }
}

}  // namespace

void check_recorded(std::string_view file, std::initializer_list<const OperatorClass*> operators) {
  std::ifstream in(str_cat("tests/data/", file));
  REQUIRE_MESSAGE(in.good(), std::string(file));
  std::vector<Case> cases;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    if (!line.starts_with("= ")) {
      cases.push_back({line, {}});
      continue;
    }
    REQUIRE(!cases.empty());
    std::string_view text = std::string_view(line).substr(2);
    const AnyTensor tensor = tensor_of(text);
    std::vector<double> values;
    for (const std::string& v : split(text, " ")) values.push_back(number(v));
    fill(tensor, values);
    cases.back().results.push_back(tensor);
  }
  CHECK(!cases.empty());
  for (const Case& c : cases) check_case(c, operators);
}

std::vector<RecordedUse> recorded_uses(std::string_view folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(str_cat("tests/data/", folder)))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<RecordedUse> uses;
  for (const auto& file : files) {
    std::ifstream in(file);
    std::string_view rest;
    for (std::string line; std::getline(in, line);)
      if (!line.empty() && !line.starts_with('#') && !line.starts_with("= "))
        uses.push_back(use_of(line, rest));
  }
  return uses;
}

}  // namespace tenon::test
