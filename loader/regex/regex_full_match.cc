// regex_full_match, with RE2: for any pattern it takes time linear in the text, and bounded memory.
#include "tenon/op/text/regex_full_match.hpp"

#include <re2/re2.h>

#include "tenon/base/parallel.hpp"
#include "tenon/kernels/text/utf8.hpp"

namespace tenon::TENON_ABI {

void regex_full_match(std::string_view pattern, TensorView<const std::string> x, TensorView<bool> y) {
  constexpr std::string_view name = op::RegexFullMatch::spec.name;
  // RE2 counts in int.
  const auto check_length = [&](std::string_view s) {
    if (s.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
      raise(ErrorCode::invalid_argument, name, "text of ", s.size(), " bytes");
  };
  check_length(pattern);
  re2::RE2::Options options;
  options.set_log_errors(false);
  const re2::RE2 expression(re2::StringPiece(pattern.data(), pattern.size()), options);
  if (!expression.ok())
    raise(ErrorCode::invalid_argument, name, "pattern '", pattern, "': ", expression.error());
  parallel_for(x.size(), 1 << 8, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      check_length(x[k]);
      if (!kernels::is_utf8(x[k])) raise(ErrorCode::invalid_argument, name, "element ", k, " is not UTF-8");
      y[k] = re2::RE2::FullMatch(x[k], expression);
    }
  });
}

}  // namespace tenon::TENON_ABI
