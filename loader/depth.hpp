// How many bodies and calls stand within each other: each takes stack.
#pragma once

#include "tenon/base/abi.hpp"

namespace tenon::TENON_ABI::loader {

/// One level more, for as long as it lives; `refuse`, which throws, is called where there are `most` already.
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
