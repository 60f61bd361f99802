// RegexFullMatch: which strings match a pattern.   onnx.ai/onnx/operators/onnx__RegexFullMatch.html
#pragma once

#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI {

/// Whether each string of x, from its first to its last byte, matches a pattern in RE2's syntax; y has as
/// many elements. Error{invalid_argument} for an invalid pattern, and for text that is not UTF-8. Defined by
/// //loader:text, which links RE2; for header-only use by //loader:text_header_only.
void regex_full_match(std::string_view pattern, TensorView<const std::string> x, TensorView<bool> y);

namespace op {

/// Y is whether each element of X as a whole matches `pattern`, in RE2's syntax
/// (github.com/google/re2/wiki/Syntax); without a pattern, empty strings match. Errors are
/// regex_full_match's. Programs that use it link //loader:text. op::RegexFullMatch{.pattern = "a+"}(s) of
/// ("aa","ab") gives (true,false).
struct RegexFullMatch {
  Opt<std::string> pattern{};

  static constexpr Spec spec{.name = "RegexFullMatch",
                             .since = {20},
                             .inputs = {{"X", "T1"}},
                             .outputs = {{"Y", "T2"}},
                             .types = {{"T1", types::string}, {"T2", types::boolean}},
                             .linked = true};
  static constexpr Attributes attributes{attr("pattern", &RegexFullMatch::pattern)};

  constexpr void infer(Infer& i) const { i.out(0, i.dims(0)); }
  void compute(TensorView<const std::string> x, TensorView<bool> y) const {
    regex_full_match(pattern ? std::string_view(*pattern) : std::string_view(), x, y);
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace op
}  // namespace tenon::TENON_ABI

TENON_OPERATORS(tenon::op::RegexFullMatch)
