// Requests to stop. libc++ before 20 and Apple's standard library have no std::stop_token.
#pragma once

#include <version>

#include "tenon/base/version.hpp"

#if defined(__cpp_lib_jthread)
#include <stop_token>
#else
#include <atomic>
#include <memory>
#endif

namespace tenon::TENON_ABI {

#if defined(__cpp_lib_jthread)
using StopToken = std::stop_token;
using StopSource = std::stop_source;
#else
/// The part of std::stop_token that Tenon uses.
class StopToken {
 public:
  StopToken() = default;
  bool stop_possible() const noexcept { return requested_ != nullptr; }
  bool stop_requested() const noexcept {
    return requested_ != nullptr && requested_->load(std::memory_order_acquire);
  }

 private:
  friend class StopSource;
  explicit StopToken(std::shared_ptr<const std::atomic<bool>> requested) : requested_(std::move(requested)) {}
  std::shared_ptr<const std::atomic<bool>> requested_;
};

/// The part of std::stop_source that StopToken needs.
class StopSource {
 public:
  StopSource() : requested_(std::make_shared<std::atomic<bool>>(false)) {}
  StopToken get_token() const noexcept { return StopToken(requested_); }
  bool stop_requested() const noexcept { return requested_->load(std::memory_order_acquire); }
  /// Whether this call is the first request.
  bool request_stop() noexcept { return !requested_->exchange(true, std::memory_order_acq_rel); }

 private:
  std::shared_ptr<std::atomic<bool>> requested_;
};
#endif

}  // namespace tenon::TENON_ABI
