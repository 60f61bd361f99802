// A transport between threads of one process.
#pragma once

#include <deque>
#include <memory>
#include <optional>

#include "tenon/base/platform/condition.hpp"
#include "tenon/devices/transport.hpp"

namespace tenon::TENON_ABI::devices {

/// The transports of `count` ranks, one for each thread. They may outlive each other. Error{invalid_argument}
/// for fewer than one rank.
///
///     auto ranks = thread_transports(2);
///     std::thread other([&] { work(*ranks[1]); });
///     work(*ranks[0]);
[[nodiscard]] std::vector<std::shared_ptr<Transport>> thread_transports(int count);

namespace detail {

class ThreadTransport final : public Transport {
 public:
  /// Messages under way, and the end of all of them.
  class Hub {
   public:
    explicit Hub(int count) : count_(static_cast<std::size_t>(count)), queues_(count_ * count_) {}
    int count() const { return static_cast<int>(count_); }

    void put(int from, int to, std::span<const std::byte> bytes) {
      std::vector<std::byte> message(bytes.begin(), bytes.end());
      const tenon::detail::LockGuard lock(mutex_);
      check();
      queue(from, to).push_back(std::move(message));
      changed_.notify_all();
    }
    std::vector<std::byte> take(int from, int to) {
      tenon::detail::UniqueLock lock(mutex_);
      std::deque<std::vector<std::byte>>& waiting = queue(from, to);
      changed_.wait(lock, [&] { return ended_ || !waiting.empty(); });
      check();
      std::vector<std::byte> message = std::move(waiting.front());
      waiting.pop_front();
      return message;
    }
    void end(std::string_view reason) {
      const tenon::detail::LockGuard lock(mutex_);
      if (!ended_) ended_ = std::string(reason);
      changed_.notify_all();
    }

   private:
    void check() const {
      if (ended_) raise(ErrorCode::cancelled, "devices", *ended_);
    }
    std::deque<std::vector<std::byte>>& queue(int from, int to) {
      return queues_[static_cast<std::size_t>(from) * count_ + static_cast<std::size_t>(to)];
    }

    std::size_t count_;
    tenon::detail::Mutex mutex_;
    tenon::detail::Condition changed_;
    std::vector<std::deque<std::vector<std::byte>>> queues_;
    std::optional<std::string> ended_;
  };

  ThreadTransport(std::shared_ptr<Hub> hub, int rank) : hub_(std::move(hub)), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return hub_->count(); }
  void send(int to, std::span<const std::byte> bytes) override {
    expect_rank(to);
    hub_->put(rank_, to, bytes);
    count_sent(bytes.size());
  }
  void receive(int from, std::span<std::byte> bytes) override {
    expect_rank(from);
    const std::vector<std::byte> message = hub_->take(from, rank_);
    if (message.size() != bytes.size())
      raise(ErrorCode::invalid_argument, "devices", "rank ", rank_, " expects ", bytes.size(),
            " bytes of rank ", from, ", which has sent ", message.size());
    if (!bytes.empty()) std::memcpy(bytes.data(), message.data(), bytes.size());
  }
  void abort(std::string_view reason) override { hub_->end(reason); }

 private:
  std::shared_ptr<Hub> hub_;
  int rank_;
};

}  // namespace detail

inline std::vector<std::shared_ptr<Transport>> thread_transports(int count) {
  if (count < 1) raise(ErrorCode::invalid_argument, "devices", "a computation of ", count, " ranks");
  const auto hub = std::make_shared<detail::ThreadTransport::Hub>(count);
  std::vector<std::shared_ptr<Transport>> all;
  for (int rank = 0; rank < count; ++rank)
    all.push_back(std::make_shared<detail::ThreadTransport>(hub, rank));
  return all;
}

}  // namespace tenon::TENON_ABI::devices
