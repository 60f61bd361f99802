#include "tenon/array/npy.hpp"

#include <doctest/doctest.h>

#include <cstdlib>

namespace tenon {
namespace {

using namespace std::string_literals;

// A file of a header's text, padded as version 1 has it, and the elements' bytes.
std::string file_of(const std::string& header, const std::string& elements = "", char version = 1) {
  std::string bytes = "\x93NUMPY"s + version + '\0';
  for (int k = 0; k < (version == 1 ? 2 : 4); ++k)
    bytes += static_cast<char>(k < 2 ? header.size() >> 8 * k & 255 : 0);
  return bytes + header + elements;
}
AnyTensor parse(const std::string& bytes) { return parse_npy(std::as_bytes(std::span(bytes)), "x.npy"); }
std::string refusal(const std::string& bytes) {
  try {
    parse(bytes);
  } catch (const Error& e) {
    return e.what();
  }
  return "accepted";
}

bool same(const AnyTensor& a, const AnyTensor& b) {
  return a.dtype() == b.dtype() && a.extents() == b.extents() &&
         (a.bytes() == 0 || std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.bytes())) == 0);
}

}  // namespace

TEST_CASE("npy: what numpy writes") {
  // np.save of np.arange(6, dtype=np.float32).reshape(2, 3), numpy 1.20.
  std::string text = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  text.append(118 - text.size() - 1, ' ') += '\n';
  const float values[] = {0, 1, 2, 3, 4, 5};
  const std::string file = file_of(text, std::string(reinterpret_cast<const char*>(values), sizeof values));
  const Tensor<float, Shape<2, 3>> x{{0, 1, 2}, {3, 4, 5}};
  CHECK(same(parse(file), x));
  CHECK(to_npy(x) == file);
  CHECK(to_npy(Tensor<float>({0})).find("'shape': (0,), }") != std::string::npos);
  CHECK(to_npy(Tensor<float>(Extents{})).find("'shape': (), }") != std::string::npos);
}

TEST_CASE("npy: every type, there and back") {
  int known = 0;
  for (int d = 1; d < dtype_count; ++d) {
    const auto dtype = static_cast<DType>(d);
    if (npy_type(dtype).empty()) {
      CHECK_THROWS_AS(npy_header(dtype, {}), Error);
      continue;
    }
    ++known;
    for (const Extents& extents :
         {Extents{}, Extents{5}, Extents{2, 3}, Extents{2, 0, 3}, Extents{2, 3, 4}}) {
      AnyTensor t = AnyTensor::uninitialized(dtype, extents);
      auto* bytes = static_cast<uint8_t*>(t.out().data());
      for (int64_t k = 0; k < t.bytes(); ++k)
        bytes[k] = static_cast<uint8_t>(dtype == DType::bool_ ? k % 2 : 37 * k + 11);
      const std::string file = to_npy(t);
      CHECK(file.size() % 64 == static_cast<std::size_t>(t.bytes()) % 64);
      CHECK(same(parse(file), t));
      // The same in the other byte order.
      std::string other = file;
      const std::size_t data = file.size() - static_cast<std::size_t>(t.bytes());
      const std::size_t order = other.find(npy_type(dtype));
      if (other[order] == '<') {
        other[order] = '>';
        const auto each = static_cast<std::size_t>(array_detail::scalar_bytes(dtype));
        for (std::size_t k = data; k < other.size(); k += each)
          std::reverse(other.begin() + static_cast<std::ptrdiff_t>(k),
                       other.begin() + static_cast<std::ptrdiff_t>(k + each));
        CHECK(same(parse(other), t));
      }
    }
  }
  CHECK(known == 14);
}

TEST_CASE("npy: versions, orders and spellings of a header") {
  const Tensor<int16_t, Shape<2, 3>> x{{1, 2, 3}, {4, 5, 6}};
  const std::string rows = "\1\0\2\0\3\0\4\0\5\0\6\0"s, columns = "\1\0\4\0\2\0\5\0\3\0\6\0"s;
  const std::string big = "\0\1\0\4\0\2\0\5\0\3\0\6"s;
  for (const char version : {'\1', '\2', '\3'})
    CHECK(same(parse(file_of("{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), }\n", rows, version)),
               x));
  struct Row {
    const char* header;
    const std::string& elements;
  } table[] = {{"{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3), }\n", columns},
               {"{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }\n", big},
               {"{\"shape\":(2L,3L),\"fortran_order\":False,\"descr\":\"=i2\"}", rows},
               {"  { 'fortran_order' : False ,\n 'shape' : ( 2 , 3 , ) , 'descr' : '|i2' }   \n", rows}};
  for (const Row& row : table) CHECK(same(parse(file_of(row.header, row.elements)), x));
  CHECK(same(parse(file_of(table[0].header, columns) + "more"), x));
  // Three axes in Fortran order, and bools that are not 0 or 1.
  std::string cube;
  for (int k = 0; k < 2; ++k)
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < 4; ++i) cube += static_cast<char>(i * 6 + j * 2 + k);
  const AnyTensor c = parse(file_of("{'descr': '|u1', 'fortran_order': True, 'shape': (4, 3, 2), }", cube));
  for (int k = 0; k < 24; ++k) CHECK(static_cast<const uint8_t*>(c.data())[k] == k);
  const AnyTensor b =
      parse(file_of("{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }", "\0\7\xff"s));
  CHECK(std::memcmp(b.data(), "\0\1\1", 3) == 0);
}

TEST_CASE("npy: errors names file and byte") {
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
  struct Row {
    std::string file, words;
  } rows[] = {
      {"", "x.npy: byte 0: not a .npy file"},
      {"PK\3\4", "not a .npy file"},
      {"\x93NUMPY", "byte 6: the file ends within its header"},
      {"\x93NUMPY\1\0\1"s, "byte 8: the file ends within its header"},
      {"\x93NUMPY\2\0\1\0\0"s, "ends within its header"},
      {"\x93NUMPY\4\0\1\0"s, "version 4.0 is not known"},
      {"\x93NUMPY\1\1\1\0 "s, "version 1.1 is not known"},
      {"\x93NUMPY\1\0\xff\xff{"s, "byte 8: a header of 65535 bytes, of which the file has 1"},
      {"\x93NUMPY\2\0\xff\xff\xff\xff{"s, "a header of 4294967295 bytes"},
      {file_of(good, "1234567"), "byte 67: 7 bytes of elements, 8 are needed"},
      {file_of(""), "'{' expected"},
      {file_of("{"), "a text in quotes"},
      {file_of("{}"), "the header has no descr"},
      {file_of("{'descr': '<f4', 'shape': ()}"), "the header has no fortran_order"},
      {file_of("{'descr': '<f4', 'fortran_order': False}"), "the header has no shape"},
      {file_of("{'descr: '<f4'}"), "':' expected"},
      {file_of("{'descr': '<f4"), "a quote without its end"},
      {file_of("{'descr': '<f4' 'shape': ()}"), "'}' expected"},
      {file_of("{'other': 1}"), "the key 'other' is unknown to the format"},
      {file_of("{'shape': (), 'shape': ()}"), "repeated"},
      {file_of(good + "x"), "text follows the end of the header"},
      {file_of("{'descr': '<f4', 'fortran_order': 1, 'shape': ()}"), "True or False"},
      {file_of("{'shape': 3}"), "'(' expected"},
      {file_of("{'shape': (3"), "')' expected"},
      {file_of("{'shape': (a,)}"), "an extent"},
      {file_of("{'shape': (-1,)}"), "an extent"},
      {file_of("{'shape': (9223372036854775808,)}"), "an extent"},
      {file_of("{'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)}"), "more than 16 axes"},
      {file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 2)}"), "overflow"},
      {file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807,)}"), "overflow"},
      {file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 0, 4)}"), "accepted"},
      {file_of("{'descr': '<f16', 'fortran_order': False, 'shape': ()}"), "byte 20: the element type '<f16'"},
      {file_of("{'descr': '|O', 'fortran_order': False, 'shape': ()}"), "the element type '|O'"},
      {file_of("{'descr': '', 'fortran_order': False, 'shape': ()}"), "the element type ''"},
      {file_of("{'descr': 'f4', 'fortran_order': False, 'shape': ()}"), "the element type 'f4'"},
      {file_of("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}"), "records are not tensors"}};
  for (const Row& row : rows) {
    const std::string words = refusal(row.file);
    CHECK_MESSAGE(words.find(row.words) != std::string::npos, row.words, " / ", words);
  }
  // Cut short anywhere, it is refused.
  const std::string whole = to_npy(Tensor<float>({2, 3}));
  for (std::size_t n = 0; n < whole.size(); ++n) CHECK(refusal(whole.substr(0, n)) != "accepted");
}

TEST_CASE("npy: files") {
  const char* const folder = std::getenv("TEST_TMPDIR");
  const std::filesystem::path file =
      (folder != nullptr ? std::filesystem::path(folder) : std::filesystem::temp_directory_path()) /
      "tenon_npy.npy";
  const Tensor<double, Shape<2, 2>> x{{1, 2}, {3, 4}};
  save_npy(file, x);
  const auto y = load_npy<double, Shape<dyn, 2>>(file);
  CHECK(y(1, 1) == 4);
  CHECK(reinterpret_cast<uintptr_t>(y.data()) % 64 == 0);
  CHECK(same(load_npy(file), x));
  CHECK_THROWS_WITH_AS(load_npy<float>(file),
                       (file.string() + ": tensor(double) is not a tensor(float)").c_str(), Error);
  CHECK_THROWS_AS((load_npy<double, Shape<4>>(file)), Error);
  // Elements that begin anywhere.
  array_detail::write_file(file,
                           {file_of("{'descr': '<f8', 'fortran_order': False, 'shape': (), }", "12345678")});
  CHECK(load_npy<double>(file).rank() == 0);
  array_detail::write_file(file, {"\x93NUMPY"});
  CHECK_THROWS_WITH_AS(load_npy(file), (file.string() + ": byte 6: the file ends within its header").c_str(),
                       Error);
  std::filesystem::remove(file);
  CHECK_THROWS_WITH_AS(load_npy(file), (file.string() + ": No such file or directory").c_str(), Error);
  CHECK_THROWS_WITH_AS(load_npy(file.parent_path()),
                       (file.parent_path().string() + ": not a regular file").c_str(), Error);
  CHECK_THROWS_AS(save_npy(file / "x.npy", x), Error);
  CHECK_THROWS_AS(save_npy(file, Tensor<bfloat16>({1})), Error);
  CHECK(!std::filesystem::exists(file));
}

}  // namespace tenon
