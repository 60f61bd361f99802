// The nesting depth of bodies and calls; each level takes stack.
#pragma once

#include "tenon/base/abi.hpp"

namespace tenon::TENON_ABI::loader {

/// Counts one level while it lives; calls `refuse`, which throws, if there are `most` levels already.
class Depth {
 public:
  template <class F>
  Depth(int& depth, int most, F refuse) : depth_(depth) {
    if (depth >= most) refuse("bodies and calls within each other are too many");
    ++depth;
  }
  Depth(const Depth&) = delete;
  Depth& operator=(const Depth&) = delete;
  ~Depth() { --depth_; }

 private:
  int& depth_;
};

}  // namespace tenon::TENON_ABI::loader
