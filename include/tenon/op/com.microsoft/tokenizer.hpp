// Tokenizer: strings cut into tokens by regular expressions.
// github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.Tokenizer
#pragma once

#include "tenon/base/utf8.hpp"
#include "tenon/op/families/regex_tokens.hpp"
#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op::com_microsoft {

/// Y (…, D) has the tokens of each string of X (C) or (N, C), then `pad_value` up to the greatest number of
/// tokens: the texts between matches of the `separators`, each of which cuts what those before it left;
/// single code points, if the only separator is empty; or without separators, the matches of `tokenexp`.
/// Tokens of fewer than `mincharnum` code points are left out, unless they are single code points. With
/// `mark`, U+0002 and U+0003 surround each string's tokens. Without any token D is 0, and an empty X gives
/// (0) or (N, 0). It fails as RegexTokens does; programs that use it link //loader:text.
/// op::com_microsoft::Tokenizer{.mark = 0, .mincharnum = 1, .pad_value = "", .tokenexp = "[a-z]+"}(s) of
/// ("to be", "or") gives (("to","be"),("or","")).
struct Tokenizer {
  Opt<int64_t> mark{};
  Opt<int64_t> mincharnum{};
  Opt<std::string> pad_value{};
  Opt<std::vector<std::string>> separators{};
  Opt<std::string> tokenexp{};

  static constexpr Spec spec{.name = "Tokenizer",
                             .domain = "com.microsoft",
                             .since = {1},
                             .inputs = {{"X", "T"}},
                             .outputs = {{"Y", "T"}},
                             .types = {{"T", types::string}},
                             .linked = true};
  static constexpr Attributes attributes{
      attr("mark", &Tokenizer::mark).required(), attr("mincharnum", &Tokenizer::mincharnum).required(),
      attr("pad_value", &Tokenizer::pad_value).required(), attr("separators", &Tokenizer::separators),
      attr("tokenexp", &Tokenizer::tokenexp)};

  constexpr void infer(Infer& i) const {
    if (!i.expect_at_least("mincharnum", mincharnum ? *mincharnum : 0, 1)) return;
    if (!cuts() && (!tokenexp || (*tokenexp).empty()))
      return i.fail("neither separators nor a tokenexp are stated");
    if (!i.ranked(0)) return;
    Dims y = i.dims(0);
    if (y.rank() != 1 && y.rank() != 2) return i.fail("X: rank ", y.rank(), ", expected 1 or 2");
    bool empty = false, sure = true;
    for (const Dim d : y) empty = empty || d.is(0), sure = sure && d.known();
    if (empty) return i.out(0, y.rank() == 1 ? Dims{0} : Dims{y[0], 0});
    if (!sure) return;  // an empty X would lose an axis
    y.push_back(Dim());
    i.out(0, y);
  }
  Tensor<std::string> compute(Context& c, TensorView<const std::string> x) const {
    Extents extents(x.extents());
    if (x.empty()) {
      extents.back() = 0;
      return Tensor<std::string>(extents, c.allocator());
    }
    const std::vector<std::vector<std::string_view>> rows = tokens(x);
    std::size_t longest = 0;
    for (const auto& row : rows) longest = std::max(longest, row.size());
    const bool marked = *mark != 0 && longest > 0;
    const auto length = static_cast<int64_t>(longest) + (marked ? 2 : 0);
    extents.push_back(length);
    Tensor<std::string> y(extents, c.allocator());
    for (int64_t k = 0; k < x.size(); ++k) {
      std::string *to = y.data() + k * length, *const end = to + length;
      if (marked) *to++ = "\x02";
      for (const std::string_view token : rows[static_cast<std::size_t>(k)]) *to++ = token;
      if (marked) *to++ = "\x03";
      std::fill(to, end, *pad_value);
    }
    return y;
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  constexpr bool cuts() const { return separators && !(*separators).empty(); }
  std::vector<std::vector<std::string_view>> tokens(TensorView<const std::string> x) const {
    if (!cuts()) return RegexTokens{.expression = *tokenexp, .shortest = *mincharnum}.of(x, spec.name);
    const std::vector<std::string>& all = *separators;
    if (all.size() != 1 || !all[0].empty())
      return RegexTokens{.separators = all, .shortest = *mincharnum}.of(x, spec.name);
    std::vector<std::vector<std::string_view>> rows(static_cast<std::size_t>(x.size()));
    for (int64_t k = 0; k < x.size(); ++k) {
      const std::string_view text = x[k];
      for (const char *at = text.data(), *const end = at + text.size(); at < end;) {
        const int bytes = tenon::detail::decode_utf8(at, end).length;
        if (bytes == 0) raise(ErrorCode::invalid_argument, spec.name, "element ", k, " is not UTF-8");
        rows[static_cast<std::size_t>(k)].emplace_back(at, static_cast<std::size_t>(bytes));
        at += bytes;
      }
    }
    return rows;
  }
};

}  // namespace tenon::TENON_ABI::op::com_microsoft

TENON_OPERATORS(tenon::op::com_microsoft::Tokenizer)
