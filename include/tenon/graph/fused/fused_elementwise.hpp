// FusedElementwise: connected elementwise nodes, run a tile at a time.
#pragma once

#include "tenon/base/costs.hpp"
#include "tenon/base/parallel.hpp"
#include "tenon/base/platform/compiler.hpp"
#include "tenon/base/scratch.hpp"
#include "tenon/kernels/elementwise/steps.hpp"
#include "tenon/op/framework/registry.hpp"
#include "tenon/simd/copy.hpp"
#include "tenon/simd/features.hpp"

namespace tenon::TENON_ABI::passes {

/// y = the last of a list of operators, each of which reads the node's operands and the results of earlier
/// ones. Operands have y's extents, or are numbers broadcast to y.
struct FusedElementwise {
  /// A function of a chain; `operand` is the place of its array among the step's inputs, or 0.
  struct Link {
    kernels::ChainStep step;
    std::size_t operand = 0;
  };
  struct Step {
    AnyOperator op;
    std::vector<int> inputs;  ///< operand k of the node is k, the result of step s is ~s, none is `absent`
    int buffer = 0;           ///< where the result's tile lies; past the end: in y
    std::vector<Link> chain;  ///< if not empty, what the step does in place of `op`, from its first input on
  };
  static constexpr int absent = std::numeric_limits<int>::max();

  std::vector<Step> steps;
  std::vector<bool> whole;           ///< for each operand: whether it has y's extents
  std::vector<DType> buffers;        ///< the element type of each
  DType element = DType::undefined;  ///< of y

  static constexpr op::Spec spec = [] {
    op::Spec s = op::own_spec("FusedElementwise",
                              {{.name = "x", .type = "T1", .arity = op::variadic, .heterogeneous = true}},
                              {{"y", "T2"}}, {{"T1", types::all}, {"T2", types::all}});
    s.memory = op::Memory::elementwise;
    return s;
  }();

  constexpr void infer(op::Infer& i) const {
    Dims y;
    for (int k = 0; k < i.inputs(); ++k) {
      if (!whole[static_cast<std::size_t>(k)]) {
        if (!i.expect_one(k)) return;
      } else {
        y = y.ranked() ? i.unify(y, i.dims(k), "extents of operands") : i.dims(k);
      }
    }
    i.out(0, element, y);
  }
  void compute(op::Context& context, std::span<const AnyView> x, AnyOut y) const {
    const bool far = y.size() >= far_size && !simd::prefetches_enough();
    const int64_t length = far ? tile / 2 : tile, tiles = (y.size() + length - 1) / length;
    const Tiles to(y, length);
    // Tiles of y are then copied past the caches from two buffers, unless y overwrites an operand, whose
    // lines are cached.
    const bool past_caches =
        far && packed_bytes(y.size(), element) >= simd::beyond_caches &&
        std::ranges::none_of(x, [&](const AnyView& operand) { return operand.data() == y.data(); });
    parallel_for(tiles, std::clamp<int64_t>(tiles / 8, 1, 32), [&](int64_t first, int64_t end) {
      Scratch scratch;
      const std::size_t count = buffers.size();
      std::byte* const memory =
          scratch.take<std::byte>(static_cast<int64_t>(count + (past_caches ? 2 : 0)) * tile_bytes);
      const auto waiting = [&](int64_t t) {
        return memory + (static_cast<int64_t>(count) + t % 2) * tile_bytes;
      };
      // The operands, the values in the buffers, and y. Borrowing values own nothing that must be freed.
      auto* const values = reinterpret_cast<Value*>(
          scratch.take<std::byte>(static_cast<int64_t>((x.size() + count + 1) * sizeof(Value))));
      Value* const results = values + x.size();
      Tiles* const from = scratch.take<Tiles>(static_cast<int64_t>(x.size()));
      for (std::size_t k = 0; k < x.size(); ++k) {
        from[k] = Tiles(x[k], whole[k] ? length : 0);
        if (!whole[k]) set(values + k, x[k].dtype(), x[k].data(), {});
      }
      int64_t made = 0;  // the tile size of the current values
      for (int64_t t = first; t < end; ++t) {
        const int64_t size = std::min(length, y.size() - t * length);
        std::byte* const result = past_caches ? waiting(t) : to.at(t);
        if (size != made) {
          for (std::size_t k = 0; k < x.size(); ++k)
            if (whole[k]) set(values + k, x[k].dtype(), from[k].at(t), {size});
          for (std::size_t b = 0; b < count; ++b)
            set(results + b, buffers[b], memory + static_cast<int64_t>(b) * tile_bytes, {size});
          set(results + count, element, result, {size});
          made = size;
        } else {
          for (std::size_t k = 0; k < x.size(); ++k)
            if (whole[k]) values[k].tensor().borrow(from[k].at(t));
          results[count].tensor().borrow(result);
        }
        // Overlaps memory traffic with computing: each turn transfers a share of the adjacent tiles.
        const auto work_ahead = [&](std::size_t turn, std::size_t turn_end) {
          if (!far) return;
          if (past_caches && t > first) {
            const auto [begin, stop] = share(to.bytes, turn, turn_end);
            simd::copy_beyond_caches(to.at(t - 1) + begin, waiting(t - 1) + begin,
                                     static_cast<std::size_t>(stop - begin));
          }
          if (t + 1 == end || (t + 2) * length > y.size()) return;
          for (std::size_t k = 0; k < x.size(); ++k) fetch(from[k], t + 1, turn, turn_end);
          if (!past_caches) fetch(to, t + 1, turn, turn_end);
        };
        for (std::size_t s = 0; s < steps.size(); ++s) {
          const auto& [op, inputs, buffer, chain] = steps[s];
          const Value* in[max_inputs];
          for (std::size_t k = 0; k < inputs.size(); ++k)
            in[k] = inputs[k] == absent ? nullptr
                    : inputs[k] >= 0    ? values + inputs[k]
                                        : results + steps[static_cast<std::size_t>(~inputs[k])].buffer;
          Value* const out[] = {results + buffer};
          if (chain.empty()) {
            op.call()(context, std::span(in, inputs.size()), out);
            work_ahead(s * turns, (s + 1) * turns);
            continue;
          }
          const std::size_t parts = far ? turns : 1;
          const int64_t part = length / static_cast<int64_t>(parts);
          for (std::size_t turn = 0; turn < parts; ++turn) {
            const int64_t at = part * static_cast<int64_t>(turn);
            run_chain(chain, in, *out[0], at, std::clamp<int64_t>(size - at, 0, part));
            work_ahead(s * turns + turn, s * turns + turn + 1);
          }
        }
      }
      if (past_caches) {
        const int64_t size = std::min(length, y.size() - (end - 1) * length);
        simd::copy_beyond_caches(to.at(end - 1), waiting(end - 1),
                                 static_cast<std::size_t>(packed_bytes(size, element)));
        simd::end_copies_beyond_caches();
      }
    });
  }

  static constexpr std::size_t max_inputs = 8, max_links = 16;
  // A result's tile stays in the first-level cache for the next step, and the calls per tile cost little
  // compared with its elements.
  static constexpr int64_t tile_bytes = cache_bytes::l1 / 2, tile = tile_bytes / 4;
  // Results of at least this many elements, and their operands, mostly lie in memory. For data in a shared
  // cache, the hardware prefetcher does better. Tiles are then half as long, because memory accepts only a
  // limited number of requests at once.
  static constexpr int64_t far_size = cache_bytes::l3 / 2 / int64_t{sizeof(float)};

 private:
  /// An array in tiles; all at the same address for an operand that is broadcast to y.
  struct Tiles {
    std::byte* data;
    int64_t bytes;  ///< of a tile
    template <class View>
    Tiles(const View& v, int64_t length)
        : data(static_cast<std::byte*>(const_cast<void*>(static_cast<const void*>(v.data())))),
          bytes(packed_bytes(length, v.dtype())) {}
    std::byte* at(int64_t t) const { return data + t * bytes; }
  };
  // The parts in which a chain processes a tile; other steps count as that many.
  static constexpr std::size_t turns = 8;

  /// The share of a tile for a range of all steps' turns, in whole cache lines.
  std::pair<int64_t, int64_t> share(int64_t bytes, std::size_t turn, std::size_t turn_end) const {
    const auto lines = static_cast<std::size_t>(bytes / 64), count = steps.size() * turns;
    return {static_cast<int64_t>(lines * turn / count * 64),
            static_cast<int64_t>(lines * turn_end / count * 64)};
  }
  /// Prefetches a share of a tile. Inlined, because GCC would drop the call as one without effect.
  TENON_ALWAYS_INLINE void fetch(const Tiles& of, int64_t t, std::size_t turn, std::size_t turn_end) const {
    const auto [begin, end] = share(of.bytes, turn, turn_end);
    for (int64_t byte = begin; byte < end; byte += 64) TENON_PREFETCH(of.at(t) + byte, 0, 2);
  }
  /// Computes elements [at, at + size) of a chain's result.
  static void run_chain(const std::vector<Link>& chain, const Value* const* in, Value& out, int64_t at,
                        int64_t size) {
    const auto floats = [&](std::size_t k) { return static_cast<const float*>(in[k]->tensor().data()) + at; };
    kernels::ChainStep links[max_links];
    for (std::size_t l = 0; l < chain.size(); ++l) {
      links[l] = chain[l].step;
      if (chain[l].operand != 0) links[l].operand = floats(chain[l].operand);
    }
    kernels::run_chain({links, chain.size()}, floats(0), static_cast<float*>(out.tensor().out().data()) + at,
                       size);
  }
  static void set(Value* value, DType type, const void* data, const Extents& extents) {
    const auto bytes = static_cast<std::size_t>(packed_bytes(extent_product(extents), type));
    ::new (static_cast<void*>(value))
        Value(AnyTensor(type, extents, Storage::borrow(const_cast<void*>(data), bytes)));
  }
};

}  // namespace tenon::TENON_ABI::passes
