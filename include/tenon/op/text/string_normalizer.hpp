// StringNormalizer: stop words removed, case changed.   onnx.ai/onnx/operators/onnx__StringNormalizer.html
#pragma once

#include "tenon/base/utf8.hpp"
#include "tenon/kernels/text/case.hpp"
#include "tenon/op/framework/call.hpp"

namespace tenon::TENON_ABI::op {

namespace string_normalizer_detail {

/// ISO 639's two-letter codes, then the three-letter codes for which C libraries have locales.
inline constexpr std::string_view languages =
    " aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv "
    "dz ee"
    " el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik "
    "io is"
    " it iu iw ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml "
    "mn mr"
    " ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se "
    "sg si"
    " sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa "
    "wo xh"
    " yi yo za zh zu"
    " agr anp ast ayc bem ber bhb bho brx byn ckb cmn crh csb doi dsb fil fur gez hak hif hne hsb kab kok "
    "lij lzh"
    " mag mai mfe mhr miq mjw mni nan nds nhn nso pap quz raj sah sat sgs shn shs sid szl tcy the tig tpi "
    "unm wae"
    " wal yue yuw ";

/// Whether a locale is a known language with, optionally, a script, a territory, UTF-8 as the encoding and a
/// modifier: "en_US.UTF-8", "en-US", "sr_RS@latin", "zh-Hant-TW". "C" and "POSIX" are known too.
constexpr bool is_known_locale(std::string_view name) {
  constexpr auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  constexpr auto digit = [](char c) { return c >= '0' && c <= '9'; };
  name = name.substr(0, name.find('@'));
  const std::size_t dot = name.find('.');
  if (dot != std::string_view::npos) {
    const std::string_view encoding = name.substr(dot + 1);
    if (encoding != "UTF-8" && encoding != "utf-8" && encoding != "UTF8" && encoding != "utf8") return false;
    name = name.substr(0, dot);
  }
  if (name == "C" || name == "POSIX") return true;
  const auto part_end = [&](std::size_t from) {
    return std::min(name.find_first_of("-_", from), name.size());
  };
  std::size_t end = part_end(0);
  const std::string_view language = name.substr(0, end);
  if (end < 2 || end > 3 || !letter(language[0])) return false;
  const std::size_t at = languages.find(language);
  if (at == std::string_view::npos || languages[at - 1] != ' ' || languages[at + end] != ' ') return false;
  bool script = false, territory = false;
  while (end < name.size()) {
    const std::size_t begin = end + 1;
    end = part_end(begin);
    const std::string_view part = name.substr(begin, end - begin);
    const bool letters = std::all_of(part.begin(), part.end(), letter);
    if (territory) return false;
    if (letters && part.size() == 4 && !script) script = true;
    else if ((letters && part.size() == 2) ||
             (part.size() == 3 && std::all_of(part.begin(), part.end(), digit)))
      territory = true;
    else return false;
  }
  return true;
}

/// Whether a locale's language writes i with and without a dot as two letters.
constexpr bool is_turkic(std::string_view locale) {
  return (locale.starts_with("tr") || locale.starts_with("az")) &&
         (locale.size() == 2 || locale[2] == '_' || locale[2] == '-' || locale[2] == '.' || locale[2] == '@');
}

}  // namespace string_normalizer_detail

/// The elements of X, (C) or (1,C), that are not among `stopwords`, in the case that case_change_action
/// states; one empty string if none is left. Stop words match in any case unless is_case_sensitive is 1. Case
/// is Unicode's simple mapping; the locale, by default en_US, only distinguishes Turkic languages from all
/// others. Error{invalid_argument} if X or a stop word is not UTF-8, even if case does not matter: X holds
/// "UTF-8 strings". ONNX Runtime then lets other bytes pass. op::StringNormalizer{.case_change_action =
/// "UPPER", .stopwords = {"a"}}(s) of ("a","b") gives ("B").
struct StringNormalizer {
  Str case_change_action = "NONE";
  int64_t is_case_sensitive = 0;
  Opt<std::string> locale{};
  std::vector<std::string> stopwords{};

  static constexpr Spec spec{.name = "StringNormalizer",
                             .since = {10},
                             .inputs = {{"X", "tensor(string)"}},
                             .outputs = {{"Y", "tensor(string)"}},
                             .types = {}};
  static constexpr Attributes attributes{
      attr("case_change_action", &StringNormalizer::case_change_action),
      attr("is_case_sensitive", &StringNormalizer::is_case_sensitive).flag(),
      attr("locale", &StringNormalizer::locale), attr("stopwords", &StringNormalizer::stopwords)};

  constexpr void infer(Infer& i) const {
    if (!i.expect_choice("case_change_action", case_change_action, {"NONE", "LOWER", "UPPER"})) return;
    const bool folds = !is_case_sensitive && !stopwords.empty();
    if (case_change_action == "NONE" && !folds) {
      // The locale does not matter.
    } else if (locale && !(*locale).empty() && !string_normalizer_detail::is_known_locale(*locale)) {
      return i.fail("locale '", std::string_view(*locale), "' is not known");
    }
    const Dims& x = i.dims(0);
    if (!x.ranked()) return;
    if (x.rank() < 1 || x.rank() > 2 || (x.rank() == 2 && x[0].differs(1)))
      return i.fail("X: ", x, ", expected (C) or (1,C)");
    i.for_files([&] {
      if (x.rank() == 2 && !x[0].is(1)) i.fail("X: ", x, " is not known to be (1,C)");
    });
    if (x.rank() == 1) i.out(0, Dims{Dim()});
    else i.out(0, Dims{1, Dim()});
  }
  Tensor<std::string> compute(TensorView<const std::string> x) const {
    using kernels::Case;
    const bool turkic = locale && string_normalizer_detail::is_turkic(*locale);
    const bool changes = !(case_change_action == "NONE"), folds = !is_case_sensitive && !stopwords.empty();
    const Case to = case_change_action == "UPPER" ? Case::upper : Case::lower;
    expect_utf8("X", x.begin(), x.end());
    expect_utf8("stopwords", stopwords.begin(), stopwords.end());
    const auto in_case = [&](const std::string& s) {
      std::string text;
      kernels::append_with_case(s, to, turkic, text);
      return text;
    };
    std::vector<std::string> stops = stopwords, kept;
    for (std::string& s : stops)
      if (folds) s = in_case(s);
    std::sort(stops.begin(), stops.end());
    for (const std::string& s : x) {
      if (folds) {
        std::string text = in_case(s);
        if (std::binary_search(stops.begin(), stops.end(), text)) continue;
        kept.push_back(changes ? std::move(text) : s);
      } else if (!std::binary_search(stops.begin(), stops.end(), s)) {
        kept.push_back(changes ? in_case(s) : s);
      }
    }
    if (kept.empty()) kept.emplace_back();
    const int64_t n = static_cast<int64_t>(kept.size());
    Tensor<std::string> y(x.rank() == 1 ? Extents{n} : Extents{1, n});
    std::move(kept.begin(), kept.end(), y.begin());
    return y;
  }
  auto operator()(const auto&... in) const { return call(*this, in...); }

 private:
  template <class Iterator>
  static void expect_utf8(std::string_view what, Iterator begin, Iterator end) {
    const Iterator bad = std::find_if_not(begin, end, tenon::detail::is_utf8);
    if (bad != end)
      raise(ErrorCode::invalid_argument, spec.name, what, ": element ", bad - begin, " is not UTF-8");
  }
};

}  // namespace tenon::TENON_ABI::op

TENON_OPERATORS(tenon::op::StringNormalizer)
