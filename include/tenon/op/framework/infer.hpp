// The one shape rule: the operands that an operator's `infer` reads and the results that it writes. The
// compiler (typed calls), shape inference, the memory plan and the check before a run all use it.
#pragma once

#include <algorithm>
#include <concepts>
#include <utility>
#include <vector>

#include "tenon/base/types.hpp"
#include "tenon/op/framework/spec.hpp"
#include "tenon/tensor/shape.hpp"

namespace tenon::TENON_ABI::op {

/// Text of bounded length that can be built at compile time, and the code of the Error that it becomes.
struct Message {
  enum class Scope : uint8_t { all, runs, files };

  char text_[199]{};
  Scope scope_ = Scope::all;
  ErrorCode code_ = ErrorCode::invalid_shape;
  int size_ = 0;

  constexpr std::string_view view() const { return {text_, static_cast<std::size_t>(size_)}; }
  /// Whether runs refuse nothing.
  constexpr bool empty() const { return size_ == 0 || scope_ == Scope::files; }
  /// Whether only runs refuse (Infer::for_runs): the results are inferred nevertheless.
  constexpr bool of_runs() const { return scope_ == Scope::runs; }
  /// Whether only inference of a file refuses (Infer::for_files).
  constexpr bool of_files() const { return scope_ == Scope::files; }
  constexpr bool operator==(const Message&) const = default;
  constexpr ErrorCode code() const { return code_; }

  constexpr void add(std::string_view s) {
    for (char c : s)
      if (size_ < 199) text_[size_++] = c;
  }
  constexpr void add(const char* s) { add(std::string_view(s)); }
  constexpr void add(const Str& s) { add(std::string_view(s)); }
  constexpr void add(std::integral auto v) {
    char digits[20]{};
    int n = 0;
    const bool negative = v < 0;
    uint64_t u = negative ? uint64_t{0} - static_cast<uint64_t>(v) : static_cast<uint64_t>(v);
    do digits[n++] = static_cast<char>('0' + u % 10);
    while ((u /= 10) != 0);
    if (negative) add("-");
    while (n > 0) add(std::string_view(&digits[--n], 1));
  }
  constexpr void add(Dim d) {
    if (d.known()) add(d.value());
    else add("?");
  }
  constexpr void add(DType d) { add(name_of(d)); }
  constexpr void add(const Dims& d) {
    add("(");
    for (int i = 0; i < d.rank(); ++i) {
      if (i > 0) add(",");
      add(d[i]);
    }
    add(d.ranked() ? ")" : "...)");
  }
  constexpr void add(const auto& first, const auto& second, const auto&... rest) {
    add(first), add(second), (add(rest), ...);
  }
};

/// Extents on the heap, for constant expressions too, where libstdc++'s checked std::vector cannot be.
class DimList {
 public:
  constexpr DimList() = default;
  constexpr DimList(const DimList& o) { *this = o; }
  constexpr DimList(DimList&& o) noexcept { *this = std::move(o); }
  constexpr DimList& operator=(const DimList& o) {
    if (this == &o) return *this;
    size_ = 0;
    for (int k = 0; k < o.size_; ++k) push_back(o.dims_[k]);
    return *this;
  }
  constexpr DimList& operator=(DimList&& o) noexcept {
    std::swap(dims_, o.dims_), std::swap(size_, o.size_), std::swap(room_, o.room_);
    return *this;
  }
  constexpr ~DimList() { delete[] dims_; }

  constexpr int size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr Dim operator[](int64_t k) const { return dims_[k]; }
  constexpr void clear() { size_ = 0; }
  constexpr void push_back(Dim d) {
    if (size_ == room_) {
      Dim* const more = new Dim[static_cast<std::size_t>(2 * room_ + 16)];
      for (int k = 0; k < size_; ++k) more[k] = dims_[k];
      delete[] dims_;
      dims_ = more, room_ = 2 * room_ + 16;
    }
    dims_[size_++] = d;
  }
  constexpr bool operator==(const DimList& o) const {
    bool same = size_ == o.size_;
    for (int k = 0; same && k < size_; ++k) same = dims_[k] == o.dims_[k];
    return same;
  }

 private:
  Dim* dims_ = nullptr;
  int size_ = 0, room_ = 0;
};

/// The integers in a value, if they are known before the value is computed: shapes, axes, repeats. Carrying
/// them from operands to results is ONNX's data propagation.
class PropagatedData {
 public:
  bool undefined = false;  ///< an element is unknown because arithmetic on known ones exceeds a Dim's range

  constexpr PropagatedData() = default;
  constexpr PropagatedData(std::initializer_list<Dim> list) : known_(true) {
    for (Dim d : list) push_back(d);
  }
  constexpr bool known() const { return known_; }
  constexpr int size() const { return many_.empty() ? few_.size() : many_.size(); }
  constexpr Dim operator[](int64_t i) const { return many_.empty() ? few_[i] : many_[i]; }
  /// Makes the values known; false (and nothing is known) past the capacity.
  constexpr bool begin(int64_t count) {
    known_ = count <= 64;
    few_.clear();
    many_.clear();
    return known_;
  }
  constexpr void push_back(Dim d) {
    if (many_.empty() && few_.size() < few_.capacity()) return few_.push_back(d);
    if (many_.empty())
      for (const Dim few : few_) many_.push_back(few);
    many_.push_back(d);
  }
  constexpr bool operator==(const PropagatedData&) const = default;

 private:
  InlineVector<Dim, 8> few_{};  // the shape of most tensors fits; every value of a graph reserves this
  DimList many_{};              // all of them, if there are more
  bool known_ = false;
};

/// Symbols from here on stand for extents of inputs that a model leaves unknown. Of equal extents, `unify`
/// gives another one if there is one.
inline constexpr int32_t unstated_symbols = 1 << 30;

/// Whether elements of a type are propagated.
constexpr bool is_propagated(DType d) { return d == DType::int64 || d == DType::int32 || d == DType::bool_; }

/// Type and extents of one operand or result, as far as they are known before it is computed. `dims` of a
/// sequence or an optional are its elements' extents. `data` points to the elements if they exist (constants,
/// run time).
struct Info {
  Type type;
  Dims dims;
  PropagatedData propagated;
  const void* data = nullptr;
  bool provisional = false;  ///< of a result: the rule has to read operands' elements that exist only in the
                             ///< run

  constexpr bool present() const { return static_cast<bool>(type); }
  constexpr bool operator==(const Info&) const = default;
};

/// The operands and results of one use of an operator. Rules read inputs, write outputs, and end with `return
/// i.fail(…)` when ONNX forbids the operands. Element types of outputs are filled in from the type variables
/// before the rule runs.
class Infer {
 public:
  /// `asked_in_vain` becomes true when the rule asks for elements that are not known yet.
  constexpr Infer(const Spec& spec, std::span<const Info> inputs, std::span<Info> outputs, int version,
                  bool& asked_in_vain)
      : spec_(spec), inputs_(inputs), outputs_(outputs), version_(version), asked_in_vain_(&asked_in_vain) {}

  /// The version of the operator, for rules that differ among the versions of one struct.
  constexpr int version() const { return version_; }
  constexpr int inputs() const { return static_cast<int>(inputs_.size()); }
  constexpr int outputs() const { return static_cast<int>(outputs_.size()); }
  /// Whether an operand is present (optional ones may be left out).
  constexpr bool has(int input) const { return in(input).present(); }
  constexpr const Info& in(int input) const {
    return input < inputs() ? inputs_[static_cast<std::size_t>(input)] : none_;
  }
  constexpr const Dims& dims(int input) const { return in(input).dims; }
  constexpr DType dtype(int input) const { return in(input).type.element; }
  /// Whether the ranks of all of these inputs are known; a rule that needs them returns when not.
  constexpr bool ranked(std::same_as<int> auto... input) const { return (dims(input).ranked() && ...); }

  /// The result; writes to a result that is not requested are discarded.
  constexpr Info& out(int output) {
    return output < outputs() ? outputs_[static_cast<std::size_t>(output)] : sink_;
  }
  constexpr void out(int output, const Dims& dims) { out(output).dims = dims; }
  constexpr void out(int output, DType dtype, const Dims& dims) {
    out(output).type = dtype;
    out(output).dims = dims;
  }

  /// Whether the elements of an int64, int32 or bool input are known (each may still be symbolic or unknown).
  /// When they are not, the rule is called again in the run, with the elements, even if it could tell the
  /// results' extents before: the rule may have to refuse elements.
  constexpr bool has_elements(int input) const {
    const bool are = propagates(input);
    if (!are && has(input)) *asked_in_vain_ = true;
    return are;
  }
  /// Elements of a known input.
  constexpr int64_t element_count(int input) const {
    return in(input).propagated.known() ? in(input).propagated.size() : dims(input).count().value();
  }
  /// The number of elements of an input, as far as it is known.
  constexpr Dim length(int input) const {
    return has_elements(input) ? Dim(element_count(input)) : dims(input).count();
  }
  /// An element of an input, as far as it is known.
  constexpr Dim element(int input, int64_t i) const {
    const Dim d = propagates(input) ? propagated(input, i) : Dim();
    if (!d.known() && has(input)) *asked_in_vain_ = true;
    return d;
  }
  /// The element of an input of one element, as far as it is known.
  constexpr Dim item(int input) const { return length(input).is(1) ? element(input, 0) : Dim(); }
  /// `propagates` and `propagated` are has_elements and element for rules that only propagate elements to
  /// results. Such a rule refuses no element and so need not be called again in the run.
  constexpr bool propagates(int input) const {
    return is_propagated(dtype(input)) && (in(input).propagated.known() || in(input).data != nullptr);
  }
  constexpr Dim propagated(int input, int64_t i) const {
    const Info& x = in(input);
    if (x.propagated.known()) return x.propagated[i];
    switch (x.type.element) {
      case DType::int64: return static_cast<const int64_t*>(x.data)[i];
      case DType::int32: return static_cast<const int32_t*>(x.data)[i];
      case DType::bool_: return static_cast<const bool*>(x.data)[i];
      default: return {};
    }
  }
  /// The elements as numbers; false when one of them is unknown. Fails for more elements than Ints' capacity
  /// and for an element that is too small for a Dim.
  constexpr bool ints(int input, Ints& result) {
    result.clear();
    if (!has_elements(input)) return false;
    if (element_count(input) > Ints::capacity())
      return fail("input ", input, " has ", element_count(input), " elements: too many"), false;
    for (int64_t k = 0; k < element_count(input); ++k) {
      const Dim d = element(input, k);
      if (!d.known()) {
        if (!in(input).propagated.known()) fail("input ", input, " holds a number out of range");
        return result.clear(), false;
      }
      result.push_back(d.value());
    }
    return true;
  }
  /// The elements of any type where they exist (constants and run time), else null.
  template <class T>
  constexpr const T* data(int input) const {
    const void* elements = in(input).data;
    if (has(input) && elements == nullptr) *asked_in_vain_ = true;
    return elements != nullptr && dtype(input) == dtype_of<T> ? static_cast<const T*>(elements) : nullptr;
  }

  /// Fails with a message; only the first message is kept.
  constexpr void fail(const auto&... parts) {
    if (failed()) return;
    message_ = {};
    (message_.add(parts), ...);
  }
  /// The same for an element type or a kind of value that the operator does not take: Error{invalid_type}
  /// instead of {invalid_shape}.
  constexpr void fail_type(const auto&... parts) {
    if (failed()) return;
    fail(parts...);
    message_.code_ = ErrorCode::invalid_type;
  }
  constexpr bool failed() const { return !message_.empty() && !message_.of_runs(); }
  /// Makes checks that the specification demands and ONNX's inference omits. A failure in `check` refuses
  /// nodes that are to run, but the rule continues, and inference of a file gets its results.
  constexpr void for_runs(const auto& check) { within(Message::Scope::runs, check); }
  /// Makes checks of ONNX's inference that the specification does not demand. A failure in `check` is an
  /// error where types and extents of a file are requested, but the rule continues, and nodes run.
  constexpr void for_files(const auto& check) { within(Message::Scope::files, check); }
  constexpr const Message& message() const { return message_; }

  // --- what rules refuse, in the same words everywhere; false after a failure ---

  /// The name of an input, as the version has it.
  constexpr std::string_view name(int input) const { return spec_.input(input, version_).name; }
  /// The rank of input number `input` is known.
  constexpr bool expect_ranked(int input) {
    if (!ranked(input)) fail("the rank of ", name(input), " is not known");
    return !failed();
  }
  /// Input number `input` has rank `rank`, as far as that is known.
  constexpr bool expect_rank(int input, int rank) {
    const Dims& d = dims(input);
    if (d.ranked() && d.rank() != rank) fail(name(input), ": rank ", d.rank(), ", expected ", rank);
    return !failed();
  }
  constexpr bool expect_rank_at_least(int input, int rank) {
    const Dims& d = dims(input);
    if (d.ranked() && d.rank() < rank) fail(name(input), ": rank ", d.rank(), ", expected at least ", rank);
    return !failed();
  }
  /// Input number `input` has these extents, as far as both are known.
  constexpr bool expect_extents(int input, const Dims& expected) {
    if (!dims(input).fits(expected)) fail(name(input), ": ", dims(input), ", expected ", expected);
    return !failed();
  }
  /// Input number `input` has one element, under any extents, if it is present.
  constexpr bool expect_one(int input) {
    if (has(input) && dims(input).count().differs(1))
      fail(name(input), ": ", dims(input), ", expected one element");
    return !failed();
  }
  /// A number is at least `least`, as far as it is known.
  constexpr bool expect_at_least(std::string_view what, Dim value, int64_t least) {
    if (value.below(least)) fail(what, ": ", value, ", expected at least ", least);
    return !failed();
  }
  constexpr bool expect_at_least(std::string_view what, int64_t value, int64_t least) {
    if (value < least) fail(what, ": ", value, ", expected at least ", least);
    return !failed();
  }
  /// A list that an attribute states has `expected` entries.
  constexpr bool expect_entries(std::string_view attribute, std::integral auto entries, int64_t expected) {
    if (static_cast<int64_t>(entries) != expected)
      fail(attribute, ": ", entries, " entries, expected ", expected);
    return !failed();
  }
  /// Attribute `attribute` has one of these values.
  template <class T>
  constexpr bool expect_choice(std::string_view attribute, const T& value,
                               std::initializer_list<std::type_identity_t<T>> choices) {
    if (std::find(choices.begin(), choices.end(), value) != choices.end()) return !failed();
    if (failed()) return false;
    const char* quote = std::is_integral_v<T> ? "" : "'";
    fail(attribute, ": ", quote, value, quote, ", expected ");
    for (const T& c : choices) {
      if (&c != choices.begin()) message_.add(&c + 1 == choices.end() ? " or " : ", ");
      message_.add(c);
    }
    return false;
  }

  /// Attribute `attribute` states one of these element types, by ONNX's numbers.
  constexpr bool expect_type(std::string_view attribute, int64_t number,
                             std::initializer_list<int64_t> choices) {
    if (failed()) return false;
    if (!expect_choice(attribute, number, choices)) message_.code_ = ErrorCode::invalid_type;
    return !failed();
  }

  /// The element type that an attribute states by ONNX's number; fails when there is none of that number.
  constexpr DType element_type(std::string_view attribute, int64_t number) {
    const DType d = dtype_from_onnx(number);
    if (d == DType::undefined) fail("attribute '", attribute, "' is ", number, ", which is no type");
    return d;
  }
  /// The axis in [0, rank), counted from the end if negative (also at versions before 11, which do not
  /// mention it); fails outside [-rank, rank).
  constexpr int axis(int64_t axis, int rank) {
    if (axis < -rank || axis >= rank) {
      fail("axis ", axis, " outside of [", -rank, ", ", rank - 1, "]");
      return 0;
    }
    return resolve_axis(axis, rank);
  }
  /// The same for an axis of a list. `seen` has a bit for each axis so far; fails when this axis is among
  /// them.
  constexpr int axis(int64_t number, int rank, uint32_t& seen) {
    const int a = axis(number, rank);
    if (seen >> a & 1) fail("axis ", number, " is named twice");
    seen |= 1u << a;
    return a;
  }
  /// A bit for each of the axes; fails when one is out of range or named twice.
  constexpr uint32_t axes(std::span<const int64_t> list, int rank) {
    uint32_t mask = 0;
    for (int64_t a : list) axis(a, rank, mask);
    return mask;
  }
  /// Unknown extents of a rank that is computed: unranked where the rank is unknown; fails above max_rank.
  constexpr Dims of_rank(Dim rank) {
    if (Dim(max_rank).below(rank)) fail("rank ", rank, " is above ", max_rank);
    return rank.known() && !failed() ? Dims::of_rank(static_cast<int>(rank.value())) : Dims{};
  }
  /// The more precise one of two extents that must be equal; fails when they differ.
  constexpr Dim unify(Dim a, Dim b, std::string_view what) {
    if (a.differs(b)) fail(what, " differ: ", a, " and ", b);
    if (a.known() || b.known()) return a.known() ? a : b;
    const auto stated = [](Dim d) { return d.symbolic() && d.symbol() < unstated_symbols; };
    return stated(a) || (a.symbolic() && !stated(b)) ? a : b;
  }
  /// The same for ranks and all extents.
  constexpr Dims unify(const Dims& a, const Dims& b, std::string_view what) {
    if (!a.ranked() || !b.ranked()) return a.ranked() ? a : b;
    if (a.rank() != b.rank()) return fail(what, " differ: ", a, " and ", b), a;
    Dims r = a;
    for (int k = 0; k < a.rank(); ++k) r[k] = unify(a[k], b[k], what);
    return r;
  }
  /// numpy's broadcasting; fails when two extents above 1 differ.
  constexpr Dims broadcast(const Dims& a, const Dims& b) {
    if (!a.ranked() || !b.ranked()) return {};
    const int rank = std::max(a.rank(), b.rank());
    Dims r = Dims::of_rank(rank);
    for (int k = 0; k < rank; ++k) {
      const int ka = k - (rank - a.rank()), kb = k - (rank - b.rank());
      const Dim x = ka < 0 ? Dim(1) : a[ka], y = kb < 0 ? Dim(1) : b[kb];
      if (x.is(1) || x.same(y)) r[k] = y;
      else if (y.is(1)) r[k] = x;
      else if (x.differs(y)) return fail("extents ", a, " and ", b, " do not broadcast"), Dims{};
      else if (x.known()) r[k] = x;  // x is above 1, so y is x or 1
      else if (y.known()) r[k] = y;
    }
    return r;
  }

 private:
  constexpr void within(Message::Scope scope, const auto& check) {
    if (failed()) return;
    const Message before = std::exchange(message_, {});
    check();
    if (!failed()) message_ = before;
    else if (before.size_ == 0) message_.scope_ = scope;
    else if (before.scope_ == scope) message_ = before;
  }

  static constexpr Info none_{};
  const Spec& spec_;
  std::span<const Info> inputs_;
  std::span<Info> outputs_;
  int version_;
  Info sink_{};
  Message message_{};
  bool* asked_in_vain_;
};

}  // namespace tenon::TENON_ABI::op
