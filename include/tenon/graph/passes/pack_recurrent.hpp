// pack_recurrent: lays out the constant W of an RNN, GRU or LSTM for the kernel.
#pragma once

#include "tenon/base/lasting.hpp"
#include "tenon/graph/fused/packed_recurrent.hpp"
#include "tenon/graph/passes/packed.hpp"
#include "tenon/graph/passes/shared_layout.hpp"
#include "tenon/op/rnn/gru.hpp"
#include "tenon/op/rnn/lstm.hpp"
#include "tenon/op/rnn/rnn.hpp"

namespace tenon::TENON_ABI::passes {

namespace detail {

template <class Op>
void pack_recurrent(Program& program) {
  program.for_each<Op>([&](int number, const Op& op) {
    const Graph::Node& n = program.node(number);
    const AnyTensor* w = constant_floats(program, n.inputs[1]);
    if (w == nullptr) return program.skipped(number, "W is not constant");
    if (!fits(program, number)) return program.skipped(number, "X is not known, or it does not fit");
    if (w->rank() != 3 || w->size() == 0) return program.skipped(number, "W is empty");
    const Dims& x = program.info(n.inputs[0]).dims;
    if (const Dim rows = x.rank() == 3 ? x.product(0, 2) : Dim(); rows.known() && rows.value() <= few_rows)
      return program.skipped(number, "X has ", rows.value(), " rows, too few to gain");
    PackedRecurrent<Op> packed{.op = op, .element = w->dtype(), .extents = Dims(w->extents())};
    visit_types<float, double>(compute_dtype(w->dtype()), [&]<class C>() {
      Scratch scratch;
      kernels::GemmArgs<C> args;
      args.n = w->extents()[1];
      args.k = w->extents()[2];
      args.b = op::numbers<C>(scratch, w->view());
      args.b_row = 1;
      args.b_col = args.k;
      const int64_t directions = w->extents()[0], size = kernels::packed_b_size<C>(args.k, args.n);
      const auto add = [&](ConstantKey& key) { add_tensor(key, w); };
      packed.w = shared_weights(program, "recurrent", add, [&] {
        Storage all = Storage::make<C>(directions * size, lasting_allocator());
        for (int64_t d = 0; d < directions; ++d, args.b += args.n * args.k)
          kernels::pack_b(args, all.as<C>() + d * size);
        return all;
      });
    });
    program.applied(number, "packed");
    std::vector<ValueId> operands = n.inputs;
    operands[1] = -1;
    program.replace(number, AnyOperator::make(packed), std::move(operands));
  });
}

}  // namespace detail

inline void apply_pack_recurrent(Program& program) {
  detail::pack_recurrent<op::GRU>(program);
  detail::pack_recurrent<op::LSTM>(program);
  detail::pack_recurrent<op::RNN>(program);
}

inline constexpr Pass pack_recurrent{"pack_recurrent", apply_pack_recurrent};

}  // namespace tenon::TENON_ABI::passes
