// Transport: how the ranks of one computation exchange bytes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "tenon/base/error.hpp"
#include "tenon/base/types.hpp"

namespace tenon::TENON_ABI::devices {

/// Ranks that take part in a collective call, each once, in the order in which their parts lie.
using Ranks = std::vector<int64_t>;

namespace detail {

/// to[i] += from[i]. Narrow floats are summed in float and rounded; integers wrap.
inline void add_elements(DType type, void* to, const void* from, std::size_t bytes) {
  const bool known = visit_types(
      TypeList<float, double, float16, bfloat16, int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t,
               int64_t, uint64_t>{},
      type, [&]<class T>() {
        T* const y = static_cast<T*>(to);
        const T* const x = static_cast<const T*>(from);
        for (std::size_t i = 0; i < bytes / sizeof(T); ++i) {
          if constexpr (std::is_integral_v<T>)
            y[i] = static_cast<T>(static_cast<uint64_t>(y[i]) + static_cast<uint64_t>(x[i]));
          else y[i] = static_cast<T>(static_cast<compute_t<T>>(y[i]) + static_cast<compute_t<T>>(x[i]));
        }
      });
  if (!known)
    raise(ErrorCode::invalid_type, "devices", "there are no sums of tensor(", name_of(type), ") over ranks");
}

}  // namespace detail

/// The connection of one rank to the others. All ranks of a collective call make it, and calls that concern
/// the same ranks in the same order. One thread at a time uses a rank's transport.
///
/// The collective functions here, but for the tree of broadcast, are rings of messages, in which each rank
/// sends to the next: an all-reduce of N bytes sends 2 (p - 1) / p N bytes from each of p ranks. A sum is
/// computed once, in the order of the ring, and all ranks get its bits.
class Transport {
 public:
  virtual ~Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  /// This rank, from 0 on.
  virtual int rank() const = 0;
  /// The number of ranks.
  virtual int size() const = 0;
  /// Sends a message. The bytes may be overwritten afterwards. Does not wait for the receiver.
  virtual void send(int to, std::span<const std::byte> bytes) = 0;
  /// Waits for the next message of a rank, which has as many bytes.
  virtual void receive(int from, std::span<std::byte> bytes) = 0;
  /// Ends all calls that wait, on every rank, and all later ones, with Error{cancelled} and this reason.
  virtual void abort(std::string_view reason) = 0;

  /// Bytes that this rank has sent so far.
  int64_t bytes_sent() const { return sent_.load(std::memory_order_relaxed); }

  /// Replaces the elements by their sums over the ranks.
  virtual void all_reduce(const Ranks& ranks, DType type, std::span<std::byte> elements) {
    detail::add_elements(type, nullptr, nullptr, 0);  // or there are no sums of the type
    const std::vector<std::size_t> sizes = even_blocks(ranks.size(), type, elements.size());
    reduce_scatter(ranks, type, sizes, elements);
    all_gather(ranks, sizes, elements);
  }
  /// The elements are one block for each of the ranks. Replaces this rank's block by its sum over the ranks;
  /// the other blocks are overwritten.
  virtual void reduce_scatter(const Ranks& ranks, DType type, std::span<const std::size_t> block_bytes,
                              std::span<std::byte> elements) {
    const Ring ring(ranks, rank(), block_bytes, elements);
    std::vector<std::byte> got;
    for (std::size_t step = 1; step < ranks.size(); ++step) {
      send(ring.next, ring.block(step));
      const std::span<std::byte> own = ring.block(step + 1);
      got.resize(own.size());
      receive(ring.previous, got);
      detail::add_elements(type, own.data(), got.data(), own.size());
    }
  }
  /// `all` is one block for each of the ranks. Fills in the others' blocks; this rank's is there.
  virtual void all_gather(const Ranks& ranks, std::span<const std::size_t> block_bytes,
                          std::span<std::byte> all) {
    const Ring ring(ranks, rank(), block_bytes, all);
    for (std::size_t step = 0; step + 1 < ranks.size(); ++step) {
      send(ring.next, ring.block(step));
      receive(ring.previous, ring.block(step + 1));
    }
  }
  /// Gives all ranks the bytes of the first one.
  virtual void broadcast(const Ranks& ranks, std::span<std::byte> bytes) {
    // A tree: the ranks that have the bytes double in each step.
    const std::size_t own = place_of(ranks, rank());
    for (std::size_t have = 1; have < ranks.size(); have *= 2) {
      if (own < have && own + have < ranks.size()) send(static_cast<int>(ranks[own + have]), bytes);
      else if (own >= have && own < 2 * have) receive(static_cast<int>(ranks[own - have]), bytes);
    }
  }

 protected:
  Transport() = default;
  void count_sent(std::size_t bytes) {
    sent_.fetch_add(static_cast<int64_t>(bytes), std::memory_order_relaxed);
  }
  /// Error{invalid_argument} if there is no such rank.
  void expect_rank(int64_t rank) const {
    if (rank < 0 || rank >= size())
      raise(ErrorCode::invalid_argument, "devices", "there is no rank ", rank, " among ", size());
  }
  /// The place of a rank among others. Error{invalid_argument} if it is not there.
  static std::size_t place_of(const Ranks& ranks, int rank) {
    for (std::size_t k = 0; k < ranks.size(); ++k)
      if (ranks[k] == rank) return k;
    raise(ErrorCode::invalid_argument, "devices", "rank ", rank, " takes no part in the call that it makes");
  }
  /// How many ranks get bytes from this one in broadcast's tree.
  std::size_t broadcast_receivers(const Ranks& ranks) const {
    const std::size_t own = place_of(ranks, rank());
    std::size_t count = 0;
    for (std::size_t have = 1; have < ranks.size(); have *= 2)
      count += own < have && own + have < ranks.size();
    return count;
  }
  /// Sizes in bytes of as many blocks of whole elements, which differ by one element at most.
  static std::vector<std::size_t> even_blocks(std::size_t blocks, DType type, std::size_t bytes) {
    const std::size_t element = static_cast<std::size_t>(bits_of(type)) / 8;
    const std::size_t count = element == 0 ? 0 : bytes / element;
    std::vector<std::size_t> sizes;
    for (std::size_t k = 0; k < blocks; ++k)
      sizes.push_back((count * (k + 1) / blocks - count * k / blocks) * element);
    return sizes;
  }

  /// The blocks of a buffer, one for each of the ranks.
  struct Ring {
    Ring(const Ranks& ranks, int rank, std::span<const std::size_t> sizes, std::span<std::byte> bytes)
        : own(place_of(ranks, rank)),
          next(static_cast<int>(ranks[(own + 1) % ranks.size()])),
          previous(static_cast<int>(ranks[(own + ranks.size() - 1) % ranks.size()])) {
      std::size_t at = 0;
      for (const std::size_t size : sizes) {
        if (size > bytes.size() - at) break;
        blocks.push_back(bytes.subspan(at, size));
        at += size;
      }
      if (blocks.size() != ranks.size() || at != bytes.size())
        raise(ErrorCode::invalid_argument, "devices", "a collective call of ", ranks.size(), " ranks has ",
              sizes.size(), " blocks that do not make up its ", bytes.size(), " bytes");
    }
    /// Numbered backwards from this rank's.
    std::span<std::byte> block(std::size_t back) const {
      return blocks[(own + 2 * blocks.size() - back) % blocks.size()];
    }

    std::size_t own;
    int next, previous;
    std::vector<std::span<std::byte>> blocks{};
  };

 private:
  std::atomic<int64_t> sent_{0};
};

}  // namespace tenon::TENON_ABI::devices
