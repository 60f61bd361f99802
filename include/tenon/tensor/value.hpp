// Value: anything that an edge of a graph carries. Copies share elements; nothing is copied deeply.
#pragma once

#include <cstring>
#include <memory>
#include <utility>

#include "tenon/base/platform/compiler.hpp"
#include "tenon/tensor/tensor.hpp"

namespace tenon::TENON_ABI {

/// A tensor whose element type is known at run time: a handle to elements, which copies share. Whether they
/// may be written depends on the handle: one made from a const tensor, or to a mapped file, is read-only.
class AnyTensor {
 public:
  AnyTensor() = default;
  /// The elements in `storage`, in row-major order. Error{invalid_shape} if it has fewer.
  AnyTensor(DType dtype, const Extents& extents, Storage storage)
      : dtype_(dtype), count_(element_count(extents)), storage_(std::move(storage)), extents_(extents) {
    if (storage_.size_bytes() < static_cast<std::size_t>(packed_bytes(count_, dtype)))
      raise(ErrorCode::invalid_shape, {}, "storage too small for ", to_string(extents));
  }
  AnyTensor(const AnyTensor&) = default;
  AnyTensor& operator=(const AnyTensor&) = default;
  /// The source of a move then holds nothing.
  AnyTensor(AnyTensor&& o) noexcept
      : dtype_(std::exchange(o.dtype_, DType::undefined)),
        count_(std::exchange(o.count_, 0)),
        storage_(std::move(o.storage_)),
        extents_(o.extents_) {
    o.extents_.clear();
  }
  AnyTensor& operator=(AnyTensor&& o) noexcept {
    if (this == &o) return *this;
    extents_ = o.extents_;
    o.extents_.clear();
    count_ = std::exchange(o.count_, 0);
    storage_ = std::move(o.storage_);
    dtype_ = std::exchange(o.dtype_, DType::undefined);
    return *this;
  }
  /// Of a moved-from tensor, which holds nothing, and so from the next two.
  template <class T, class S>
  AnyTensor(Tensor<T, S>&& t) {
    if (!t.storage()) return;
    dtype_ = dtype_of<T>, count_ = t.size(), extents_ = t.extents();
    storage_ = std::move(t).storage();  // t has no extents afterwards
  }
  /// Shares the tensor's elements, for writing too.
  template <class T, class S>
  AnyTensor(Tensor<T, S>& t) : AnyTensor(t, t.storage()) {}
  /// Shares the tensor's elements, for reading only.
  template <class T, class S>
  AnyTensor(const Tensor<T, S>& t) : AnyTensor(t, t.storage()) {}

  /// New memory, whose elements are to be written before they are read; strings are empty.
  [[nodiscard]] static AnyTensor uninitialized(DType dtype, const Extents& extents,
                                               Allocator& allocator = default_allocator()) {
    const int64_t count = element_count(extents);
    if (is_string(dtype)) return {dtype, extents, Storage::make<std::string>(count, allocator)};
    return {dtype, extents,
            Storage::allocate(static_cast<std::size_t>(packed_bytes(count, dtype)), allocator)};
  }

  DType dtype() const { return dtype_; }
  int rank() const { return extents_.size(); }
  const Extents& extents() const { return extents_; }
  int64_t size() const { return count_; }
  int64_t bytes() const { return packed_bytes(count_, dtype_); }
  const Storage& storage() const { return storage_; }
  /// The first byte, for reading; `out` is for writing.
  const void* data() const { return storage_.data(); }

  /// Whether the elements are aligned for their type. Elements of a tensor within a file may lie anywhere;
  /// then only their bytes may be read.
  bool aligned() const {
    const auto size = static_cast<uintptr_t>(is_complex(dtype_) ? bits_of(dtype_) / 16 : bits_of(dtype_) / 8);
    return size <= 1 || (reinterpret_cast<uintptr_t>(storage_.data()) & (size - 1)) == 0;
  }

  AnyView view() const { return storage_ ? AnyView(dtype_, storage_.data(), extents_, count_) : AnyView(); }
  /// Refers to elements at `data`, which the caller keeps valid; type and extents stay.
  void borrow(void* data) { storage_ = Storage::borrow(data, storage_.size_bytes()); }

  operator AnyView() const { return view(); }
  /// Whether `out` is allowed.
  bool writable() const { return storage_.writable(); }
  /// A view for writing. Error{invalid_argument} if the elements are read-only.
  AnyOut out() {
    if (!storage_) return {};
    if (!storage_.writable()) refuse_to_write();
    return {dtype_, storage_.as<void>(), extents_, count_};
  }
  /// The same elements, for reading only.
  AnyTensor read_only() const {
    AnyTensor t = *this;
    t.forbid_writing();
    return t;
  }
  /// Makes this handle read-only.
  void forbid_writing() { storage_.forbid_writing(); }

  /// A tensor with a copy of the view's elements.
  static AnyTensor copy_of(AnyView v, Allocator& allocator = default_allocator()) {
    AnyTensor t = uninitialized(v.dtype(), Extents(v.extents()), allocator);
    if (is_string(v.dtype())) {
      auto* const to = t.storage_.as<std::string>();
      for (int64_t i = 0; i < v.size(); ++i) to[i] = static_cast<const std::string*>(v.data())[i];
    } else if (!v.empty()) std::memcpy(t.storage_.as<void>(), v.data(), static_cast<std::size_t>(v.bytes()));
    return t;
  }
  /// A copy with elements of its own.
  [[nodiscard]] AnyTensor clone(Allocator& allocator = default_allocator()) const {
    return copy_of(view(), allocator);
  }
  /// The same elements under other extents. Error{invalid_shape} for another number of elements.
  [[nodiscard]] AnyTensor reshaped(const Extents& extents) const {
    AnyTensor t(dtype_, extents, storage_);
    if (t.count_ != count_)
      raise(ErrorCode::invalid_shape, {}, to_string(extents_), " cannot become ", to_string(extents));
    return t;
  }

 private:
  template <class T, class S>
  AnyTensor(const Tensor<T, S>& t, Storage storage) {
    if (!storage) return;
    dtype_ = dtype_of<T>, count_ = t.size(), extents_ = t.extents();
    storage_ = std::move(storage);
  }
  TENON_NOINLINE [[noreturn, gnu::cold]] void refuse_to_write() const {
    raise(ErrorCode::invalid_argument, {}, "tensor(", name_of(dtype_), ") ", to_string(extents_),
          " may only be read");
  }

  // The extents come last: with few axes, what a run reads lies in one or two cache lines.
  DType dtype_ = DType::undefined;
  int64_t count_ = 0;
  Storage storage_;
  Extents extents_{};
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

/// A value that only operators of its domain understand.
struct Opaque {
  std::string domain, name;  ///< of its type
  std::shared_ptr<const void> value;
};

/// A tensor of any type, a sequence, an optional, a map, a sparse tensor, an opaque value, or nothing. Copies
/// share the elements. A value made from a `const Tensor&` shares its elements for reading only, from a
/// `Tensor&` for writing too, and a `Tensor&&` hands them over: see AnyTensor.
class Value {
 public:
  Value() = default;
  Value(const Value&) = default;
  Value& operator=(const Value&) = default;
  /// The source of a move then holds nothing.
  Value(Value&& o) noexcept
      : holds_(std::exchange(o.holds_, Holds::nothing)),
        tensor_(std::move(o.tensor_)),
        other_(std::move(o.other_)) {}
  Value& operator=(Value&& o) noexcept {
    tensor_ = std::move(o.tensor_);
    other_ = std::move(o.other_);
    holds_ = std::exchange(o.holds_, Holds::nothing);
    return *this;
  }
  Value(AnyTensor t)
      : holds_(t.dtype() == DType::undefined ? Holds::nothing : Holds::tensor), tensor_(std::move(t)) {}
  template <class T, class S>
  Value(Tensor<T, S>&& t) : Value(AnyTensor(std::move(t))) {}
  template <class T, class S>
  Value(Tensor<T, S>& t) : Value(AnyTensor(t)) {}
  template <class T, class S>
  Value(const Tensor<T, S>& t) : Value(AnyTensor(t)) {}
  template <Lazy E>
  Value(const E& e) : Value(e.eval()) {}
  Value(Sequence s) : holds_(Holds::sequence), other_(std::make_shared<const Sequence>(std::move(s))) {}
  Value(OptionalValue o)
      : holds_(Holds::optional), other_(std::make_shared<const OptionalValue>(std::move(o))) {}
  Value(Map m) : holds_(Holds::map), other_(std::make_shared<const Map>(std::move(m))) {}
  Value(SparseTensor s)
      : holds_(Holds::sparse_tensor), other_(std::make_shared<const SparseTensor>(std::move(s))) {}
  Value(Opaque o) : holds_(Holds::opaque), other_(std::make_shared<const Opaque>(std::move(o))) {}

  explicit operator bool() const { return holds_ != Holds::nothing; }
  bool is_tensor() const { return holds_ == Holds::tensor; }
  bool is_sequence() const { return holds_ == Holds::sequence; }
  bool is_optional() const { return holds_ == Holds::optional; }
  bool is_map() const { return holds_ == Holds::map; }
  bool is_sparse_tensor() const { return holds_ == Holds::sparse_tensor; }
  bool is_opaque() const { return holds_ == Holds::opaque; }

  Type type() const { return is_tensor() ? Type(tensor_.dtype()) : other_type(); }

  // What the value holds; Error{invalid_type} when it holds something else.
  const AnyTensor& tensor() const {
    expect(Holds::tensor, "a tensor");
    return tensor_;
  }
  AnyTensor& tensor() { return const_cast<AnyTensor&>(std::as_const(*this).tensor()); }
  /// The same elements, for reading only, including the elements of tensors in a sequence, an optional, a map
  /// or a sparse tensor.
  Value read_only() const;
  const Sequence& sequence() const { return other<Sequence>(Holds::sequence, "a sequence"); }
  const OptionalValue& optional() const { return other<OptionalValue>(Holds::optional, "an optional"); }
  const Map& map() const { return other<Map>(Holds::map, "a map"); }
  const SparseTensor& sparse_tensor() const {
    return other<SparseTensor>(Holds::sparse_tensor, "a sparse tensor");
  }
  const Opaque& opaque() const { return other<Opaque>(Holds::opaque, "an opaque value"); }

  /// The elements as a separate tensor: a copy, because others read this value. `view` reads without a copy,
  /// and std::move(value).as<T>() takes the elements. Error{invalid_type, invalid_shape} when the value has
  /// another type or other extents.
  template <class T, class S = AnyShape>
  Tensor<T, S> as() const& {
    const AnyTensor& t = typed<T, S>();
    return Tensor<T, S>::from_storage(t.clone().storage(), t.extents());
  }
  /// The elements themselves, as a tensor; the value holds nothing afterwards. Only read-only elements
  /// are copied, of a const tensor or a file, and misaligned ones. Other handles to the elements go on
  /// sharing them.
  template <class T, class S = AnyShape>
  Tensor<T, S> as() && {
    typed<T, S>();
    const AnyTensor t = std::move(*this).take();
    const bool own = t.writable() && t.aligned();
    return Tensor<T, S>::from_storage(own ? t.storage() : t.clone().storage(), t.extents());
  }
  /// The elements, for reading, valid while a handle to them exists. Errors as from `as`.
  template <class T, class S = AnyShape>
  TensorView<const T, S> view() const TENON_LIFETIME_BOUND {
    return tensor().view().template as<T>().template as<S>();
  }

 private:
  // Not a std::variant: every header includes this one, and a variant of these costs a third of a second to
  // compile.
  enum class Holds : uint8_t { nothing, tensor, sequence, optional, map, sparse_tensor, opaque };

  inline Type other_type() const;  // of a value that is no tensor
  AnyTensor take() && {
    holds_ = Holds::nothing;
    return std::move(tensor_);
  }
  template <class T, class S>
  const AnyTensor& typed() const {
    const AnyTensor& t = tensor();
    if (t.dtype() != dtype_of<T>)
      raise(ErrorCode::invalid_type, {}, to_string(type()), " is not a tensor(", name_of(dtype_of<T>), ")");
    static_cast<void>(Layout<S>(t.extents()));
    return t;
  }
  // The cold path is a separate function, so that access to a tensor costs a comparison.
  void expect(Holds kind, const char* what) const {
    if (holds_ != kind) refuse(what);
  }
  TENON_NOINLINE [[noreturn, gnu::cold]] void refuse(const char* what) const {
    raise(ErrorCode::invalid_type, {}, to_string(type()), " is not ", what);
  }
  template <class H>
  const H& other(Holds kind, const char* what) const {
    expect(kind, what);
    return *static_cast<const H*>(other_.get());
  }

  Holds holds_ = Holds::nothing;
  AnyTensor tensor_;
  std::shared_ptr<const void> other_;  // a value that is no tensor
};

inline Value Value::read_only() const {
  if (is_tensor()) return tensor_.read_only();
  if (is_sequence()) {
    Sequence s{sequence().element, {}};
    for (const Value& v : sequence().items) s.items.push_back(v.read_only());
    return s;
  }
  if (is_optional() && optional().value)
    return OptionalValue{optional().element, std::make_shared<const Value>(optional().value->read_only())};
  if (is_map()) return Map{map().keys.read_only(), map().values.read_only()};
  if (is_sparse_tensor()) {
    const SparseTensor& s = sparse_tensor();
    return SparseTensor{s.values.read_only(), s.indices.read_only(), s.extents};
  }
  return *this;
}

inline Type Value::other_type() const {
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
  if (is_opaque()) return {Kind::opaque, DType::undefined};
  return {};
}

}  // namespace tenon::TENON_ABI
