// How much working memory a call takes from its thread's stack.
#pragma once

#include <exception>
#include <thread>

#include "tenon/base/scratch.hpp"

namespace tenon::TENON_ABI {

/// A number of bytes that suffices for all Scratch of f(): the size of the stack of a thread on which f
/// alone runs. Exceptions of f propagate.
template <class F>
std::size_t scratch_peak(F f) {
  std::size_t bytes = 0;
  std::exception_ptr error;
  std::thread([&] {
    try {
      f();
      bytes = scratch_size();
    } catch (...) {
      error = std::current_exception();
    }
  }).join();
  if (error) std::rethrow_exception(error);
  return bytes;
}

}  // namespace tenon::TENON_ABI
