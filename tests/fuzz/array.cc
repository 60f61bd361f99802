// Tensors as .npy files and as CSV, read and written by the headers alone. What was read is the same when it
// is written and read again.
#include <cstring>

#include "tenon/array/csv.hpp"
#include "tenon/array/npy.hpp"
#include "tests/fuzz/support.hpp"

namespace tenon::fuzz {
namespace {

void check_npy(std::string_view text) {
  AnyTensor t;
  if (!accepted([&] { t = parse_npy(std::as_bytes(std::span(text))); })) return;
  const std::string written = to_npy(t);
  const AnyTensor back = parse_npy(std::as_bytes(std::span(written)));
  require(back.dtype() == t.dtype() && back.extents() == t.extents() &&
              (t.bytes() == 0 || std::memcmp(back.data(), t.data(), static_cast<size_t>(t.bytes())) == 0),
          "a tensor is read as it was written", text);
  require(!accepted([&] { return parse_npy(std::as_bytes(std::span(written)).first(written.size() - 1)); }) ||
              t.bytes() == 0,
          "a file that is cut short is refused");
}

template <class T>
bool same(const T& a, const T& b) {
  if constexpr (is_complex(dtype_of<T>)) return same(a.real(), b.real()) && same(a.imag(), b.imag());
  else if constexpr (is_float(dtype_of<T>)) return (a != a && b != b) || std::memcmp(&a, &b, sizeof a) == 0;
  else return a == b;
}

template <class T>
void check_csv(std::string_view text, const CsvOptions& options) {
  Csv<T> table;
  if (!accepted([&] { table = parse_csv<T>(text, options); })) return;
  if (table.values.empty()) return;
  const std::string written = to_csv(table.values, options, table.names);
  const Csv<T> back = parse_csv<T>(written, options);
  require(back.names == table.names, "names are read as they were written", written);
  require(std::ranges::equal(back.values.extents(), table.values.extents()) &&
              std::equal(back.values.begin(), back.values.end(), table.values.begin(), same<T>),
          "a table is read as it was written", written);
}

}  // namespace
}  // namespace tenon::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tenon;
  using namespace tenon::fuzz;
  const Input input(data, size);
  if (input.choice % 8 == 0) {
    check_npy(input.text());
    return 0;
  }
  const CsvOptions options{.separator = ",;\t "[input.choice / 8 % 4], .header = input.choice / 32 % 2 == 1};
  switch (input.choice % 8) {
    case 1: check_csv<float>(input.text(), options); break;
    case 2: check_csv<double>(input.text(), options); break;
    case 3: check_csv<int8_t>(input.text(), options); break;
    case 4: check_csv<uint64_t>(input.text(), options); break;
    case 5: check_csv<bool>(input.text(), options); break;
    case 6: check_csv<complex64>(input.text(), options); break;
    default: check_csv<std::string>(input.text(), options); break;
  }
  return 0;
}
