// Tensors as numpy's .npy files: what np.save writes and np.load reads.
//
//     Tensor<float, Shape<dyn, 28, 28>> x = load_npy<float, Shape<dyn, 28, 28>>("images.npy");
//     save_npy("y.npy", y);
//
// Versions 1 to 3 of the format, either byte order, C and Fortran order; bool, integers, float16, float,
// double and complex numbers. Other types of numpy (text, records, objects, long double) and of ONNX
// (bfloat16, packed ones) are an Error. Bytes after the last element are ignored, as in numpy: a file may
// contain several arrays.
//
// Programs with the loader also have read_npy and write_npy (loader.hpp), which map the file for reading, and
// replace it only when the new one is complete.
#pragma once

#include <algorithm>
#include <bit>
#include <charconv>

#include "tenon/array/file.hpp"
#include "tenon/array/shape.hpp"
#include "tenon/base/platform/exceptions.hpp"
#include "tenon/base/platform/path.hpp"
#include "tenon/kernels/move/move.hpp"
#include "tenon/tensor/value.hpp"

namespace tenon::TENON_ABI {

namespace array_detail {

static_assert(std::endian::native == std::endian::little,
              "Tenon's elements have the byte order of x86 and Arm");

struct NpyType {
  std::string_view name;  // with the byte order used for writing
  DType dtype;
};
inline constexpr NpyType npy_types[] = {
    {"|b1", DType::bool_},     {"|i1", DType::int8},       {"<i2", DType::int16},   {"<i4", DType::int32},
    {"<i8", DType::int64},     {"|u1", DType::uint8},      {"<u2", DType::uint16},  {"<u4", DType::uint32},
    {"<u8", DType::uint64},    {"<f2", DType::float16},    {"<f4", DType::float32}, {"<f8", DType::float64},
    {"<c8", DType::complex64}, {"<c16", DType::complex128}};

/// Bytes of a scalar for byte order: half of a complex number.
constexpr int scalar_bytes(DType d) { return is_complex(d) ? bits_of(d) / 16 : bits_of(d) / 8; }

struct NpyHeader {
  DType dtype = DType::undefined;
  bool swapped = false, fortran = false;
  Extents extents;
  int64_t count = 0, bytes = 0;  // of the elements
  std::size_t data = 0;          // where they begin
};

/// Reads the header of a file: a literal of a Python dictionary with three keys, in any order.
class NpyReader {
 public:
  NpyReader(std::span<const std::byte> file, std::string_view place)
      : all_(reinterpret_cast<const char*>(file.data()), file.size()), place_(place) {}

  NpyHeader read() {
    if (!all_.starts_with("\x93NUMPY")) fail("not a .npy file");
    at_ = 6;
    if (all_.size() < 8) fail("the file ends within its header");
    const auto byte = [&](std::size_t i) {
      return static_cast<std::size_t>(static_cast<unsigned char>(all_[i]));
    };
    if (byte(6) < 1 || byte(6) > 3 || byte(7) != 0)
      fail(str_cat("version ", byte(6), ".", byte(7), " is not known"));
    const std::size_t width = byte(6) == 1 ? 2 : 4;
    at_ = 8;
    if (all_.size() - at_ < width) fail("the file ends within its header");
    std::size_t length = 0;
    for (std::size_t k = 0; k < width; ++k) length |= byte(at_ + k) << 8 * k;
    if (length > all_.size() - at_ - width)
      fail(str_cat("a header of ", length, " bytes, of which the file has ", all_.size() - at_ - width));
    at_ += width;
    end_ = header_.data = at_ + length;
    read_dictionary();
    return check();
  }

 private:
  [[noreturn, gnu::cold]] void fail(std::string_view what,
                                    ErrorCode code = ErrorCode::invalid_argument) const {
    raise(code, place_, "byte ", at_, ": ", what);
  }

  void skip_blanks() {
    while (at_ < end_ && std::string_view(" \t\r\n").find(all_[at_]) != std::string_view::npos) ++at_;
  }
  bool next_is(char c) {
    skip_blanks();
    return at_ < end_ && all_[at_] == c;
  }
  bool take(char c) { return next_is(c) && (++at_, true); }
  void expect(char c) {
    if (!take(c)) fail(str_cat("'", c, "' expected in the header"));
  }
  bool take_word(std::string_view word) {
    if (!all_.substr(at_, end_ - at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  std::string_view text() {
    if (!next_is('\'') && !next_is('"')) fail("a text in quotes expected in the header");
    const std::size_t first = at_ + 1, last = all_.substr(0, end_).find(all_[at_], first);
    if (last == std::string_view::npos) fail("a quote without its end in the header");
    at_ = last + 1;
    return all_.substr(first, last - first);
  }

  void read_dictionary() {
    bool has_type = false, has_order = false, has_shape = false;
    expect('{');
    while (!next_is('}')) {
      const std::string_view key = text();
      expect(':');
      if (key == "descr" && !std::exchange(has_type, true)) read_type();
      else if (key == "fortran_order" && !std::exchange(has_order, true)) read_order();
      else if (key == "shape" && !std::exchange(has_shape, true)) read_shape();
      else fail(str_cat("the key '", key.substr(0, 32), "' is unknown to the format, or repeated"));
      if (!take(',')) break;
    }
    expect('}');
    skip_blanks();
    if (at_ < end_) fail("text follows the end of the header");
    if (!has_type || !has_order || !has_shape)
      fail(str_cat("the header has no ", !has_type ? "descr" : !has_order ? "fortran_order" : "shape"));
  }
  void read_type() {
    constexpr ErrorCode unknown = ErrorCode::not_supported;
    if (next_is('[')) fail("records are not tensors", unknown);
    const std::size_t at = at_;
    const std::string_view descr = text();
    for (const NpyType& t : npy_types)
      if (!descr.empty() && descr.substr(1) == t.name.substr(1) &&
          std::string_view("<>|=").find(descr[0]) != std::string_view::npos)
        header_.dtype = t.dtype;
    at_ = at;
    if (header_.dtype == DType::undefined)
      fail(str_cat("the element type '", descr.substr(0, 32), "' is not supported"), unknown);
    text();
    header_.swapped = descr[0] == '>';
  }
  void read_order() {
    skip_blanks();
    if (take_word("True")) header_.fortran = true;
    else if (!take_word("False")) fail("True or False expected in the header");
  }
  void read_shape() {
    expect('(');
    while (!next_is(')')) {
      int64_t extent = 0;
      const auto [end, code] = std::from_chars(all_.data() + at_, all_.data() + end_, extent);
      if (code != std::errc() || extent < 0) fail("an extent of int64, 0 or greater, expected in the header");
      if (header_.extents.size() == max_rank) fail(str_cat("more than ", max_rank, " axes"));
      header_.extents.push_back(extent);
      at_ = static_cast<std::size_t>(end - all_.data());
      take_word("L");  // as Python 2 writes long integers
      if (!take(',')) break;
    }
    expect(')');
  }

  NpyHeader check() {
    at_ = header_.data;
    const auto measure = [&] {
      header_.count = element_count(header_.extents);
      header_.bytes = packed_bytes(header_.count, header_.dtype);
    };
    tenon::detail::attempt<Error>(measure, [&](const Error& e) { fail(e.message(), e.code()); });
    if (all_.size() - header_.data < static_cast<std::size_t>(header_.bytes))
      fail(str_cat(all_.size() - header_.data, " bytes of elements, ", header_.bytes, " are needed"));
    return header_;
  }

  std::string_view all_, place_;
  std::size_t at_ = 0, end_ = 0;
  NpyHeader header_;
};

template <class Word>
void swap_words(std::byte* data, int64_t n) {
  for (int64_t i = 0; i < n; ++i, data += sizeof(Word)) {
    std::reverse(data, data + sizeof(Word));
  }
}

/// Converts a file's elements to a tensor's: native byte order, bools of 0 and 1, row-major.
inline AnyTensor npy_tensor(const NpyHeader& h, Storage elements) {
  auto* const data = elements.as<std::byte>();
  const int each = scalar_bytes(h.dtype);
  if (h.dtype == DType::bool_)
    for (int64_t i = 0; i < h.count; ++i) data[i] = std::byte{data[i] != std::byte{0}};
  if (h.swapped && each == 2) swap_words<uint16_t>(data, h.bytes / 2);
  if (h.swapped && each == 4) swap_words<uint32_t>(data, h.bytes / 4);
  if (h.swapped && each == 8) swap_words<uint64_t>(data, h.bytes / 8);
  AnyTensor t(h.dtype, h.extents, std::move(elements));
  const int rank = t.rank();
  if (!h.fortran || rank < 2) return t;
  // In C order, the same elements have reversed extents.
  int64_t extents[max_rank], axes[max_rank];
  for (int k = 0; k < rank; ++k) {
    extents[k] = h.extents[rank - 1 - k];
    axes[k] = rank - 1 - k;
  }
  AnyTensor rows = AnyTensor::uninitialized(h.dtype, h.extents);
  const auto count = static_cast<std::size_t>(rank);
  kernels::transpose(h.dtype, rows.out().data(), t.data(), {extents, count}, {axes, count});
  return rows;
}

}  // namespace array_detail

/// numpy's name of an element type: "<f4", "|b1". "" if it has none.
constexpr std::string_view npy_type(DType d) {
  for (const array_detail::NpyType& t : array_detail::npy_types)
    if (t.dtype == d) return t.name;
  return {};
}

/// The bytes of a .npy file before the elements, which follow in C order. Error{invalid_type} for types that
/// numpy does not have.
[[nodiscard]] inline std::string npy_header(DType d, std::span<const int64_t> extents) {
  if (npy_type(d).empty())
    raise(ErrorCode::invalid_type, "npy", "numpy has no type for tensor(", name_of(d), ")");
  std::string text = str_cat("{'descr': '", npy_type(d), "', 'fortran_order': False, 'shape': (");
  for (std::size_t k = 0; k < extents.size(); ++k)
    text += str_cat(k == 0 ? "" : ", ", extents[k], extents.size() == 1 ? "," : "");
  text += "), }";
  constexpr std::size_t before = 10;  // the name, the version, the length of what follows
  text.append(63 - (before + text.size()) % 64, ' ') += '\n';
  std::string header = "\x93NUMPY\x01";
  header += '\0';
  header += static_cast<char>(text.size() & 255);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

/// The tensor of a .npy file's bytes, copied; `place` names the file in errors. Error{invalid_argument} for
/// malformed and for truncated files, Error{not_supported} for element types that tensors lack,
/// Error{invalid_shape} for extents that overflow; each with the byte.
[[nodiscard]] inline AnyTensor parse_npy(std::span<const std::byte> file, std::string_view place = "npy") {
  const array_detail::NpyHeader h = array_detail::NpyReader(file, place).read();
  Storage elements = Storage::allocate(static_cast<std::size_t>(h.bytes));
  if (h.bytes > 0) std::memcpy(elements.as<void>(), file.data() + h.data, static_cast<std::size_t>(h.bytes));
  return array_detail::npy_tensor(h, std::move(elements));
}

/// The tensor in a file. The same errors, and Error{io}.
[[nodiscard]] inline AnyTensor load_npy(const std::filesystem::path& file) {
  const Storage all = array_detail::read_file(file);
  const std::span<const std::byte> bytes(all.as<const std::byte>(), all.size_bytes());
  const array_detail::NpyHeader h = array_detail::NpyReader(bytes, tenon::detail::path_text(file)).read();
  // numpy aligns the elements to 64 bytes: such elements are used in place.
  if (h.data % static_cast<std::size_t>(array_detail::scalar_bytes(h.dtype)) != 0)
    return parse_npy(bytes, tenon::detail::path_text(file));
  return array_detail::npy_tensor(h, all.slice(h.data, static_cast<std::size_t>(h.bytes)));
}
/// The same with its type. Error{invalid_type} for elements of another type, Error{invalid_shape} for extents
/// that do not fit S. load_npy<float, Shape<dyn, 3>>("x.npy").
template <Element T, class S = AnyShape>
[[nodiscard]] Tensor<T, S> load_npy(const std::filesystem::path& file) {
  Value v = load_npy(file);
  return detail::attempt<Error>(
      [&] { return std::move(v).as<T, S>(); },
      [&](const Error& e) { raise(e.code(), tenon::detail::path_text(file), e.message()); });
}

/// The bytes of a .npy file. Error{invalid_type} for types that numpy does not have, and for absent tensors.
[[nodiscard]] inline std::string to_npy(AnyView v) {
  std::string bytes = npy_header(v.dtype(), v.extents());
  if (!v.empty()) bytes.append(static_cast<const char*>(v.data()), static_cast<std::size_t>(v.bytes()));
  return bytes;
}
template <class T, class S>
[[nodiscard]] std::string to_npy(const Tensor<T, S>& t) {
  return to_npy(AnyView(t.view()));
}
template <Lazy E>
[[nodiscard]] std::string to_npy(const E& e) {
  return to_npy(e.eval());
}

/// Writes a .npy file, overwriting an existing one. Errors of to_npy, and Error{io}. save_npy("x.npy", x).
inline void save_npy(const std::filesystem::path& file, AnyView v) {
  const std::string header =
      array_detail::named(tenon::detail::path_text(file), [&] { return npy_header(v.dtype(), v.extents()); });
  array_detail::write_file(
      file, {header, {static_cast<const char*>(v.data()), static_cast<std::size_t>(v.bytes())}});
}
template <class T, class S>
void save_npy(const std::filesystem::path& file, const Tensor<T, S>& t) {
  save_npy(file, AnyView(t.view()));
}
template <Lazy E>
void save_npy(const std::filesystem::path& file, const E& e) {
  save_npy(file, e.eval());
}

}  // namespace tenon::TENON_ABI
