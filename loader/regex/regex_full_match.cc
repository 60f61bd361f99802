// regex_full_match, with RE2: for any pattern it takes time linear in the text, and bounded memory.
#include "tenon/op/text/regex_full_match.hpp"

#include "loader/regex/expression.hpp"
#include "tenon/base/parallel.hpp"

namespace tenon::TENON_ABI {

void regex_full_match(std::string_view pattern, TensorView<const std::string> x, TensorView<bool> y) {
  constexpr std::string_view name = op::RegexFullMatch::spec.name;
  const auto expression = regex::compile(name, "pattern", pattern, false);
  parallel_for(x.size(), 1 << 8, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      regex::check_element(name, k, x[k]);
      y[k] = re2::RE2::FullMatch(x[k], *expression);
    }
  });
}

}  // namespace tenon::TENON_ABI
