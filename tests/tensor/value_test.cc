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

TEST_CASE("AnyTensor, Value: of a tensor that was moved from") {
  Tensor<float, Shape<2>> t{1, 2};
  const Tensor<float, Shape<2>> elsewhere = std::move(t);
  for (const AnyTensor& a : {AnyTensor(t), AnyTensor(std::as_const(t)), AnyTensor(std::move(t))}) {
    CHECK(a.dtype() == DType::undefined);
    CHECK(a.rank() == 0);
  }
  CHECK_FALSE(static_cast<bool>(Value(t)));
  CHECK_FALSE(static_cast<bool>(Value(std::move(t))));
  CHECK(Value(elsewhere).tensor().size() == 2);
}

TEST_CASE("AnyTensor: other extents, copies") {
  const AnyTensor t = Tensor<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const AnyTensor r = t.reshaped({6});
  CHECK(r.data() == t.data());
  CHECK(r.rank() == 1);
  CHECK_THROWS_AS(t.reshaped({7}), Error);
  CHECK_THROWS_WITH_AS(t.reshaped({1}), "(2,3) cannot become (1)", Error);
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

TEST_CASE("AnyTensor: a const tensor gives its elements for reading") {
  Tensor<float, Shape<2>> t{1, 2};
  const Tensor<float, Shape<2>>& constant = t;
  AnyTensor reader = constant, writer = t, none;
  CHECK(reader.data() == t.data());
  CHECK_FALSE(reader.writable());
  CHECK(writer.writable());
  writer.out().as<float>()[0] = 5;
  CHECK(reader.view().as<float>()[0] == 5);
  CHECK_FALSE(static_cast<bool>(none.out()));

  // Whatever is made of the handle without a copy is for reading, too.
  AnyTensor moved_from = constant;
  AnyTensor readers[] = {reader,
                         std::as_const(t),
                         std::move(moved_from),
                         reader.reshaped({1, 2}),
                         writer.read_only(),
                         Value(constant).tensor(),
                         Value(std::move(constant)).tensor(),
                         Value(t).read_only().tensor(),
                         {DType::float32, {2}, constant.storage()}};
  for (AnyTensor& r : readers) {
    CAPTURE(&r - readers);
    CHECK(r.data() == t.data());
    CHECK_THROWS_WITH_AS(
        r.out(), str_cat("tensor(float) ", to_string(r.extents()), " may only be read").c_str(), Error);
    AnyTensor own = r.clone();
    own.out().as<float>()[1] = 7;
  }
  CHECK(t[1] == 2);
  reader = writer;
  CHECK(reader.writable());
  reader.forbid_writing();
  CHECK_THROWS_AS(reader.out(), Error);
  CHECK(writer.writable());
  static_assert(std::is_same_v<decltype(writer.data()), const void*>);
}

TEST_CASE("Value: whoever may write the elements of what it is made of, and may not") {
  Tensor<float> mine({2}, {1, 2});
  const Tensor<float> constant({2}, {1, 2});
  Tensor<std::string> words({2}, {"a", "b"});
  Tensor<int4> packed({2}, {int4(1), int4(2)});
  static const float file[2] = {1, 2};
  Value moved = Tensor<float>({2}, {1, 2});
  struct Row {
    Value value;
    bool writable;
  } rows[] = {{mine, true},
              {constant, false},
              {std::as_const(words), false},
              {words, true},
              {std::as_const(packed), false},
              {packed, true},
              {std::move(moved), true},
              {AnyTensor(DType::float32, {2}, Storage::borrow(file, sizeof file)), false}};
  for (const Row& row : rows) {
    CAPTURE(&row - rows);
    Value v = row.value;
    CHECK(v.tensor().data() == row.value.tensor().data());
    CHECK(v.tensor().writable() == row.writable);
    if (row.writable) CHECK(v.tensor().out().data() == v.tensor().data());
    else CHECK_THROWS_AS(v.tensor().out(), Error);
  }
  CHECK(mine.data() == rows[0].value.tensor().data());
  CHECK(constant.data() == rows[1].value.tensor().data());
}

TEST_CASE("Value: for reading only, with all that it holds") {
  Tensor<float> f({2}, {1, 2});
  Tensor<int64_t> k({2}, {0, 1});
  const Value held[] = {Sequence{DType::float32, {f}},
                        OptionalValue{DType::float32, std::make_shared<Value>(f)}, Map{k, f},
                        SparseTensor{f, k, {2}}};
  const auto writable = [](const Value& v) {
    return v.is_sequence()   ? v.sequence().items[0].tensor().writable()
           : v.is_optional() ? v.optional().value->tensor().writable()
           : v.is_map()      ? v.map().values.writable() || v.map().keys.writable()
                             : v.sparse_tensor().values.writable() || v.sparse_tensor().indices.writable();
  };
  for (const Value& v : held) {
    const Value r = v.read_only();
    CHECK(r.type() == v.type());
    CHECK(writable(v));
    CHECK_FALSE(writable(r));
  }
  CHECK(held[0].read_only().sequence().items[0].tensor().data() == f.data());
  CHECK_FALSE(static_cast<bool>(Value().read_only()));
  CHECK(Value(OptionalValue{DType::float32, nullptr}).read_only().is_optional());
}

TEST_CASE("Value: with its type again") {
  const Tensor<float, Shape<2, 2>> t{{1, 2}, {3, 4}};
  const Value v = t;
  CHECK(v.as<float>().data() != t.data());
  CHECK(v.as<float, Shape<2, dyn>>()(1, 1) == 4);
  CHECK(v.view<float, Shape<2, 2>>()(0, 1) == 2);
  CHECK_THROWS_WITH_AS(v.as<double>(), "tensor(float) is not a tensor(double)", Error);
  CHECK_THROWS_WITH_AS((v.as<float, Shape<4>>()), "extents (2,2) do not fit the type (4)", Error);
  CHECK_THROWS_AS(v.view<int32_t>(), Error);
  CHECK_THROWS_AS(Value().as<float>(), Error);
  CHECK_THROWS_AS((Value(Sequence{DType::float32, {v}}).as<float>()), Error);

  // A const value keeps its elements, whoever may write them; another one hands them over.
  Tensor<float> mutable_({2}, {1, 2});
  Value shared = mutable_;
  shared.as<float>()[0] = 9;
  std::as_const(shared).as<float>()[0] = 9;
  CHECK(mutable_[0] == 1);
  CHECK_THROWS_AS(std::move(shared).as<double>(), Error);
  CHECK_THROWS_AS((std::move(shared).as<float, Shape<3>>()), Error);
  CHECK(shared.is_tensor());
  auto taken = std::move(shared).as<float, Shape<2>>();
  CHECK(taken.data() == mutable_.data());
  CHECK_FALSE(static_cast<bool>(shared));
  Value last = Tensor<float>({2}, {1, 2});
  const void* const data = last.tensor().data();
  const Tensor<float> only = std::move(last).as<float>();
  CHECK(only.data() == data);
  CHECK(only.storage().use_count() == 2);  // with the handle that storage() gives

  // Memory that may only be read is not given out for writing.
  Value of_constant = t;
  auto own = std::move(of_constant).as<float>();
  CHECK_FALSE(static_cast<bool>(of_constant));
  own[0] = 9;
  CHECK(t[0] == 1);
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
