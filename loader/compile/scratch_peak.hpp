// How much working memory a call takes from its thread's stack.
#pragma once

#include <exception>
#include <thread>

#include "tenon/base/scratch.hpp"

namespace tenon::TENON_ABI {

namespace peak_detail {

// An explicit instantiation may name private members, so the stack itself needs no interface for this.
template <auto member, class Tag>
struct Shown {
  friend constexpr auto shown(Tag) { return member; }
};
struct Count {
  friend constexpr auto shown(Count);
};
struct Blocks {
  friend constexpr auto shown(Blocks);
};
template struct Shown<&detail::ScratchStack::count_, Count>;
template struct Shown<&detail::ScratchStack::blocks_, Blocks>;

}  // namespace peak_detail

/// A number of bytes that suffices for all Scratch of f(): the size of the blocks of the thread on which f
/// runs alone. Exceptions of f propagate.
template <class F>
std::size_t scratch_peak(F f) {
  std::size_t bytes = 0;
  std::exception_ptr error;
  std::thread([&] {
    try {
      f();
      const detail::ScratchStack& stack = detail::scratch_stack();
      for (int k = 0; k < stack.*shown(peak_detail::Count()); ++k)
        bytes += (stack.*shown(peak_detail::Blocks()))[k].size;
    } catch (...) {
      error = std::current_exception();
    }
  }).join();
  if (error) std::rethrow_exception(error);
  return bytes;
}

}  // namespace tenon::TENON_ABI
