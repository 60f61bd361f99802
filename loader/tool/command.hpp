// The commands of the `tenon` tool and their shared functions.
#pragma once

#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "loader/os.hpp"
#include "loader/tool/commands.hpp"
#include "tenon/loader.hpp"

namespace tenon::TENON_ABI::tool {

/// An invalid command line: usage on stderr, exit code 2.
struct UsageError {
  std::string message;
};

/// The words of a command line, taken one by one, and the operators that its commands know.
class Arguments {
 public:
  Arguments(int argc, char** argv, const Catalog& catalog)
      : words_(loader::os::command_line(argc, argv)), catalog_(&catalog) {}
  /// The operators that models may name.
  const Registry* registry() const { return catalog_->registry; }
  /// The texts of all available headers.
  std::vector<HeaderText> headers() const;
  bool empty() const { return next_ == words_.size(); }
  std::string take() { return words_[next_++]; }
  /// The word that take() will return.
  const std::string& next() const { return words_[next_]; }
  /// The word after an option.
  std::string value(std::string_view option) {
    if (empty()) throw UsageError{str_cat("option ", option, " needs a value")};
    return take();
  }
  /// The file that it names.
  std::filesystem::path file(std::string_view option) { return loader::path_named(value(option)); }
  int64_t integer(std::string_view option, int64_t least, int64_t most);
  double number(std::string_view option, int64_t least, int64_t most);

 private:
  std::vector<std::string> words_;
  const Catalog* catalog_;
  std::size_t next_ = 0;
};

/// Writes the text of an error to stderr, with the program's name; control characters are quoted.
void print_error(std::string_view text, std::string_view program = "tenon");
/// Prints the version, the compiler, and the instruction-set levels that the processor has.
void print_version();

int run(Arguments arguments);
int test(Arguments arguments);
int info(Arguments arguments);
int infer(Arguments arguments);
int check(Arguments arguments);
int convert_model(Arguments arguments);
int parse(Arguments arguments);
int print(Arguments arguments);
int inline_calls(Arguments arguments);
int merge(Arguments arguments);
int extract(Arguments arguments);
int diff(Arguments arguments);
int dump(Arguments arguments);
int simplify(Arguments arguments);
int shard(Arguments arguments);
int compare(Arguments arguments);
int train(Arguments arguments);
int bench(Arguments arguments);
int ops(Arguments arguments);
int amalgamate(Arguments arguments);
int compile_model(Arguments arguments);

/// "1x3x224x224"; "" is a scalar.
Extents parse_extents(std::string_view text);
/// Numbers that are the same in every run: floats in [0, 1), integers in [0, 10), bools, strings of digits.
Value random_value(Type type, const Extents& extents, uint64_t seed);
/// The extents of an input with unknown ones set to 1.
Extents default_extents(const Dims& dims);

}  // namespace tenon::TENON_ABI::tool
