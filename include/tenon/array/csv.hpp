// Tables of numbers as text: CSV (RFC 4180) with any separator.
//
//     Csv<double> iris = load_csv<double>("iris.csv", {.header = true});
//     iris.names        {"sepal length", "sepal width", …}
//     iris.values       Tensor<double, Shape<dyn, dyn>>: a row a line
//     save_csv("y.csv", y, {.separator = '\t'});
//
// Lines end with \n or \r\n, which the last line may lack. Empty lines are skipped. Blanks around a number
// are ignored, and so are quotes, "1.5". Within quotes a quote is doubled, and separators and line ends are
// text. The locale has no effect. Floats are written with enough digits to read back the same bits,
// infinities as inf and -inf, NaN as nan.
#pragma once

#include <charconv>
#include <vector>

#include "tenon/array/file.hpp"
#include "tenon/base/convert.hpp"
#include "tenon/base/platform/exceptions.hpp"
#include "tenon/base/platform/path.hpp"
#include "tenon/tensor/tensor.hpp"

namespace tenon::TENON_ABI {

/// The form of a table's text.
struct CsvOptions {
  /// A tab, semicolon, bar…. Error{invalid_argument} for a character of numbers, quotes or line ends.
  char separator = ',';
  bool header = false;  ///< whether the first line contains names
};

/// A table that was read.
template <class T>
struct Csv {
  std::vector<std::string> names;  ///< of the columns; empty without a header
  Tensor<T, Shape<dyn, dyn>> values;
};

namespace array_detail {

inline void check_separator(char c) {
  const auto u = static_cast<unsigned char>(c);
  const bool word = (u >= '0' && u <= '9') || ((u | 0x20) >= 'a' && (u | 0x20) <= 'z') || u >= 0x80;
  if (word || c == '\0' || std::string_view("\"\n\r+-.()").find(c) != std::string_view::npos)
    raise(ErrorCode::invalid_argument, "csv", "character ", int{u}, " cannot part fields");
}

/// Walks over the fields of a text.
class CsvFields {
 public:
  CsvFields(std::string_view text, char separator, std::string_view place)
      : text_(text), place_(place), separator_(separator) {
    if (text_.starts_with("\xEF\xBB\xBF")) text_.remove_prefix(3);
  }

  /// Goes to the next line that is not empty; false at the end.
  bool next_line() {
    while (at_ < text_.size() && at_line_end()) skip_line_end();
    column_ = 0;
    return at_ < text_.size();
  }
  /// The next field of the line, valid until the next call. Sets `last` if it is the line's last.
  std::string_view next_field(bool& last) {
    ++column_;
    line_of_field_ = line_;
    const std::size_t first = at_;
    std::size_t quote = first;
    while (quote < text_.size() && text_[quote] == ' ') ++quote;
    std::string_view field;
    if (quote < text_.size() && text_[quote] == '"' && separator_ != ' ') {
      at_ = quote;
      field = quoted();
    } else if (first < text_.size() && text_[first] == '"') {
      field = quoted();
    } else {
      while (at_ < text_.size() && text_[at_] != separator_ && !at_line_end()) ++at_;
      field = text_.substr(first, at_ - first);
    }
    last = at_ == text_.size() || text_[at_] != separator_;
    if (!last) ++at_;
    else if (at_ < text_.size()) skip_line_end();
    return field;
  }

  int64_t column() const { return column_; }
  [[noreturn, gnu::cold]] void fail(std::string_view what) const {
    raise(ErrorCode::invalid_argument, place_, "line ", line_of_field_, ": ", what);
  }

 private:
  // A \r ends a line only if a \n follows; alone it is text, which no number contains.
  bool at_line_end() const {
    return text_[at_] == '\n' || (text_[at_] == '\r' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n');
  }
  void skip_line_end() {
    at_ += text_[at_] == '\r' ? 2 : 1;
    ++line_;
  }
  // The text from a quote to the next undoubled one.
  std::string_view quoted() {
    const std::size_t first = ++at_;
    bool doubled = false;
    for (;; ++at_) {
      if (at_ >= text_.size()) fail(str_cat("the quote of field ", column_, " has no end"));
      line_ += text_[at_] == '\n';
      if (text_[at_] != '"') continue;
      if (at_ + 1 >= text_.size() || text_[at_ + 1] != '"') break;
      doubled = true;
      ++at_;
    }
    std::string_view field = text_.substr(first, at_ - first);
    ++at_;
    while (separator_ != ' ' && at_ < text_.size() && text_[at_] == ' ') ++at_;
    if (at_ < text_.size() && text_[at_] != separator_ && !at_line_end())
      fail(str_cat("text follows the closing quote of field ", column_));
    if (!doubled) return field;
    plain_.clear();
    for (std::size_t k = 0; k < field.size(); ++k) {
      plain_ += field[k];
      if (field[k] == '"') ++k;
    }
    return plain_;
  }

  std::string_view text_, place_;
  std::size_t at_ = 0;
  int64_t line_ = 1, line_of_field_ = 1, column_ = 0;
  char separator_;
  std::string plain_;
};

/// Reads a field as T; false if it has no value of type T.
template <class T>
bool read_field(std::string_view field, T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    value = field;
  } else if constexpr (is_integer(dtype_of<T>)) {
    const std::string_view number = tenon::detail::bare_number(field);
    std::conditional_t<PackedElement<T>, int, T> wide = 0;
    const auto [end, code] = std::from_chars(number.data(), number.data() + number.size(), wide);
    if (code != std::errc() || end != number.data() + number.size()) return false;
    value = T(wide);
    if constexpr (PackedElement<T>) return value.value() == wide;
  } else {
    const auto parse = [&] {
      value = tenon::detail::parse_element<T>(field, {});
      return true;
    };
    return tenon::detail::attempt<Error>(parse, [](const Error&) { return false; });
  }
  return true;
}

template <class T>
void append_field(std::string& text, const T& value, char separator) {
  if constexpr (std::is_same_v<T, std::string>) {
    // \xEF begins a byte order mark, which readers drop.
    const bool plain = !value.empty() && value[0] != '\xEF' && value.find_first_of("\"\r\n ") == value.npos &&
                       value.find(separator) == value.npos;
    if (plain) {
      text += value;
      return;
    }
    text += '"';
    for (const char c : value) text.append(c == '"' ? 2 : 1, c);
    text += '"';
  } else if constexpr (std::is_same_v<T, bool>) {
    text += value ? '1' : '0';
  } else if constexpr (std::is_arithmetic_v<T>) {
    char digits[32];
    // Avoids writing a NaN's sign.
    if (value != value) text += "nan";
    else text.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
  } else {
    text += convert<std::string>(value);
  }
}

}  // namespace array_detail

/// The numbers of a text, one row per line; `place` names it in errors. Integers must be whole and within T's
/// range; floats are rounded once, and overflow to infinity. If T is std::string, fields are taken as they
/// are. Error{invalid_argument} with the line for a field that is not a T, a line with more or fewer fields
/// than the first, and unterminated quotes. An empty text gives extents (0, 0), a header alone (0, N).
template <Element T>
[[nodiscard]] Csv<T> parse_csv(std::string_view text, const CsvOptions& options = {},
                               std::string_view place = "csv") {
  array_detail::check_separator(options.separator);
  Csv<T> table;
  int64_t rows = 0, columns = -1;
  // The first pass counts the fields to size the tensor; the second one reads their values.
  array_detail::CsvFields counted(text, options.separator, place);
  for (bool names = options.header; counted.next_line(); names = false) {
    bool last = false;
    while (!last) {
      const std::string_view field = counted.next_field(last);
      if (names) table.names.emplace_back(tenon::detail::trim(field));
    }
    if (columns < 0) columns = counted.column();
    if (counted.column() != columns)
      counted.fail(str_cat(counted.column(), " fields, the first line has ", columns));
    rows += !names;
  }
  const int64_t extents[] = {rows, std::max<int64_t>(columns, 0)};
  table.values = Tensor<T, Shape<dyn, dyn>>::uninitialized(extents);
  array_detail::CsvFields fields(text, options.separator, place);
  auto out = table.values.data();
  for (bool names = options.header; fields.next_line(); names = false) {
    bool last = false;
    while (!last) {
      const std::string_view field = fields.next_field(last);
      if (names) continue;
      T value{};
      if (!array_detail::read_field(field, value))
        fields.fail(str_cat("field ", fields.column(), ": '", field.substr(0, 40),
                            field.size() > 40 ? "..." : "", "' is no ", name_of(dtype_of<T>)));
      *out = std::move(value);
      ++out;
    }
  }
  return table;
}

/// The numbers of a file. The same errors, with the file's name, and Error{io}.
template <Element T>
[[nodiscard]] Csv<T> load_csv(const std::filesystem::path& file, const CsvOptions& options = {}) {
  const Storage all = array_detail::read_file(file);
  return parse_csv<T>(array_detail::text_of(all), options, tenon::detail::path_text(file));
}

/// A matrix as text, one line per row; a vector is one column, a scalar one field. `names`, if any, become
/// the header, one per column. Error{invalid_shape} for more than two axes, a wrong number of names, and rows
/// without columns, which text cannot represent.
template <class T, class S>
[[nodiscard]] std::string to_csv(const TensorView<T, S>& v, const CsvOptions& options = {},
                                 std::span<const std::string> names = {}) {
  static_assert(S::rank <= 2, "a table has two axes at most");
  using array_detail::append_field;
  array_detail::check_separator(options.separator);
  if (!v || v.rank() > 2)
    raise(ErrorCode::invalid_shape, "csv", "no table: ", v ? to_string(v.extents()) : "no tensor");
  const int64_t rows = v.rank() > 0 ? v.extent(0) : 1, columns = v.rank() > 1 ? v.extent(1) : 1;
  if (columns == 0 && rows > 0) raise(ErrorCode::invalid_shape, "csv", "rows without columns");
  if (!names.empty() && static_cast<int64_t>(names.size()) != columns)
    raise(ErrorCode::invalid_shape, "csv", names.size(), " names for ", columns, " columns");
  std::string text;
  for (std::size_t k = 0; k < names.size(); ++k) {
    if (k > 0) text += options.separator;
    append_field(text, names[k], options.separator);
  }
  if (!names.empty()) text += '\n';
  auto value = v.data();
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j, ++value) {
      if (j > 0) text += options.separator;
      append_field(text, std::remove_const_t<T>(*value), options.separator);
    }
    text += '\n';
  }
  return text;
}
template <class T, class S>
[[nodiscard]] std::string to_csv(const Tensor<T, S>& t, const CsvOptions& options = {},
                                 std::span<const std::string> names = {}) {
  return to_csv(t.view(), options, names);
}
template <Lazy E>
[[nodiscard]] std::string to_csv(const E& e, const CsvOptions& options = {},
                                 std::span<const std::string> names = {}) {
  return to_csv(e.eval(), options, names);
}

/// Writes a table to a file, overwriting an existing one. Errors of to_csv, and Error{io}.
template <class X>
void save_csv(const std::filesystem::path& file, const X& x, const CsvOptions& options = {},
              std::span<const std::string> names = {}) {
  array_detail::write_file(file, {to_csv(x, options, names)});
}

}  // namespace tenon::TENON_ABI
