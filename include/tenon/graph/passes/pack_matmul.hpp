// pack_matmul: a MatMul or Gemm whose right side is a constant matrix, and a following bias per column,
// residual and Relu or Clip become one node, whose matrix is laid out for the kernel. Halves stay halves. For
// a few rows a matrix in memory stays as it is.
#pragma once

#include <atomic>
#include <memory>

#include "tenon/base/lasting.hpp"
#include "tenon/base/platform/mutex.hpp"
#include "tenon/graph/fused/packed_mat_mul.hpp"
#include "tenon/graph/passes/pack_matrix.hpp"
#include "tenon/graph/passes/packed.hpp"
#include "tenon/op/tensor/transpose.hpp"

namespace tenon::TENON_ABI::passes {

namespace detail {

/// The B of `args` as pack_b writes it. If B is mapped from a file, its pages are released after copying.
template <class C>
Storage packed_b(const kernels::GemmArgs<C>& args, const Storage& b) {
  Storage packed = Storage::make<C>(kernels::packed_b_size<C>(args.k, args.n), lasting_allocator());
  const auto* part = b.file_part();
  const auto forget = [&](const C* from, int64_t count) {
    if (part != nullptr) tenon::detail::forget_pages(from, static_cast<std::size_t>(count) * sizeof(C));
  };
  // In memory order: blocks of rows or, if the elements of a column are adjacent, of the columns of some
  // panels.
  const bool columns = args.b_col != 1;
  const int64_t step = columns ? 8 * kernels::packed_b_size<C>(1, 1) : args.n;
  const int64_t rows = kernels::packed_b_rows<C>(args.k);
  kernels::GemmArgs<C> block = args;
  for (int64_t j = 0; j < args.n; j += block.n) {
    block.n = std::min(step, args.n - j);
    for (int64_t p = 0; p < args.k; p += block.k) {
      block.k = std::min(rows, args.k - p);
      block.b = args.b + p * args.b_row + j * args.b_col;
      kernels::pack_b(block, packed.as<C>() + kernels::packed_b_size<C>(p, args.n) + j * block.k);
      if (!columns) forget(block.b, block.k * args.n);
    }
    if (columns) forget(args.b + j * args.b_col, block.n * args.b_col);
  }
  if (part != nullptr) part->forget();
  return packed;
}

/// The matrix B, in a file, of products with an unknown number of rows. The first product of more than a few
/// rows packs it.
class FileMatrix {
 public:
  explicit FileMatrix(Storage part) : part_(std::move(part)) {}

  /// The B of `args` packed.
  template <class C>
  const C* packed(const kernels::GemmArgs<C>& args) {
    const void* data = data_.load(std::memory_order_acquire);
    if (data == nullptr) {
      const tenon::detail::LockGuard lock(mutex_);
      if (!packed_) data_.store((packed_ = packed_b(args, part_)).data(), std::memory_order_release);
      data = packed_.data();
    }
    return static_cast<const C*>(data);
  }

 private:
  const Storage part_;
  tenon::detail::Mutex mutex_;
  std::atomic<const void*> data_{nullptr};
  Storage packed_;
};

}  // namespace detail

/// PackedMatMul whose matrix stays unpacked in a file until a product needs it packed.
struct FileMatMul {
  PackedMatMul product{};
  std::shared_ptr<detail::FileMatrix> file{};

  static constexpr op::Spec spec = PackedMatMul::spec;

  constexpr void infer(op::Infer& i) const { product.infer(i); }
  template <class T>
  void compute(TensorView<const T> a, TensorView<const T> c, TensorView<T> y) const {
    product.compute_with(a, c, y, [&](auto& args) {
      if constexpr (std::is_same_v<T, compute_t<T>>)
        if (args.m > few_rows) args.packed_b = file->packed(args);
    });
  }
  /// The same product with its matrix packed now.
  PackedMatMul packed() const {
    PackedMatMul now = product;
    visit_types<float, double>(product.element, [&]<class C>() {
      kernels::GemmArgs<C> args;
      args.n = product.n;
      args.k = product.k;
      args.b = static_cast<const C*>(product.b.data());
      args.b_row = product.b_row;
      args.b_col = product.b_col;
      const auto bytes = static_cast<std::size_t>(kernels::packed_b_size<C>(args.k, args.n)) * sizeof(C);
      now.b = Storage::keep(static_cast<const void*>(file->packed(args)), bytes, file);
    });
    now.b_row = now.b_col = 0;
    return now;
  }
};

namespace detail {

/// Bytes from which on a matrix is not copied before a product needs it in another layout.
inline constexpr int64_t large_matrix = int64_t{1} << 18;

/// Whether a node transposes its operand if that is a matrix.
inline bool transposes_matrix(const Graph::Node& n) {
  const auto* transpose = n.op.as<op::Transpose>();
  return transpose != nullptr && transpose->source(0, 2) == 1;
}

/// The matrix of which a node makes `b` by transposing it, after which `turned` is its opposite; or `b`
/// itself.
inline ValueId before_transpose(const Program& program, ValueId b, bool& turned) {
  const Graph::Node* const n = made_by<op::Transpose>(program, b);
  if (n == nullptr || !transposes_matrix(*n)) return b;
  turned = !turned;
  return n->inputs[0];
}

/// Whether a product's left side is not a vector. Reports it if it is.
inline bool has_rows(const Program& program, int number) {
  const Dims& y = program.info(program.node(number).outputs[0]).dims;
  if (!y.ranked()) program.skipped(number, "the rank of A is not known, or it does not fit");
  else if (y.rank() < 2) program.skipped(number, "A is a vector");
  return y.ranked() && y.rank() >= 2;
}

/// Replaces a product, and the following nodes that fuse into it, with `packed`, which lacks only bias,
/// residual and bounds. False if there are none, and the product might as well read the matrix itself.
inline bool replace_product(Program& program, int number, PackedMatMul packed, bool alone = true,
                            std::shared_ptr<FileMatrix> file = {}) {
  const Graph::Node& n = program.node(number);
  std::vector<ValueId> operands{n.inputs[0]};
  if (n.inputs.size() > 2 && n.inputs[2] >= 0) operands.push_back(n.inputs[2]);
  // Fuses the sum that reads v into the product: one with a constant per column, and one with a value of v's
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
    with += str_cat(with.empty() ? "fused with " : ", ", program.label(next));
  }
  if (last == number && !alone) return false;
  const std::string_view how = file                ? "packed by its first run of many rows"
                               : packed.b_row == 0 ? "packed"
                                                   : "for few rows";
  program.applied(number, how, with.empty() ? "" : ", ", with);
  program.replace(last, file ? AnyOperator::make(FileMatMul{packed, file}) : AnyOperator::make(packed),
                  std::move(operands), number);
  return true;
}

/// The matrix, in a file, of a product that reads it unpacked. Programs of a session that read the same part
/// of the file share it, and with it the packed matrix.
inline std::shared_ptr<FileMatrix> file_matrix(const Program& program, const PackedMatMul& packed) {
  const auto add = [&](ConstantKey& key) {
    key.add(packed.element, packed.k, packed.n, packed.b_row, packed.b_col, packed.b.data());
  };
  return shared_layout<FileMatrix>(program, "file", add,
                                   [&] { return std::make_shared<FileMatrix>(packed.b); });
}

/// Packs the constant matrix of a product if that pays. `packed` already has the factors and the
/// transpositions of A and C. The matrix is `b_id`, (N,K) if trans_b.
inline void pack_product(Program& program, int number, PackedMatMul packed, ValueId b_id, bool trans_b) {
  const Graph::Node& n = program.node(number);
  const AnyTensor* b = stored_floats(program, b_id);
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
  const bool in_file =
      wide && !rows.known() && b->bytes() >= large_matrix && b->storage().file_part() != nullptr;
  if (few || in_file) {
    packed.b = b->storage();
    packed.b_row = trans_b ? 1 : columns, packed.b_col = trans_b ? k : 1;
    auto file = in_file ? file_matrix(program, packed) : nullptr;
    if (!replace_product(program, number, std::move(packed), in_file, std::move(file)))
      program.skipped(number, "A has ", rows.value(), " rows, too few to gain");
    return;
  }
  if (!wide)
    pack_narrow_matrix(program, packed,
                       {.type = b->dtype(), .k = k, .n = columns, .codes = b->data(), .transposed = trans_b},
                       {b});
  else
    visit_types<float, double>(b->dtype(), [&]<class C>() {
      kernels::GemmArgs<C> args;
      args.k = k;
      args.n = columns;
      args.b = static_cast<const C*>(b->data());
      args.b_row = trans_b ? 1 : args.n;
      args.b_col = trans_b ? args.k : 1;
      const auto make = [&] {
        return std::make_shared<PackedMatrix>(PackedMatrix{packed_b(args, b->storage())});
      };
      const auto add = [&](ConstantKey& key) { key.add(trans_b), add_tensor(key, b); };
      use_matrix(packed, shared_layout<PackedMatrix>(program, "wide", add, make));
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
    const ValueId b = detail::before_transpose(program, program.node(n).inputs[1], trans_b);
    detail::pack_product(program, n, std::move(packed), b, trans_b);
  });
}

/// A large matrix that a product reads transposed is not transposed in memory.
inline constexpr Pass pack_matmul{
    "pack_matmul", apply_pack_matmul, [](const Program& program, const Graph::Node& n) {
      const AnyTensor* b = detail::transposes_matrix(n) ? stored_floats(program, n.inputs[0]) : nullptr;
      if (b == nullptr || b->rank() != 2 || b->bytes() < detail::large_matrix) return false;
      const std::span<const int> readers = program.readers(n.outputs[0]);  // none while the program is made
      return readers.empty() || std::ranges::any_of(readers, [&](int r) {
               const Graph::Node& by = program.node(r);
               return (by.op.as<op::MatMul>() || by.op.as<op::Gemm>()) && by.inputs[1] == n.outputs[0];
             });
    }};

}  // namespace tenon::TENON_ABI::passes
