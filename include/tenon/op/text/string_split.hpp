// StringSplit: strings cut at a delimiter.   onnx.ai/onnx/operators/onnx__StringSplit.html
#pragma once

#include "tenon/base/utf8.hpp"
#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op {

namespace string_split_detail {

/// Whether text is split at the code point: Unicode's White_Space, and the separators U+001C to U+001F.
constexpr bool is_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

/// Calls piece(text) for each text between delimiters, and after `most` cuts for the rest.
template <class F>
void split_at_delimiter(std::string_view s, std::string_view delimiter, int64_t most, F piece) {
  for (int64_t cuts = 0; cuts < most; ++cuts) {
    const std::size_t at = s.find(delimiter);
    if (at == std::string_view::npos) break;
    piece(s.substr(0, at));
    s.remove_prefix(at + delimiter.size());
  }
  piece(s);
}

/// Calls piece(word) for each word between white space, and after `most` cuts for the rest without
/// surrounding space. False if the text is not UTF-8.
template <class F>
bool split_at_space(std::string_view s, int64_t most, F piece) {
  const char* const end = s.data() + s.size();
  const char *word = nullptr, *past = nullptr;  // the word begun, and the end of its last visible character
  int64_t cuts = 0;
  const auto close = [&] { piece(std::string_view(word, static_cast<std::size_t>(past - word))); };
  for (const char* at = s.data(); at < end;) {
    const tenon::detail::CodePoint c = tenon::detail::decode_utf8(at, end);
    if (c.length == 0) return false;
    if (!is_space(c.value)) {
      if (word == nullptr) word = at;
      past = at + c.length;
    } else if (word != nullptr && cuts < most) {
      close();
      ++cuts;
      word = nullptr;
    }
    at += c.length;
  }
  if (word != nullptr) close();
  return true;
}

}  // namespace string_split_detail

/// Y has one more axis than X, which holds the pieces of each string, then empty strings up to the greatest
/// number of pieces; Z has the numbers of pieces. A string is cut at each `delimiter`, at most `maxsplit`
/// times unless that is negative. Without a delimiter, or with an empty one, it is cut at runs of white
/// space, which do not begin or end a piece. Error{invalid_argument} if text to be cut at white space is not
/// UTF-8. op::StringSplit{.delimiter = "."}(s) of ("a.b", "c") gives (("a","b"),("c","")) and (2,1).
struct StringSplit {
  Opt<std::string> delimiter{};
  Opt<int64_t> maxsplit{};

  static constexpr Spec spec{.name = "StringSplit",
                             .since = {20},
                             .inputs = {{"X", "T1"}},
                             .outputs = {{"Y", "T2"}, {"Z", "T3"}},
                             .types = {{"T1", types::string}, {"T2", types::string}, {"T3", types::int64}}};
  static constexpr Attributes attributes{attr("delimiter", &StringSplit::delimiter),
                                         attr("maxsplit", &StringSplit::maxsplit)};

  constexpr void infer(Infer& i) const {
    Dims pieces = i.dims(0);
    i.out(1, pieces);
    if (!pieces.ranked()) return;
    i.of_rank(pieces.rank() + 1);
    if (i.failed()) return;
    pieces.push_back(Dim());
    i.out(0, pieces);
  }
  std::tuple<Tensor<std::string>, Tensor<int64_t>> compute(Context& c,
                                                           TensorView<const std::string> x) const {
    const int64_t most = maxsplit.value_or(-1) < 0 ? std::numeric_limits<int64_t>::max() : *maxsplit;
    auto counts = Tensor<int64_t>::uninitialized(x.extents(), c.allocator());
    std::vector<std::string_view> pieces;
    int64_t longest = 0;
    for (int64_t k = 0; k < x.size(); ++k) {
      const std::size_t before = pieces.size();
      const auto keep = [&](std::string_view piece) { pieces.push_back(piece); };
      if (delimiter && !(*delimiter).empty())
        string_split_detail::split_at_delimiter(x[k], *delimiter, most, keep);
      else if (!string_split_detail::split_at_space(x[k], most, keep))
        raise(ErrorCode::invalid_argument, spec.name, "element ", k, " is not UTF-8");
      counts[k] = static_cast<int64_t>(pieces.size() - before);
      longest = std::max(longest, counts[k]);
    }
    Extents extents(x.extents());
    extents.push_back(longest);
    Tensor<std::string> y(extents, c.allocator());
    auto piece = pieces.begin();
    for (int64_t k = 0; k < x.size(); ++k)
      for (int64_t j = 0; j < counts[k]; ++j) y[k * longest + j] = *piece++;
    return {std::move(y), std::move(counts)};
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::StringSplit)
