// Headers as one text: what becomes of includes, conditions, comments, names and errors; and that a program
// of such a text without heap and exceptions computes the bits that Tenon's headers compute.
#include "loader/compile/amalgamate.hpp"
#include "tenon/model.hpp"

#include <doctest/doctest.h>

#include <cstdlib>

#include "loader/tool/embedded_headers.hpp"
#include "tests/loader/folder.hpp"
#include "tests/loader/refusal.hpp"

namespace tenon {
namespace {

using Texts = std::vector<HeaderText>;

// What follows the notice.
std::string body(const Texts& files, const Amalgamation& options = {}) {
  const std::string header = "tenon/a.hpp";
  std::string text = amalgamate(files, {&header, 1}, options);
  CHECK(text == amalgamate(files, {&header, 1}, options));
  const std::string_view before = options.enclosing.empty() ? "TENON_COMPILED\n#endif\n" : "system_header\n";
  return text.substr(text.find(before) + before.size());
}
std::string body(std::string_view text, const Amalgamation& options = {}) {
  return body(Texts{{"tenon/a.hpp", text}}, options);
}

TEST_CASE("every header stands once, before those that include it") {
  const Texts files{
      {"tenon/a.hpp", "#pragma once\n#include <vector>\n\n#include \"tenon/b.hpp\"\nint a;\n"},
      {"tenon/b.hpp", "#include <string>\n#include <vector>\n#include \"tenon/c.hpp\"\nint b;\n"},
      {"tenon/c.hpp", "#include \"tenon/b.hpp\"\n#include <xsimd/x.hpp>\nint c;\n"},
      {"xsimd/x.hpp", "#include \"./part/../y.hpp\"\nint x;\n"},
      {"xsimd/y.hpp", "int y;\n"}};
  CHECK(body(files) == "#include <string>\n#include <vector>\nint y;\nint x;\nint c;\nint b;\nint a;\n");
}

TEST_CASE("one header's text") {
  const struct {
    std::string_view what, header, text;
  } cases[] = {
      {"comments", "// a\n/// doc\nint a;  // b\n/* c\n*/ int b /* d */;\n", "/// doc\nint a;\n  int b  ;\n"},
      {"literals are no comments",
       "auto a = \"// \\\"\", b = R\"x(\n)\" /* )x\"; char c = '\"'; int d = 1'0; // e\n",
       "auto a = \"// \\\"\", b = R\"x(\n)\" /* )x\"; char c = '\"'; int d = 1'0;\n"},
      {"a macro ends at an empty line", "#define A(x) \\\n  x \\\n\nint a;\n",
       "#define A(x) \\\n  x \\\n\nint a;\n#undef A\n"},
      {"conditional headers stay", "#ifdef __linux__\n#include <unistd.h>\n#endif\n",
       "#ifdef __linux__\n#include <unistd.h>\n#endif\n"},
      {"bodies come along", "#ifndef TENON_COMPILED\n#include <new>\nint a;\n#else\nint b;\n#endif\n",
       "#include <new>\nint a;\n"},
      {"the level is not chosen in the run",
       "#if defined(TENON_INSTANTIATE)\nint a;\n#elif defined(TENON_COMPILED)\nint b;\n#else\n#if X\nint "
       "c;\n#endif\n#endif\n",
       "#if X\nint c;\n#endif\n"},
      {"dead conditions", "#ifdef TENON_COMPILED\n#if X\nint a;\n#else\nint b;\n#endif\n#endif\nint c;\n",
       "int c;\n"},
      {"Tenon's macros stay", "#define TENON_A 1\n#define B 2\n",
       "#define TENON_A 1\n#define B 2\n#undef B\n"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.what);
    CHECK(body(c.header) == c.text);
  }
}

TEST_CASE("a header that is read twice, as xsimd does") {
  const Texts files{{"tenon/a.hpp",
                     "#include \"xsimd/x.hpp\"\n#include \"xsimd/x.hpp\"\n#undef X_HPP\n#define x "
                     "y\n#include \"xsimd/x.hpp\"\n"},
                    {"xsimd/x.hpp", "#ifndef X_HPP\n#define X_HPP\n#include <limits>\nint x;\n#endif\n"}};
  const std::string x = "#ifndef X_HPP\n#define X_HPP\nint x;\n#endif\n";
  CHECK(body(files) ==
        "#include <limits>\n" + x + "#undef X_HPP\n#define x y\n" + x + "#undef X_HPP\n#undef x\n");
}

TEST_CASE("an enclosing namespace") {
  const struct {
    std::string_view header, text;
  } cases[] = {
      {"namespace tenon::op {\nxsimd::batch x, *tenon;\n}\n",
       "namespace m::tenon::op {\n::m::xsimd::batch x, *tenon;\n}\n"},
      {"namespace xsimd\n{\n  auto a = ::xsimd::b(c::xsimd::d);\n}\n",
       "namespace m::xsimd\n{\n  auto a = ::m::xsimd::b(c::xsimd::d);\n}\n"},
      {"int f() { return ::xsimd::g(\"tenon::\"); }  /// doc\n",
       "int f() { return ::m::xsimd::g(\"tenon::\"); }\n"},
      {"namespace std {\ntemplate <>\nstruct hash<tenon::A>;\n}\n",
       "namespace std {\ntemplate <>\nstruct hash<::m::tenon::A>;\n}\n"},
      {"#define TENON_A(x) XSIMD_B x\n#if TENON_A(C)\nTENON_ABORT();\n#endif\n",
       "#define m_TENON_A(x) m_XSIMD_B x\n#if m_TENON_A(C)\nTENON_ABORT();\n#endif\n#undef m_TENON_A\n"},
  };
  for (const auto& c : cases) CHECK(body(c.header, {.enclosing = "m"}) == c.text);
}

TEST_CASE("without exceptions, heap and threads") {
  const struct {
    std::string_view header, text;
  } cases[] = {
      {"inline void compute(int a) const {}\ninline void f() {}\n",
       "inline __attribute__((always_inline)) void compute(int a) const {}\ninline void f() {}\n"},
      {"void f(int a) {\nsimd::dispatch([&]<class Arch>(Arch) { g(a); });\n}\n",
       "inline __attribute__((always_inline)) void f(int a) {\n"
       "simd::dispatch([&]<class Arch>(Arch) __attribute__((always_inline)) { g(a); });\n}\n"},
      {"#include <mutex>\nint a;\n", "standin\nint a;\n"},
  };
  for (const auto& c : cases) {
    const Texts files{{"freestanding/tenon/base/standin.hpp", "standin\n"}, {"tenon/a.hpp", c.header}};
    const Amalgamation options{.enclosing = "m", .freestanding = true, .types = {DType::int8, DType::string}};
    CHECK(body(files, options) == "#define m_TENON_ELEMENT_TYPES cpp_type<static_cast<DType>(3)>\n" +
                                      std::string(c.text) + "#undef m_TENON_ELEMENT_TYPES\n");
  }
}

TEST_CASE("what cannot be amalgamated") {
  const auto text = [](Texts files, std::string header) {
    return refusal([&] { amalgamate(files, {&header, 1}); });
  };
  CHECK(text({}, "tenon/none.hpp") == "amalgamate: there is no header tenon/none.hpp");
  CHECK(text({{"a", "#if X\n"}}, "a") == "a: has an #if without an #endif");
  CHECK(text({{"a", "#endif\n"}}, "a") == "a: has an #endif without an #if");
  CHECK(text({{"a", "#else\n"}}, "a") == "a: has an #else without an #if");
  CHECK(text({{"a", "#if X\n#include \"b\"\n#else\n#include \"b\"\n#endif\n"}, {"b", "int b;\n"}}, "a") ==
        "b: is included under two conditions, and has no guard");

  const auto header = [](std::string_view name) {
    return refusal([&] { operator_header(standard_registry(), name); });
  };
  CHECK(operator_header(standard_registry(), "Conv") == "tenon/op/nn/conv.hpp");
  CHECK(operator_header(standard_registry(), "SVMRegressor") == "tenon/op/traditionalml/svm_regressor.hpp");
  CHECK(header("Convv") == "Convv: is no operator; near it: Conv");
  CHECK(header("sigmoid").find("near it: Sigmoid, HardSigmoid") != std::string::npos);
  CHECK(header("framework") == "framework: is no operator");
  CHECK(header("ImageDecoder") ==
        "ImageDecoder: this operator needs other libraries, which no header can hold");
}

// Vectors and working memory of a freestanding program, and operators; prints what Tenon's headers compute
// too.
constexpr std::string_view program = R"(
[[maybe_unused]] alignas(64) static std::byte memory[1 << 18];
static float x[3 * 81], w[8 * 27], c[8 * 81], p[8 * 16], b[16 * 5], y[40], s[40];
static long long q[40];

extern "C" void run() noexcept {
  namespace op = tenon::op;
  using tenon::TensorView;
  LEND
  op::Conv{.pads = {1, 1, 1, 1}}.compute<float>(TensorView<const float>(x, {1, 3, 9, 9}),
                                                TensorView<const float>(w, {8, 3, 3, 3}), {},
                                                TensorView<float>(c, {1, 8, 9, 9}));
  op::MaxPool{.kernel_shape = {2, 2}, .strides = {2, 2}}.compute<float>(
      TensorView<const float>(c, {1, 8, 9, 9}), TensorView<float>(p, {1, 8, 4, 4}), {});
  op::MatMul{}.compute<float>(TensorView<const float>(p, {8, 16}), TensorView<const float>(b, {16, 5}),
                              TensorView<float>(y, {8, 5}));
  op::Softmax{}.compute<float>(TensorView<const float>(y, {8, 5}), TensorView<float>(s, {8, 5}));
  op::Cast{.to = 7}.compute(tenon::AnyView(tenon::DType::float32, y, std::array<int64_t, 1>{40}),
                            tenon::AnyOut(tenon::DType::int64, q, std::array<int64_t, 1>{40}));
}
)";
constexpr std::string_view main_program = R"(
#include <cstdio>
int main() {
  for (int i = 0; i < 3 * 81; ++i) x[i] = float(i % 17) / 7 - 1;
  for (int i = 0; i < 8 * 27; ++i) w[i] = float(i % 13) / 5 - 1;
  for (int i = 0; i < 80; ++i) b[i] = float(i % 11) / 3;
  run();
  for (float f : s) std::printf("%a\n", double(f));
  for (long long i : q) std::printf("%lld\n", i);
}
)";
constexpr std::string_view memory_program = R"(
#include <csetjmp>
#include <string_view>
static std::jmp_buf failure;
static const char* said;
#define TENON_ABORT() said = text, std::longjmp(failure, 1 + static_cast<int>(code))
#include "one.hpp"
#include "two.hpp"
namespace one {
static int test() {
  alignas(64) std::byte memory[1024];
  tenon::Lent lent(memory, sizeof memory);
  tenon::std::vector<int> v{3, 1, 2};
  std::sort(v.begin(), v.end());
  for (int i = 4; i < 40; ++i) v.push_back(i);
  v.insert(v.begin(), 0);
  v.erase(v.begin() + 30, v.end());
  for (int i = 0; i < 30; ++i)
    if (v[static_cast<std::size_t>(i)] != i) return 1;
  const std::size_t with_vectors = lent.peak();
  lent.reset();
  {
    tenon::Scratch outer;
    char* const first = outer.take<char>(1);
    tenon::Scratch inner;
    if (inner.take<char>(65) != first + 64) return 2;
  }
  if (tenon::Scratch().take<char>(1024) != reinterpret_cast<char*>(memory)) return 3;
  if (lent.peak() != 1024 || with_vectors >= 1024) return 4;
  int order = 0;
  tenon::parallel_for(10, 4, [&](int64_t begin, int64_t end) { order = order * 100 + static_cast<int>(10 * begin + end); });
  if (order != (4 * 100 + 48) * 100 + 90) return 5;
  if (const int code = setjmp(failure); code == 0) tenon::Scratch().take<char>(1025);
  else if (code != 1 + static_cast<int>(tenon::ErrorCode::out_of_memory)) return 6;
  if (said != std::string_view("out of memory")) return 6;
  if (const int code = setjmp(failure); code == 0) tenon::extent_at(std::array<int64_t, 1>{2}, 5);
  else if (code != 1 + static_cast<int>(tenon::ErrorCode::out_of_range)) return 6;
  if (said != std::string_view("out of range")) return 6;
  static_assert(std::is_trivially_copyable_v<tenon::Storage>);
  static constexpr tenon::std::vector<float> none{};
  static constexpr tenon::Storage part = tenon::Storage::borrow(static_cast<const void*>("ab"), 2);
  return none.empty() && part.size_bytes() == 2 ? 0 : 7;
}
}
int main() { return one::test() + 8 * two::tenon::extent_product(std::array<int64_t, 2>{0, 1}); }
)";

TEST_CASE("a program without heap and exceptions computes the same bits") {
  const Folder folder;
  const auto text = [&](std::string_view enclosing, const std::vector<std::string>& names,
                        std::vector<DType> types) {
    std::vector<std::string> headers;
    for (const std::string& n : names) headers.push_back(operator_header(standard_registry(), n));
    write_bytes(
        folder / str_cat(enclosing, ".hpp"),
        str_cat("#pragma once\n#define ", enclosing, "_TENON_USES_VNNI 0\n#define ", enclosing,
                "_TENON_USES_AMX 0\n") +
            amalgamate(tool::embedded_headers(), headers, {std::string(enclosing), true, std::move(types)}));
  };
  const auto shell = [&](const std::string& command) {
    return std::system(str_cat("cd ", folder.path().string(), " && ", command).c_str());
  };
  std::string normal = "#include <cstddef>\n";
  const std::vector<std::string> names{"Conv", "MaxPool", "MatMul", "Softmax", "Cast"};
  for (const std::string& n : names)
    normal += str_cat("#include \"", operator_header(standard_registry(), n), "\"\n");
  text("one", names, {DType::float32, DType::int64});
  text("two", {"Relu"}, {});

  write_bytes(folder / "free.cc",
              str_cat("#include \"one.hpp\"\nnamespace tenon = one::tenon;\n#define LEND tenon::Lent "
                      "lent(memory, sizeof memory);\n",
                      program));
  write_bytes(folder / "free_main.cc", str_cat("#include \"free.cc\"\n", main_program));
  write_bytes(folder / "normal.cc", str_cat(normal, "#define LEND\n", program, main_program));
  write_bytes(folder / "memory.cc", memory_program);

  const std::string include = std::filesystem::absolute("include").string();
  const std::string flags = "g++ -std=c++20 -O1 -march=native -Wall -Wextra -Werror ";
  REQUIRE(shell(flags + "-fno-exceptions -c free.cc -o free.o") == 0);
  REQUIRE(shell(flags + "-fno-exceptions free_main.cc -o free && ./free > free.txt") == 0);
  CHECK(shell("nm -u free.o > undefined.txt") == 0);
  CHECK(shell("! grep -E '_Zn|_Zd|malloc|calloc|__cxa|pthread|_ZSt' undefined.txt") == 0);
  REQUIRE(shell(str_cat(flags, "-I", include, " normal.cc -o normal && ./normal > normal.txt")) == 0);
  CHECK(bytes_of(folder / "free.txt").size() > 80);
  CHECK(bytes_of(folder / "free.txt") == bytes_of(folder / "normal.txt"));
  CHECK(shell(flags + "-fno-exceptions memory.cc -o memory && ./memory") == 0);
}

}  // namespace
}  // namespace tenon
