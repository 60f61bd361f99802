#include "tenon/tensor/value.hpp"

#include <doctest/doctest.h>

namespace tenon {

TEST_CASE("AnyTensor: from a tensor, shared and moved") {
  Tensor<float, Shape<2, 2>> t{{1, 2}, {3, 4}};
  const float* data = t.data();
  const AnyTensor shared = t;
  CHECK(shared.data() == data);
  CHECK(shared.dtype() == DType::float32);
  CHECK(shared.extents() == Extents{2, 2});
  CHECK(shared.size() == 4);
  CHECK(shared.bytes() == 16);
  CHECK(t.storage().use_count() == 2);
  AnyTensor moved = std::move(t);
  CHECK(moved.data() == data);
  CHECK(moved.storage().use_count() == 2);
  CHECK_FALSE(static_cast<bool>(t.view()));

  AnyTensor last = std::move(moved);
  CHECK(moved.dtype() == DType::undefined);
  CHECK(moved.size() == 0);
  CHECK(moved.rank() == 0);
  CHECK_FALSE(static_cast<bool>(moved.view()));
  CHECK_FALSE(static_cast<bool>(moved.out()));
  AnyTensor& same = last;
  last = std::move(same);
  CHECK(last.data() == data);
  CHECK_FALSE(static_cast<bool>(AnyTensor().view()));
}

TEST_CASE("AnyTensor: other extents, copies") {
  const AnyTensor t = Tensor<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const AnyTensor r = t.reshaped({6});
  CHECK(r.data() == t.data());
  CHECK(r.rank() == 1);
  CHECK_THROWS_AS(t.reshaped({7}), Error);
  const AnyTensor c = t.clone();
  CHECK(c.data() != t.data());
  CHECK(c.view().as<float>()(1, 2) == 6);
  const AnyTensor s = AnyTensor::copy_of(Tensor<std::string>({2}, {"a", std::string(50, 'b')}).view());
  CHECK(s.view().as<std::string>()[1].size() == 50);
  CHECK(AnyTensor::copy_of(Tensor<float>({0}, {}).view()).size() == 0);
  CHECK_THROWS_AS(AnyTensor::uninitialized(DType::float32, {-2}), Error);
  CHECK_THROWS_AS(AnyTensor::uninitialized(DType::float64, {INT64_MAX}), Error);
  CHECK_THROWS_AS(AnyTensor(DType::float32, {2}, Storage::allocate(4)), Error);
  CHECK_THROWS_AS(AnyTensor(DType::int4, {3}, Storage::allocate(1)), Error);
}

TEST_CASE("Value: what it holds") {
  const Tensor<float> f({2}, {1, 2});
  const Map map{Tensor<int64_t>({2}, {3, 4}), f};
  struct Row {
    Value value;
    std::string_view type;
    int kind;
  } rows[] = {
      {Value(), "none", -1},
      {f, "tensor(float)", 0},
      {Tensor<int4>({1}, {int4(1)}), "tensor(int4)", 0},
      {Sequence{DType::string, {}}, "seq(tensor(string))", 1},
      {Sequence{Type(Kind::map, DType::float32, DType::int64), {map}}, "seq(map(int64,tensor(float)))", 1},
      {OptionalValue{DType::bool_, nullptr}, "optional(tensor(bool))", 2},
      {OptionalValue{Type(Kind::sequence, DType::bool_), nullptr}, "optional(seq(tensor(bool)))", 2},
      {map, "map(int64,tensor(float))", 3},
      {SparseTensor{f, Tensor<int64_t>({2}, {0, 3}), {2, 2}}, "sparse_tensor(float)", 4},
  };
  for (const Row& row : rows) {
    const Value& v = row.value;
    CHECK(to_string(v.type()) == row.type);
    CHECK(static_cast<bool>(v) == (row.kind >= 0));
    CHECK(v.is_tensor() == (row.kind == 0));
    CHECK(v.is_sequence() == (row.kind == 1));
    CHECK(v.is_optional() == (row.kind == 2));
    CHECK(v.is_map() == (row.kind == 3));
    CHECK(v.is_sparse_tensor() == (row.kind == 4));
    const auto refuses = [&](int kind, auto f) {
      if (kind == row.kind) CHECK_NOTHROW(f());
      else CHECK_THROWS_AS(f(), Error);
    };
    refuses(0, [&] { v.tensor(); });
    refuses(1, [&] { v.sequence(); });
    refuses(2, [&] { v.optional(); });
    refuses(3, [&] { v.map(); });
    refuses(4, [&] { v.sparse_tensor(); });
  }
  CHECK_THROWS_WITH_AS(rows[1].value.sequence(), "tensor(float) is not a sequence", Error);
}

TEST_CASE("Value: with its type again") {
  const Tensor<float, Shape<2, 2>> t{{1, 2}, {3, 4}};
  const Value v = t;
  CHECK(v.as<float>().data() == t.data());
  CHECK(v.as<float, Shape<2, dyn>>()(1, 1) == 4);
  CHECK(v.view<float, Shape<2, 2>>()(0, 1) == 2);
  CHECK_THROWS_WITH_AS(v.as<double>(), "tensor(float) is not a tensor(double)", Error);
  CHECK_THROWS_WITH_AS((v.as<float, Shape<4>>()), "extents (2,2) do not fit the type (4)", Error);
  CHECK_THROWS_AS(v.view<int32_t>(), Error);
  CHECK_THROWS_AS(Value().as<float>(), Error);
  CHECK_THROWS_AS((Value(Sequence{DType::float32, {v}}).as<float>()), Error);

  // Memory that may only be read is not given out for writing.
  static const float constant[2] = {1, 2};
  const Value mapped = AnyTensor(DType::float32, {2}, Storage::borrow(static_cast<const void*>(constant), 8));
  Tensor<float> mine = mapped.as<float>();
  mine[0] = 5;
  CHECK(constant[0] == 1);
  CHECK(mapped.view<float>().data() == constant);
}

TEST_CASE("Value: copies share, moves empty") {
  Value a = Tensor<float>({1}, {1});
  Value b = a;
  CHECK(b.tensor().data() == a.tensor().data());
  const Value c = std::move(a);
  CHECK_FALSE(static_cast<bool>(a));
  CHECK(a.type() == Type());
  a = std::move(b);
  CHECK(a.is_tensor());
  CHECK_FALSE(static_cast<bool>(b));
  Value& same = a;
  a = std::move(same);
  CHECK(a.is_tensor());
  Sequence s{DType::float32, {a}};
  const Value seq = s;
  CHECK(seq.sequence().items[0].tensor().data() == a.tensor().data());
}

}  // namespace tenon
