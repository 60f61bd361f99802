// pack_matmul: a MatMul or Gemm whose right side is a constant matrix, with the bias of columns, the residual
// and the Relu or Clip behind it, becomes one node whose matrix is laid out for the kernel. Halves stay
// halves. For a few rows the matrix stays as it is, in its file if it came from one.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "tenon/graph/passes/packed.hpp"
#include "tenon/kernels/gemm/narrow_gemm.hpp"
#include "tenon/op/math/gemm.hpp"
#include "tenon/op/math/mat_mul.hpp"

namespace tenon::passes {

namespace detail {

/// The B of `args` as pack_b writes it. B's memory, if it is a file's, is given back.
template <class C>
Storage packed_b(const kernels::GemmArgs<C>& args, const Storage& b) {
  Storage packed = Storage::make<C>(kernels::packed_b_size<C>(args.k, args.n));
  kernels::pack_b(args, static_cast<C*>(packed.data()));
  if (const auto* part = b.owner<FilePart>()) part->forget();
  return packed;
}

/// The matrix B of products of which few rows are known or likely, in a file, whose small pages make products
/// up to a fifth slower. So the first product of few rows copies it, and the first of many rows packs it.
class FileMatrix {
 public:
  explicit FileMatrix(Storage part) : part_(std::move(part)) {}

  /// B for a product of few rows; not AnyTensor::aligned perhaps.
  const void* plain() {
    if (const void* copy = copy_.load(std::memory_order_acquire)) return copy;
    // The matrix can be read where it lies while another run copies it, and where memory has ended.
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return part_.data();
    try {
      return make(copy_, copied_, [&] { return copied(); });
    } catch (const std::bad_alloc&) {
    } catch (const Error& e) {
      if (e.code() != ErrorCode::out_of_memory) throw;
    }
    return part_.data();
  }
  /// The B of `args` packed.
  template <class C>
  const C* packed(const kernels::GemmArgs<C>& args) {
    const void* data = pack_.load(std::memory_order_acquire);
    if (data == nullptr) {
      const std::lock_guard lock(mutex_);
      data = make(pack_, packed_, [&] { return packed_b(args, part_); });
    }
    return static_cast<const C*>(data);
  }

 private:
  Storage copied() const {
    Storage own = Storage::allocate(part_.size_bytes());
    const auto bytes = static_cast<int64_t>(own.size_bytes());
    parallel_for(bytes, int64_t{1} << 22, [&](int64_t begin, int64_t end) {
      const auto part = static_cast<std::size_t>(end - begin);
      std::memcpy(own.as<std::byte>() + begin, part_.as<const std::byte>() + begin, part);
      tenon::detail::forget_file_pages(part_.as<const std::byte>() + begin, part);
    });
    return own;
  }
  // Under the mutex.
  template <class F>
  static const void* make(std::atomic<const void*>& data, Storage& storage, F made) {
    if (!storage) data.store((storage = made()).data(), std::memory_order_release);
    return storage.data();
  }

  const Storage part_;
  std::mutex mutex_;
  std::atomic<const void*> copy_{nullptr}, pack_{nullptr};
  Storage copied_, packed_;
};

}  // namespace detail

/// Y (..., M, N) = min(max(alpha A' B + beta C + bias, lo), hi), where A' is A (..., M, K) or with trans_a
/// its transpose, and C has Y's extents, or with gemm stretches to them, or is left out.
struct PackedMatMul {
  float alpha = 1, beta = 1;
  bool trans_a = false;
  bool gemm = false;  ///< A and Y are matrices, and C may stretch
  Bounds bounds{};
  DType element = DType::undefined;  ///< of A
  int64_t k = 0, n = 0;
  Storage b{};                   ///< (K, N), as pack_b or narrow_pack writes it, or by these strides:
  int64_t b_row = 0, b_col = 0;  ///< of a matrix that is not packed, nor AnyTensor::aligned perhaps
  std::shared_ptr<detail::FileMatrix> file{};  ///< has that matrix; or null
  Storage zeros{};                             ///< of narrow_pack
  Storage bias{};                              ///< (N), or empty
  kernels::NarrowMatrix narrow{};              ///< b and zeros, if narrow_pack wrote them

  static constexpr op::Spec spec{.name = "PackedMatMul",
                                 .domain = "tenon",
                                 .since = {1},
                                 .inputs = {{"A", "T"}, {"C", "T", op::optional}},
                                 .outputs = {{"Y", "T"}},
                                 .types = {{"T", types::floats_bf16}}};
  static constexpr op::Attributes attributes{};

  constexpr void infer(op::Infer& i) const {
    if (i.dtype(0) != element) return i.fail("A is ", i.dtype(0), ", B is ", element);
    const Dims matrix{k, n};
    if (gemm) return op::gemm_detail::infer_gemm(i, trans_a, false, i.dims(0), matrix, i.dims(1));
    Dims y = op::infer_matmul(i, i.dims(0), matrix);
    infer_addend(i, 1, y);
    i.out(0, y);
  }
  template <class T>
  void compute(TensorView<const T> a, TensorView<const T> c, TensorView<T> y) const {
    using W = compute_t<T>;
    if (y.empty()) return;
    Scratch scratch;
    kernels::GemmArgs<W> args;
    args.m = y.size() / n;
    args.n = n;
    args.k = k;
    args.a = op::widen(scratch, a.data(), a.size());
    args.a_row = trans_a ? 1 : k;
    args.a_col = trans_a ? args.m : 1;
    (b_row == 0 ? args.packed_b : args.b) = static_cast<const W*>(b.data());
    args.b_row = b_row;
    args.b_col = b_col;
    if constexpr (std::is_same_v<T, W>) {
      if (file && args.m > few_rows) args.packed_b = file->packed(args);
      else if (file) args.b = static_cast<const W*>(file->plain());
    }
    args.alpha = alpha;
    args.beta = beta;
    if (beta != 0) op::gemm_detail::set_addend(args, scratch, c);
    if (args.d && c.rank() > 2) args.d_row = n, args.d_col = 1;
    args.col_bias = bias ? static_cast<const W*>(bias.data()) : nullptr;
    args.c = op::wide_result(scratch, y.data(), y.size());
    args.c_row = n;
    args.lo = static_cast<W>(bounds.lo);
    args.hi = static_cast<W>(bounds.hi);
    if (narrow.type == DType::undefined) kernels::gemm(args);
    else if constexpr (std::is_same_v<W, float>) kernels::narrow_gemm(args, narrow);
    op::narrow(args.c, y.data(), y.size());
  }
};

namespace detail {

/// Whether a product's left side is no vector. Reports it if not.
inline bool has_rows(const Program& program, int number) {
  const Dims& y = program.info(program.node(number).outputs[0]).dims;
  if (!y.ranked()) program.skipped(number, "the rank of A is not known, or it does not fit");
  else if (y.rank() < 2) program.skipped(number, "A is a vector");
  return y.ranked() && y.rank() >= 2;
}

/// Puts `packed`, which has all but its bias, residual and bounds, in the place of a product and of the nodes
/// behind it that it can take in. False if there are none and the matrix is just as well read by the product.
inline bool replace_product(Program& program, int number, PackedMatMul packed, bool alone = true) {
  const Graph::Node& n = program.node(number);
  std::vector<ValueId> operands{n.inputs[0]};
  if (n.inputs.size() > 2 && n.inputs[2] >= 0) operands.push_back(n.inputs[2]);
  // Takes the sum that reads v into the product: one with a constant of columns, and one with a value of v's
  // extents.
  const auto take = [&](const Graph::Node& reader, ValueId v) {
    if (!is_sum(reader)) return false;
    const ValueId z = reader.inputs[reader.inputs[0] == v ? 1 : 0];
    const AnyTensor* c = constant_floats(program, z);
    if (c != nullptr && !packed.bias && c->size() == packed.n && c->rank() <= program.info(v).dims.rank() &&
        c->rank() > 0 && c->extents().back() == packed.n) {
      packed.bias = columns(*c);
      return true;
    }
    if (operands.size() > 1 || !program.info(v).dims.same(program.info(z).dims)) return false;
    operands.push_back(z);
    packed.beta = 1;
    return true;
  };
  std::string with;
  int last = number;
  for (bool ends = false; !ends;) {
    const ValueId y_id = program.node(last).outputs[0];
    const int next = program.only_reader(y_id);
    if (next < 0 || !fits(program, next)) break;
    const auto bounds = bounds_of(program, program.node(next), y_id);
    if (!bounds && !take(program.node(next), y_id)) break;
    if (bounds) packed.bounds = *bounds;
    ends = bounds.has_value();
    last = next;
    with += concat(with.empty() ? "fused with " : ", ", program.label(next));
  }
  if (last == number && !alone) return false;
  const std::string_view how = packed.file         ? "read in its file, packed for many rows"
                               : packed.b_row == 0 ? "packed"
                                                   : "for few rows";
  program.applied(number, how, with.empty() ? "" : ", ", with);
  program.replace(last, AnyOperator::make(packed), std::move(operands));
  return true;
}

/// Packs a matrix B that keeps its bits.
inline void pack_narrow_matrix(PackedMatMul& packed, const kernels::NarrowSource& s) {
  const kernels::NarrowSize size = kernels::narrow_size(s);
  packed.k = s.k, packed.n = s.n;
  packed.b = Storage::make<std::byte>(size.data);
  packed.zeros = Storage::make<uint8_t>(size.zeros);
  packed.narrow = kernels::narrow_pack(s, static_cast<std::byte*>(packed.b.data()),
                                       static_cast<uint8_t*>(packed.zeros.data()));
}

/// Packs the constant matrix of a product if that pays. `packed` already has the factors and the
/// transpositions of A and C.
inline void pack_product(Program& program, int number, PackedMatMul packed, bool trans_b) {
  const Graph::Node& n = program.node(number);
  const AnyTensor* b = stored_floats(program, n.inputs[1]);
  if (b == nullptr) return program.skipped(number, "B is not constant");
  if (b->rank() != 2 || b->size() == 0) return program.skipped(number, "B is no matrix");
  if (!has_rows(program, number)) return;
  const Dims& y = program.info(n.outputs[0]).dims;
  const bool wide = compute_dtype(b->dtype()) == b->dtype();
  packed.element = b->dtype();
  const int64_t k = b->extents()[trans_b ? 1 : 0], columns = b->extents()[trans_b ? 0 : 1];
  packed.k = k, packed.n = columns;
  const Dim rows = y.product(0, y.rank() - 1);
  const bool few = wide && rows.known() && rows.value() <= few_rows;
  constexpr int64_t large = int64_t{1} << 18;  // bytes worth leaving where they are
  const bool in_file =
      wide && (few || !rows.known()) && b->bytes() >= large && b->storage().owner<FilePart>() != nullptr;
  if (few || in_file) {
    packed.b = b->storage();
    packed.b_row = trans_b ? 1 : columns, packed.b_col = trans_b ? k : 1;
    if (in_file) packed.file = std::make_shared<FileMatrix>(b->storage());
    if (!replace_product(program, number, std::move(packed), in_file))
      program.skipped(number, "A has ", rows.value(), " rows, too few to gain");
    return;
  }
  if (!wide)
    pack_narrow_matrix(packed,
                       {.type = b->dtype(), .k = k, .n = columns, .codes = b->data(), .transposed = trans_b});
  else
    dispatch<float, double>(b->dtype(), [&]<class C>() {
      kernels::GemmArgs<C> args;
      args.k = k;
      args.n = columns;
      args.b = static_cast<const C*>(b->data());
      args.b_row = trans_b ? 1 : args.n;
      args.b_col = trans_b ? args.k : 1;
      packed.b = packed_b(args, b->storage());
    });
  replace_product(program, number, std::move(packed));
}

}  // namespace detail

/// Calls pack(number, packed, trans_b) for each MatMul and Gemm; `packed` has the node's attributes.
template <class Pack>
void for_each_product(Program& program, Pack pack) {
  program.for_each<op::MatMul>([&](int n, const op::MatMul&) { pack(n, PackedMatMul{}, false); });
  program.for_each<op::Gemm>([&](int n, const op::Gemm& g) {
    pack(n, PackedMatMul{.alpha = g.alpha, .beta = g.beta, .trans_a = g.transA != 0, .gemm = true},
         g.transB != 0);
  });
}

inline void apply_pack_matmul(Program& program) {
  for_each_product(program, [&](int n, PackedMatMul packed, bool trans_b) {
    detail::pack_product(program, n, std::move(packed), trans_b);
  });
}

inline constexpr Pass pack_matmul{"pack_matmul", apply_pack_matmul};

}  // namespace tenon::passes
