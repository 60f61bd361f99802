// `tenon test`: cases in the layout of ONNX's backend tests: model.onnx and test_data_set_*/{input,output}_*.pb.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>

#include "loader/tool/command.hpp"
#include "tenon/base/convert.hpp"

namespace tenon::tool {
namespace {

namespace fs = std::filesystem;

struct Tolerance {
  double rtol = 1e-3, atol = 1e-7;
};

// The number behind a key of a flat JSON object, or the fallback.
double json_number(const std::string& text, std::string_view key, double fallback) {
  std::size_t at = text.find(concat("\"", key, "\""));
  if (at == std::string::npos) return fallback;
  at = text.find(':', at);
  if (at == std::string::npos) return fallback;
  at = text.find_first_not_of(" \t\n:", at);
  double value = fallback;
  if (at != std::string::npos) std::from_chars(text.data() + at, text.data() + text.size(), value);
  return value;
}

Tolerance read_tolerance(const fs::path& folder) {
  std::ifstream in(folder / "data.json");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  return {json_number(text, "rtol", 1e-3), json_number(text, "atol", 1e-7)};
}

bool close(double x, double y, Tolerance t) {
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  if (std::isinf(x) || std::isinf(y)) return x == y;
  return std::abs(x - y) <= t.atol + t.rtol * std::abs(y);
}

std::string number(double x) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", x);
  return text;
}

// What is wrong with a value; "" when nothing is.
std::string difference(const Value& actual, const Value& expected, Tolerance tolerance) {
  if (expected.is_optional() || actual.is_optional()) {
    // A file tells an optional by its content.
    const Value a = actual.is_optional() ? (actual.optional().value ? *actual.optional().value : Value()) : actual;
    const Value e = expected.is_optional() ? (expected.optional().value ? *expected.optional().value : Value()) : expected;
    if (!a || !e) return !a && !e ? "" : a ? "a value instead of none" : "no value";
    return difference(a, e, tolerance);
  }
  if (!(actual.type() == expected.type()) && !(expected.is_sequence() && expected.sequence().items.empty()))
    return concat(to_string(actual.type()), " instead of ", to_string(expected.type()));
  if (expected.is_sequence()) {
    const auto &a = actual.sequence().items, &e = expected.sequence().items;
    if (a.size() != e.size()) return concat(a.size(), " items instead of ", e.size());
    for (std::size_t k = 0; k < a.size(); ++k)
      if (std::string d = difference(a[k], e[k], tolerance); !d.empty()) return concat("item ", k, ": ", d);
    return "";
  }
  if (expected.is_map()) {
    std::string d = difference(actual.map().keys, expected.map().keys, tolerance);
    return d.empty() ? difference(actual.map().values, expected.map().values, tolerance) : d;
  }
  if (expected.is_sparse_tensor()) {
    std::string d = difference(actual.sparse_tensor().values, expected.sparse_tensor().values, tolerance);
    return d.empty() ? difference(actual.sparse_tensor().indices, expected.sparse_tensor().indices, tolerance) : d;
  }
  const AnyView a = actual.tensor(), e = expected.tensor();
  if (!std::equal(a.extents().begin(), a.extents().end(), e.extents().begin(), e.extents().end()))
    return concat("extents ", to_string(a.extents()), " instead of ", to_string(e.extents()));
  int64_t wrong = 0, first = -1;
  std::string shown;
  visit_dtype(e.dtype(), [&]<class T>() {
    const auto x = a.as<T>(), y = e.as<T>();
    for (int64_t k = 0; k < y.size(); ++k) {
      bool same = false;
      std::string text;
      if constexpr (std::is_same_v<T, std::string>) {
        same = x[k] == y[k];
        if (!same) text = concat("'", x[k], "' instead of '", y[k], "'");
      } else if constexpr (is_complex(dtype_of<T>)) {
        same = close(x[k].real(), y[k].real(), tolerance) && close(x[k].imag(), y[k].imag(), tolerance);
        if (!same) text = concat(number(x[k].real()), " instead of ", number(y[k].real()));
      } else {
        const T u = x[k], v = y[k];
        if constexpr (is_integer(dtype_of<T>) && sizeof(T) == 8) same = u == v;
        else same = close(convert<double>(u), convert<double>(v), tolerance);
        if (!same) text = concat(number(convert<double>(u)), " instead of ", number(convert<double>(v)));
      }
      if (same) continue;
      ++wrong;
      if (first < 0) first = k, shown = text;
    }
  });
  if (wrong == 0) return "";
  return concat(wrong, " of ", e.size(), " elements differ, first at ", first, ": ", shown);
}

std::vector<fs::path> numbered(const fs::path& folder, std::string_view stem) {
  std::vector<fs::path> files;
  for (int k = 0;; ++k) {
    fs::path f = folder / concat(stem, "_", k, ".pb");
    if (!fs::exists(f)) return files;
    files.push_back(std::move(f));
  }
}

// Before numpy had a bfloat16 at hand, ONNX's cases wrote its bits as uint16.
Value as_declared(Value v, Type declared) {
  if (!v.is_tensor() || v.tensor().dtype() != DType::uint16 || !(declared == Type(DType::bfloat16))) return v;
  return AnyTensor(DType::bfloat16, v.tensor().extents(), v.tensor().storage());
}

// Throws, or says what is wrong.
std::string run_case(const fs::path& folder, int threads) {
  const Session session = load(folder / "model.onnx", {.threads = threads}, {.declared_extents = false});
  const Tolerance tolerance = read_tolerance(folder);
  std::vector<fs::path> sets;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_directory() && entry.path().filename().string().starts_with("test_data_set_")) sets.push_back(entry.path());
  std::sort(sets.begin(), sets.end());
  const Graph& g = session.graph();
  for (const fs::path& set : sets) {
    // Files stand for the inputs that have no value of their own, in order; where there are more files, for all inputs.
    const auto in = numbered(set, "input"), out = numbered(set, "output");
    std::vector<ValueId> ids;
    for (ValueId v : g.inputs())
      if (!g.entry(v).content) ids.push_back(v);
    if (in.size() > ids.size()) ids = g.inputs();
    if (in.size() > ids.size()) return concat(in.size(), " inputs for ", ids.size());
    Feeds feeds;
    for (std::size_t k = 0; k < in.size(); ++k) {
      const Graph::ValueEntry& e = g.entry(ids[k]);
      feeds.emplace_back(e.name, as_declared(read_pb(in[k], e.info.type), e.info.type));
    }
    Outputs results = session.run(feeds);
    if (out.size() > results.size()) return concat(results.size(), " outputs instead of ", out.size());
    for (std::size_t k = 0; k < out.size(); ++k) {
      const std::string d = difference(results[k], as_declared(read_pb(out[k], results[k].type()), results[k].type()), tolerance);
      if (!d.empty()) return concat("output '", results.names()[k], "': ", d);
    }
  }
  return "";
}

void find_cases(const fs::path& folder, std::vector<fs::path>& cases) {
  if (!fs::is_directory(folder)) throw Error(ErrorCode::io, folder.string(), "no such folder");
  if (fs::exists(folder / "model.onnx")) {
    cases.push_back(folder);
    return;
  }
  std::vector<fs::path> below;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_directory()) below.push_back(entry.path());
  std::sort(below.begin(), below.end());
  for (const fs::path& p : below) find_cases(p, cases);
}

}  // namespace

int test(Arguments arguments) {
  std::vector<fs::path> cases;
  int threads = 1;
  bool any = false;
  while (!arguments.empty()) {
    const std::string word = arguments.take();
    if (word == "--threads") threads = static_cast<int>(arguments.integer(word, 1, 1024));
    else if (word.starts_with("--")) throw UsageError{concat("test has no option ", word)};
    else find_cases(word, cases), any = true;
  }
  if (!any) throw UsageError{"test needs a folder"};
  int passed = 0, failed = 0;
  for (const fs::path& c : cases) {
    std::string reason;
    try {
      reason = run_case(c, threads);
    } catch (const std::exception& e) {
      reason = e.what();
    }
    if (reason.empty()) {
      ++passed;
      continue;
    }
    ++failed;
    std::replace(reason.begin(), reason.end(), '\n', ' ');
    std::printf("FAIL %s: %s\n", c.string().c_str(), reason.c_str());
  }
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}

}  // namespace tenon::tool
