// Value: anything that an edge of a graph carries. Copies share elements; nothing is copied deeply.
#pragma once

#include <memory>
#include <variant>

#include "tenon/tensor/tensor.hpp"

namespace tenon {

/// A tensor whose element type run time knows. Copies share the elements.
class AnyTensor {
 public:
  AnyTensor() = default;
  AnyTensor(DType dtype, const Extents& extents, Storage storage)
      : extents_(extents), count_(element_count(extents)), storage_(std::move(storage)), dtype_(dtype) {
    if (storage_.size_bytes() < static_cast<std::size_t>(packed_bytes(count_, dtype)))
      throw Error(ErrorCode::invalid_shape, {}, concat("storage too small for ", to_string(extents)));
  }
  AnyTensor(const AnyTensor&) = default;
  AnyTensor& operator=(const AnyTensor&) = default;
  /// What is moved from holds nothing.
  AnyTensor(AnyTensor&& o) noexcept { *this = std::move(o); }
  AnyTensor& operator=(AnyTensor&& o) noexcept {
    if (this == &o) return *this;
    extents_ = o.extents_;
    o.extents_.clear();
    count_ = std::exchange(o.count_, 0);
    storage_ = std::move(o.storage_);
    dtype_ = std::exchange(o.dtype_, DType::undefined);
    return *this;
  }
  template <class T, class S>
  AnyTensor(Tensor<T, S>&& t)
      : extents_(t.extents()), count_(t.size()), storage_(std::move(t).storage()), dtype_(dtype_of<T>) {}
  /// Shares the tensor's elements.
  template <class T, class S>
  AnyTensor(const Tensor<T, S>& t) : AnyTensor(dtype_of<T>, Extents(t.extents()), t.storage()) {}

  static AnyTensor uninitialized(DType dtype, const Extents& extents, Allocator& allocator = default_allocator()) {
    const int64_t count = element_count(extents);
    if (dtype == DType::string) return {dtype, extents, Storage::make<std::string>(count, allocator)};
    return {dtype, extents, Storage::allocate(static_cast<std::size_t>(packed_bytes(count, dtype)), allocator)};
  }

  DType dtype() const { return dtype_; }
  int rank() const { return extents_.size(); }
  const Extents& extents() const { return extents_; }
  int64_t size() const { return count_; }
  int64_t bytes() const { return packed_bytes(count_, dtype_); }
  const Storage& storage() const { return storage_; }
  const void* data() const { return storage_.data(); }
  void* data() { return storage_.data(); }

  AnyView view() const { return storage_ ? AnyView(dtype_, storage_.data(), extents_) : AnyView(); }
  AnyOut out() { return storage_ ? AnyOut(dtype_, storage_.data(), extents_) : AnyOut(); }
  operator AnyView() const { return view(); }

  /// A tensor with a copy of the view's elements.
  static AnyTensor copy_of(AnyView v, Allocator& allocator = default_allocator()) {
    AnyTensor t = uninitialized(v.dtype(), Extents(v.extents()), allocator);
    if (v.dtype() == DType::string)
      std::copy_n(static_cast<const std::string*>(v.data()), v.size(), static_cast<std::string*>(t.data()));
    else if (!v.empty()) std::memcpy(t.data(), v.data(), static_cast<std::size_t>(v.bytes()));
    return t;
  }
  /// The same with elements of its own.
  AnyTensor clone(Allocator& allocator = default_allocator()) const { return copy_of(view(), allocator); }
  /// The same elements under other extents of the same count.
  AnyTensor reshaped(const Extents& extents) const { return {dtype_, extents, storage_}; }

 private:
  Extents extents_{};
  int64_t count_ = 0;
  Storage storage_;
  DType dtype_ = DType::undefined;
};

class Value;

/// Tensors or maps of one type, in order.
struct Sequence {
  Type element;  ///< of every item
  std::vector<Value> items;
};
/// A tensor, a sequence, or nothing, of a stated type.
struct OptionalValue {
  Type element;
  std::shared_ptr<const Value> value;  ///< null: nothing
};
/// Keys and their values, as two tensors of one axis and equal length; keys are distinct.
struct Map {
  AnyTensor keys;    ///< int64 or string (N)
  AnyTensor values;  ///< (N)
};
/// Coordinate form. Elements that are not named are zero.
struct SparseTensor {
  AnyTensor values;   ///< (NNZ)
  AnyTensor indices;  ///< int64: (NNZ) of row-major offsets or (NNZ, rank) of coordinates, ascending
  Extents extents;    ///< of the dense tensor
};

/// A tensor of any type, a sequence, an optional, a map, a sparse tensor, or nothing. Copies share the elements.
class Value {
 public:
  Value() = default;
  Value(const Value&) = default;
  Value& operator=(const Value&) = default;
  /// What is moved from holds nothing.
  Value(Value&& o) noexcept : held_(std::exchange(o.held_, Held())) {}
  Value& operator=(Value&& o) noexcept {
    held_ = std::exchange(o.held_, Held());
    return *this;
  }
  Value(AnyTensor t) : held_(std::move(t)) {}
  template <class T, class S>
  Value(Tensor<T, S>&& t) : held_(AnyTensor(std::move(t))) {}
  template <class T, class S>
  Value(const Tensor<T, S>& t) : held_(AnyTensor(t)) {}
  Value(Sequence s) : held_(std::make_shared<const Sequence>(std::move(s))) {}
  Value(OptionalValue o) : held_(std::make_shared<const OptionalValue>(std::move(o))) {}
  Value(Map m) : held_(std::make_shared<const Map>(std::move(m))) {}
  Value(SparseTensor s) : held_(std::make_shared<const SparseTensor>(std::move(s))) {}

  explicit operator bool() const { return !std::holds_alternative<std::monostate>(held_); }
  bool is_tensor() const { return std::holds_alternative<AnyTensor>(held_); }
  bool is_sequence() const { return std::holds_alternative<std::shared_ptr<const Sequence>>(held_); }
  bool is_optional() const { return std::holds_alternative<std::shared_ptr<const OptionalValue>>(held_); }
  bool is_map() const { return std::holds_alternative<std::shared_ptr<const Map>>(held_); }
  bool is_sparse_tensor() const { return std::holds_alternative<std::shared_ptr<const SparseTensor>>(held_); }

  inline Type type() const;

  // What the value holds; Error{invalid_type} when it holds something else.
  const AnyTensor& tensor() const { return get<AnyTensor>("a tensor"); }
  AnyTensor& tensor() { return const_cast<AnyTensor&>(std::as_const(*this).tensor()); }
  const Sequence& sequence() const { return *get<std::shared_ptr<const Sequence>>("a sequence"); }
  const OptionalValue& optional() const { return *get<std::shared_ptr<const OptionalValue>>("an optional"); }
  const Map& map() const { return *get<std::shared_ptr<const Map>>("a map"); }
  const SparseTensor& sparse_tensor() const { return *get<std::shared_ptr<const SparseTensor>>("a sparse tensor"); }

  /// The tensor with its type; it shares the elements, or has a copy of them where memory may only be read.
  /// Error{invalid_type, invalid_shape} when it has another type or other extents.
  template <class T, class S = AnyShape>
  Tensor<T, S> as() const {
    const AnyTensor& t = tensor();
    if (t.dtype() != dtype_of<T>)
      throw Error(ErrorCode::invalid_type, {}, concat(to_string(type()), " is not a tensor(", name(dtype_of<T>), ")"));
    const Storage& s = t.storage();
    return Tensor<T, S>::from_storage(s.writable() ? s : t.clone().storage(), t.extents());
  }
  template <class T, class S = AnyShape>
  TensorView<const T, S> view() const {
    return tensor().view().template as<T>().template as<S>();
  }

 private:
  template <class H>
  const H& get(const char* what) const {
    if (const H* h = std::get_if<H>(&held_)) return *h;
    throw Error(ErrorCode::invalid_type, {}, concat(to_string(type()), " is not ", what));
  }

  using Held = std::variant<std::monostate, AnyTensor, std::shared_ptr<const Sequence>,
                            std::shared_ptr<const OptionalValue>, std::shared_ptr<const Map>,
                            std::shared_ptr<const SparseTensor>>;
  Held held_;
};

inline Type Value::type() const {
  if (is_tensor()) return tensor().dtype();
  if (is_sequence()) {
    const Type e = sequence().element;
    return e.kind == Kind::map ? Type(Kind::sequence_map, e.element, e.key) : Type(Kind::sequence, e.element);
  }
  if (is_optional()) {
    const Type e = optional().element;
    return {e.kind == Kind::sequence ? Kind::optional_sequence : Kind::optional, e.element};
  }
  if (is_map()) return {Kind::map, map().values.dtype(), map().keys.dtype()};
  if (is_sparse_tensor()) return {Kind::sparse_tensor, sparse_tensor().values.dtype()};
  return {};
}

}  // namespace tenon
