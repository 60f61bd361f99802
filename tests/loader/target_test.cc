// Models compiled for other machines: the same text from any thread, and what cannot be done is refused.
#include "loader/compile/target.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "loader/compile/compile.hpp"
#include "tenon/base/thread_pool.hpp"
#include "tenon/model.hpp"
#include "tenon/simd/features.hpp"
#include "tests/loader/refusal.hpp"

using namespace tenon;

namespace {

Model product_model() {
  std::string weights;
  for (int k = 0; k < 30 * 40; ++k) weights += str_cat(k == 0 ? "" : ", ", k % 17 - 8);
  return parse_text(
      str_cat("<ir_version: 10, opset_import: [\"\" : 21]> product (float[9,30] x) => (float[9,40] y) "
              "<float[30,40] w = {",
              weights, "}> { y = MatMul (x, w) }"));
}

bool has_target(std::string_view name) {
  return refusal(ErrorCode::not_supported, [&] { target_of(name); }).empty();
}

}  // namespace

TEST_CASE("a model is laid out for its target whatever is in force") {
  const Model m = product_model();
  const ModelPart here = compile_part(m, {});
  CHECK(here.target.empty());
  if (!has_target("aarch64")) return;
  const ModelPart arm = compile_part(m, {.target = "aarch64"});
  CHECK(arm.target == "aarch64");
  CHECK(arm.text != here.text);
  for (const char* wasm : {"wasm32", "wasm32:relaxed"})
    if (has_target(wasm))  // their registers are the same
      CHECK(compile_part(m, {.target = wasm}).text == compile_part(m, {.target = "x86-64"}).text);
  CHECK(compile_part(m, {}).text == here.text);
  ThreadPool pool(3);
  const ScopedPool use(pool);
  CHECK(compile_part(m, {.target = "aarch64"}).text == arm.text);
}

TEST_CASE("a model's variants of kernels do not depend on threads") {
  const auto numbers = [](int count) {
    std::string list;
    for (int k = 0; k < count; ++k) list += str_cat(k == 0 ? "" : ", ", k % 17 - 8);
    return list;
  };
  const Model m = parse_text(str_cat(
      "<ir_version: 10, opset_import: [\"\" : 21]> cells (float[1,3,20,38] s) => (float[1,40,10,19] u) "
      "<float[32,3,3,3] w = {",
      numbers(864), "}, float[32,1,3,3] v = {", numbers(288), "}, float[40,32,1,1] p = {", numbers(1280),
      "}> { a = Conv <pads = [1, 1, 1, 1]> (s, w)  b = Relu (a) "
      "c = Conv <pads = [1, 1, 1, 1], strides = [2, 2], group = 32> (b, v)  d = Relu (c)  u = Conv (d, p) "
      "}"));
  const kernels::Variants alone = compile_part(m, {}).variants;
  CHECK(alone != kernels::Variants{});
  ThreadPool pool(3);
  const ScopedPool use(pool);
  CHECK(compile_part(m, {}).variants == alone);
  CHECK(compile_part(product_model(), {}).variants == kernels::Variants{});
}

TEST_CASE("targets of this family are its levels") {
#if defined(TENON_X86_64)
  const std::string family = "x86-64";
#elif defined(TENON_AARCH64)
  const std::string family = "aarch64";
#else
  return;
#endif
  if (!has_target(family)) return;
  const Model m = product_model();
  CHECK(target_of(family).level == "baseline");
  for (const simd::LevelInfo& l : simd::present_levels()) {
    CAPTURE(l.name);
    const std::string name = str_cat(family, ":", l.name);
    CHECK(target_of(name).level == l.name);
    const ModelPart part = compile_part(m, {.target = name});
    if (l.level == simd::level()) CHECK(part.text == compile_part(m, {}).text);
  }
}

TEST_CASE("a level is in force for one thread as long as it is scoped") {
  const simd::Level before = simd::level();
  {
    const simd::Level least = simd::present_levels().front().level;
    const simd::ScopedLevel scoped(&least);
    CHECK(simd::level() == least);
    {
      const simd::ScopedLevel none(nullptr);
      CHECK(simd::level() == before);
    }
    CHECK(simd::level() == least);
#if defined(TENON_X86_64)
    CHECK_FALSE(simd::has_dot_bytes<simd::Avx512>());
    CHECK_FALSE(simd::has_byte_tables<simd::Avx512>());
    CHECK_FALSE(simd::has_tiles<simd::Avx512>());
#endif
  }
  CHECK(simd::level() == before);
}

TEST_CASE("other names and mixed targets are refused") {
  const auto refused = [](std::string_view name) {
    return refusal(ErrorCode::invalid_argument, [&] { target_of(name); });
  };
  CHECK(holds(refused("riscv"),
              "'riscv' is no target; targets: aarch64, aarch64:LEVEL, wasm32, wasm32:relaxed, x86-64, "
              "x86-64:LEVEL"));
  CHECK(holds(refused(""), "'' is no target"));
#if defined(TENON_AARCH64)
  CHECK(holds(refused("aarch64:sve"),
              "target 'aarch64:sve': the levels of aarch64 are baseline, dotprod, i8mm"));
#else
  CHECK(holds(refused("aarch64:sve"),
              "target 'aarch64:sve': the levels of aarch64 on a machine of another family are baseline"));
#endif
#if defined(TENON_X86_64)
  CHECK(holds(
      refused("wasm32:simd256"),
      "target 'wasm32:simd256': the levels of wasm32 on a machine of another family are baseline, relaxed"));
#endif
  CHECK(holds(refusal([] { compile_part(product_model(), {.target = "arm"}); }), "'arm' is no target"));

  std::vector<ModelPart> parts(2);
  parts[0].name = "a", parts[1].name = "b";
  parts[1].target = "wasm32";
  CHECK(holds(refusal(ErrorCode::invalid_argument, [&] { assemble({}, parts, "both"); }),
              "'a' and 'b' are compiled for different targets"));
}
