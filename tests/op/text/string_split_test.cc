#include "tenon/op/text/string_split.hpp"

#include "tests/op/check.hpp"

namespace tenon {
using namespace test;
using S = op::StringSplit;
using strings = std::vector<std::string>;

namespace {
Value text(const Extents& extents, const strings& values) {
  return Tensor<std::string>(extents, std::span<const std::string>(values));
}
}  // namespace

TEST_CASE("StringSplit: cases") {
  struct Row {
    S op;
    Extents extents;
    strings x;
    int64_t longest;
    strings y;
    std::vector<int64_t> z;
  } rows[] = {
      {{.delimiter = "."}, {2}, {"a.b.c", "d"}, 3, {"a", "b", "c", "d", "", ""}, {3, 1}},
      {{.delimiter = "--"}, {1}, {"a---b----c"}, 4, {"a", "-b", "", "c"}, {4}},
      {{.delimiter = ","}, {1, 3}, {",a,", "", ","}, 3, {"", "a", "", "", "", "", "", "", ""}, {3, 1, 2}},
      {{.delimiter = "."}, {}, {"a.b"}, 2, {"a", "b"}, {2}},
      {{.delimiter = "ж"}, {1}, {"дажа"}, 2, {"да", "а"}, {2}},
      {{.delimiter = ".", .maxsplit = 1}, {2}, {"a.b.c", "d"}, 2, {"a", "b.c", "d", ""}, {2, 1}},
      {{.delimiter = ".", .maxsplit = 0}, {1}, {"a.b"}, 1, {"a.b"}, {1}},
      {{.delimiter = ".", .maxsplit = -1}, {1}, {"a.b"}, 2, {"a", "b"}, {2}},
      {{.delimiter = ".", .maxsplit = INT64_MAX}, {1}, {"a.b"}, 2, {"a", "b"}, {2}},
      // Without a delimiter white space separates, however much of it there is.
      {{}, {2}, {"  hello \t world\n", "x"}, 2, {"hello", "world", "x", ""}, {2, 1}},
      {{.delimiter = ""}, {1}, {"a b"}, 2, {"a", "b"}, {2}},
      {{}, {1}, {"a\u00A0b\u3000\u2003c"}, 3, {"a", "b", "c"}, {3}},
      {{.maxsplit = 1}, {1}, {" a  b  c  "}, 2, {"a", "b  c"}, {2}},
      {{.maxsplit = 0}, {1}, {" a  b  "}, 1, {"a  b"}, {1}},
      {{.maxsplit = 1}, {1}, {" a  "}, 1, {"a"}, {1}},
      {{}, {1, 2, 1}, {"", "  "}, 0, {}, {0, 0}},
      {{}, {0}, {}, 0, {}, {}},
      {{.delimiter = "."}, {2, 0}, {}, 0, {}, {}},
  };
  for (const Row& row : rows) {
    Extents y = row.extents;
    y.push_back(row.longest);
    check(row.op, {text(row.extents, row.x)},
          {text(y, row.y), Tensor<int64_t>(row.extents, std::span<const int64_t>(row.z))});
  }
}

TEST_CASE("StringSplit: refused, symbols, called") {
  check_fails(S{}, {text({2}, {"a", "\xC3"})}, "element 1 is not UTF-8", 2);
  check_fails(S{}, {text({1}, {"a\xFF b"})}, "is not UTF-8", 2);
  check_fails(S{}, {t<int64_t>({1}, {1})}, "input X cannot be tensor(int64)", 2);
  check_fails(S{}, {text(Extents::filled(max_rank, 1), {"a"})}, "rank 17 is above 16", 2);
  const auto n = Dim::symbol(1);
  const auto out = infer(S{}, {info(DType::string, {n, 2})}, 2);
  CHECK(out[0].dims == Dims{n, 2, Dim::unknown()});
  CHECK(out[1].dims == Dims{n, 2});
  CHECK(out[0].type == Type(DType::string));
  CHECK(out[1].type == Type(DType::int64));
  CHECK_FALSE(infer(S{}, {info(DType::string, {})}, 2)[0].dims.ranked());
  const auto [y, z] = S{.delimiter = "."}(Tensor<std::string, Shape<1>>{"a.b"});
  check_equal(y, text({1, 2}, {"a", "b"}));
  check_equal(z, t<int64_t>({1}, {2}));
}
}  // namespace tenon
