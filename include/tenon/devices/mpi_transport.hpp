// A transport between the processes of an MPI program (MPI 3.0 or later; Debian: libopenmpi-dev). A program
// that includes it compiles with mpi.h and links MPI. No other header includes it.
//
//     MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given);
//     {
//       ShardedSession s = load_sharded("model.onnx", mpi_transport());
//       …
//     }
//     MPI_Finalize();
#pragma once

#include <algorithm>
#include <chrono>
#include <list>
#include <memory>
#include <optional>
#include <thread>

// The C++ bindings, which MPI has withdrawn, stay out.
#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>

#include "tenon/base/platform/condition.hpp"
#include "tenon/devices/transport.hpp"

namespace tenon::TENON_ABI::devices {

/// The transport of this process among the processes of a communicator, all of which make the call. Ranks are
/// the communicator's. All destroy it before MPI_Finalize, unless it was aborted.
///
/// Collective calls of all ranks are MPI's own: MPI_Iallgatherv, MPI_Ibcast, and for sums MPI_Ialltoallv,
/// after which each rank adds the parts of its block in the order of the ring. Sums therefore have the bits
/// of thread_transports, whichever algorithm MPI chooses. Calls of some of the ranks are the rings of
/// Transport, because MPI makes a communicator for them in a call that no abort can end.
///
/// `bytes_sent` counts what the rings and the tree of Transport send.
///
/// MPI moves a message that is too long to leave at once only while its sender makes calls of MPI. Where MPI
/// was initialised with MPI_THREAD_MULTIPLE, a thread makes them as long as there are such messages. Under
/// MPI_THREAD_SERIALIZED, the receiver may wait until the sender's next call of the transport.
///
/// An abort ends waits within milliseconds. MPI cannot take back what it has begun to send: a program whose
/// transport was aborted ends with MPI_Abort. If a process dies, mpirun ends the others.
///
/// Error{invalid_argument} if MPI is not initialised. Error{io} with MPI's text if one of its calls fails.
[[nodiscard]] std::shared_ptr<Transport> mpi_transport(MPI_Comm ranks = MPI_COMM_WORLD);

namespace detail {

class MpiTransport final : public Transport {
 public:
  explicit MpiTransport(MPI_Comm ranks) : state_(std::make_unique<State>()) {
    expect_success(MPI_Comm_dup(ranks, &state_->ranks));
    expect_success(MPI_Comm_set_errhandler(state_->ranks, MPI_ERRORS_RETURN));
    expect_success(MPI_Comm_rank(state_->ranks, &rank_));
    expect_success(MPI_Comm_size(state_->ranks, &size_));
    for (Layout* layout : {&state_->out_layout, &state_->in_layout}) {
      layout->counts.resize(static_cast<std::size_t>(size_));
      layout->firsts.resize(static_cast<std::size_t>(size_));
    }
    expect_success(MPI_Irecv(state_->heard, most_reason, MPI_BYTE, MPI_ANY_SOURCE, tag_end, state_->ranks,
                             &state_->end));
    int threads = 0;
    expect_success(MPI_Query_thread(&threads));
    if (threads == MPI_THREAD_MULTIPLE && size_ > 1) state_->progress.emplace(state_->ranks);
  }
  ~MpiTransport() override {
    state_->progress.reset();
    int finalized = 0;
    MPI_Finalized(&finalized);
    const Pause pause;
    while (finalized == 0 && !has_ended() && release_sent() == MPI_SUCCESS && !state_->sent.empty()) pause();
    if (finalized == 0 && !has_ended()) {
      MPI_Cancel(&state_->end);
      MPI_Wait(&state_->end, MPI_STATUS_IGNORE);
      MPI_Comm_free(&state_->ranks);
    } else {
      static_cast<void>(state_.release());  // MPI may still use it
    }
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void send(int to, std::span<const std::byte> bytes) override {
    expect_rank(to);
    check();
    // The number of bytes precedes them.
    const auto size = static_cast<uint64_t>(bytes.size());
    Message& message = state_->sent.emplace_back();
    message.bytes.resize(sizeof(size) + bytes.size());
    std::memcpy(message.bytes.data(), &size, sizeof(size));
    if (!bytes.empty()) std::memcpy(message.bytes.data() + sizeof(size), bytes.data(), bytes.size());
    each_part(message.bytes.size(), most_bytes, [&](std::size_t first, std::size_t count) {
      expect_success(MPI_Isend(message.bytes.data() + first, static_cast<int>(count), MPI_BYTE, to,
                               tag_message, state_->ranks, &message.requests.emplace_back(MPI_REQUEST_NULL)));
    });
    expect_success(release_sent());
    count_sent(bytes.size());
  }

  void receive(int from, std::span<std::byte> bytes) override {
    expect_rank(from);
    check();
    uint64_t size = 0;
    each_part(sizeof(size) + bytes.size(), most_bytes, [&](std::size_t first, std::size_t count) {
      receive_part(from);
      const std::byte* part = state_->in.data();
      std::byte* to = bytes.data() + (first == 0 ? 0 : first - sizeof(size));
      if (first == 0) {
        std::memcpy(&size, part, sizeof(size));
        part += sizeof(size), count -= sizeof(size);
      }
      if (size != bytes.size())
        raise(ErrorCode::invalid_argument, "devices", "rank ", rank_, " expects ", bytes.size(),
              " bytes of rank ", from, ", which has sent ", size);
      if (count > 0) std::memcpy(to, part, count);
    });
  }

  void abort(std::string_view reason) override {
    if (has_ended()) return;
    end(reason.substr(0, most_reason));
    for (int to = 0; to < size_; ++to)
      if (to != rank_)
        MPI_Isend(state_->ended->data(), static_cast<int>(state_->ended->size()), MPI_BYTE, to, tag_end,
                  state_->ranks, &state_->last.emplace_back(MPI_REQUEST_NULL));
    // Short messages leave without the receivers' help.
    constexpr std::chrono::milliseconds most_wait(100);
    const Pause pause;
    int left = 0;
    while (pause.so_far() < most_wait && left == 0 &&
           MPI_Testall(static_cast<int>(state_->last.size()), state_->last.data(), &left,
                       MPI_STATUSES_IGNORE) == MPI_SUCCESS)
      pause();
  }

  void reduce_scatter(const Ranks& ranks, DType type, std::span<const std::size_t> block_bytes,
                      std::span<std::byte> elements) override {
    if (!concerns_all(ranks)) return Transport::reduce_scatter(ranks, type, block_bytes, elements);
    const Ring ring(ranks, rank_, block_bytes, elements);
    add_elements(type, nullptr, nullptr, 0);  // or there are no sums of the type
    check();
    Layout &to = state_->out_layout, &from = state_->in_layout;
    each_part(std::ranges::max(block_bytes), most_of_block(), [&](std::size_t first, std::size_t count) {
      state_->out.clear();
      for (std::size_t k = 0; k < ranks.size(); ++k) {
        const std::span<std::byte> part = part_of(ring.blocks[k], first, count);
        to.set(ranks[k], part.size(), state_->out.size());
        state_->out.insert(state_->out.end(), part.begin(), part.end());
      }
      const std::span<std::byte> own = part_of(ring.blocks[ring.own], first, count);
      for (std::size_t k = 0; k < ranks.size(); ++k) from.set(ranks[k], own.size(), k * own.size());
      state_->in.resize(ranks.size() * own.size());
      wait([&](MPI_Request* request) {
        return MPI_Ialltoallv(state_->out.data(), to.counts.data(), to.firsts.data(), MPI_BYTE,
                              state_->in.data(), from.counts.data(), from.firsts.data(), MPI_BYTE,
                              state_->ranks, request);
      });
      const auto part_from = [&](std::size_t step) {
        return state_->in.data() + (ring.own + step) % ranks.size() * own.size();
      };
      for (std::size_t step = 2; step <= ranks.size(); ++step)
        add_elements(type, part_from(step), part_from(step - 1), own.size());
      if (!own.empty()) std::memcpy(own.data(), part_from(0), own.size());
    });
    count_sent(elements.size() - ring.blocks[ring.own].size());
  }

  void all_gather(const Ranks& ranks, std::span<const std::size_t> block_bytes,
                  std::span<std::byte> all) override {
    if (!concerns_all(ranks)) return Transport::all_gather(ranks, block_bytes, all);
    const Ring ring(ranks, rank_, block_bytes, all);
    check();
    Layout& from = state_->in_layout;
    each_part(std::ranges::max(block_bytes), most_of_block(), [&](std::size_t first, std::size_t count) {
      std::size_t bytes = 0;
      for (std::size_t k = 0; k < ranks.size(); ++k) {
        const std::size_t part = part_of(ring.blocks[k], first, count).size();
        from.set(ranks[k], part, bytes);
        bytes += part;
      }
      const std::span<std::byte> own = part_of(ring.blocks[ring.own], first, count);
      state_->out.assign(own.begin(), own.end());
      state_->in.resize(bytes);
      wait([&](MPI_Request* request) {
        return MPI_Iallgatherv(state_->out.data(), static_cast<int>(own.size()), MPI_BYTE, state_->in.data(),
                               from.counts.data(), from.firsts.data(), MPI_BYTE, state_->ranks, request);
      });
      const std::byte* at = state_->in.data();
      for (const std::span<std::byte> block : ring.blocks) {
        const std::span<std::byte> part = part_of(block, first, count);
        if (!part.empty()) std::memcpy(part.data(), at, part.size());
        at += part.size();
      }
    });
    count_sent(all.size() - ring.block(ranks.size() - 1).size());
  }

  void broadcast(const Ranks& ranks, std::span<std::byte> bytes) override {
    if (!concerns_all(ranks)) return Transport::broadcast(ranks, bytes);
    const std::size_t own = place_of(ranks, rank_);
    check();
    each_part(bytes.size(), most_bytes, [&](std::size_t first, std::size_t count) {
      const std::span<std::byte> part = bytes.subspan(first, count);
      if (own == 0) state_->in.assign(part.begin(), part.end());
      else state_->in.resize(count);
      wait([&](MPI_Request* request) {
        return MPI_Ibcast(state_->in.data(), static_cast<int>(count), MPI_BYTE, static_cast<int>(ranks[0]),
                          state_->ranks, request);
      });
      if (own != 0) std::memcpy(part.data(), state_->in.data(), count);
    });
    count_sent(broadcast_receivers(ranks) * bytes.size());
  }

 private:
  static constexpr int tag_message = 0, tag_end = 1, tag_none = 2;  // of no message
  // Bytes of one of MPI's calls: counts are ints, and what is in the caches is copied fast.
  static constexpr std::size_t most_bytes = std::size_t{4} << 20;
  static constexpr std::size_t most_reason = 2048;

  // What is on its way to other ranks.
  struct Message {
    std::vector<std::byte> bytes{};
    std::vector<MPI_Request> requests{};
  };
  // Where the bytes of each rank lie.
  struct Layout {
    std::vector<int> counts{}, firsts{};
    void set(int64_t rank, std::size_t count, std::size_t first) {
      counts[static_cast<std::size_t>(rank)] = static_cast<int>(count);
      firsts[static_cast<std::size_t>(rank)] = static_cast<int>(first);
    }
  };
  // A thread that lets MPI make progress: without calls of MPI, messages do not leave.
  class Progress {
   public:
    explicit Progress(MPI_Comm ranks) : ranks_(ranks), thread_([this] { make(); }) {}
    ~Progress() {
      set(ended);
      thread_.join();
    }
    void set_needed(bool is) {
      if ((state_ == needed) != is) set(is ? needed : idle);
    }

   private:
    enum State { idle, needed, ended };
    void set(State s) {
      const tenon::detail::LockGuard lock(mutex_);
      state_ = s;
      changed_.notify_all();
    }
    void make() {
      for (tenon::detail::UniqueLock lock(mutex_);; lock.lock()) {
        changed_.wait(lock, [&] { return state_ != idle; });
        if (state_ == ended) return;
        int there = 0;
        MPI_Iprobe(MPI_ANY_SOURCE, tag_none, ranks_, &there, MPI_STATUS_IGNORE);
        lock.unlock();
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
    }

    MPI_Comm ranks_;
    tenon::detail::Mutex mutex_;
    tenon::detail::Condition changed_;
    State state_ = idle;
    std::thread thread_;
  };
  // All memory that MPI uses after its calls have returned: an abort leaves calls unfinished, and they must
  // not write to memory of the caller then.
  struct State {
    MPI_Comm ranks = MPI_COMM_NULL;
    std::vector<std::byte> out{}, in{};
    Layout out_layout{}, in_layout{};
    std::list<Message> sent{};
    MPI_Request end = MPI_REQUEST_NULL;  // the reason of another rank, which `heard` gets
    std::byte heard[most_reason]{};
    std::optional<std::string> ended{};
    std::vector<MPI_Request> last{};     // the reason on its way
    std::optional<Progress> progress{};  // none once the transport has ended
  };
  // Waits a little: a core that others need is left to them, longer after a millisecond.
  class Pause {
   public:
    std::chrono::steady_clock::duration so_far() const { return std::chrono::steady_clock::now() - start_; }
    void operator()() const {
      if (so_far() < std::chrono::milliseconds(1)) std::this_thread::yield();
      else std::this_thread::sleep_for(std::chrono::microseconds(50));
    }

   private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  };

  static void expect_success(int code) {
    if (code == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING]{};
    int length = 0;
    MPI_Error_string(code, text, &length);
    raise(ErrorCode::io, "devices", "MPI: ", std::string_view(text));
  }

  // Calls f(first, count) for the parts of `bytes` bytes, each of `most` or fewer.
  template <class F>
  static void each_part(std::size_t bytes, std::size_t most, F f) {
    for (std::size_t first = 0; first < bytes; first += most) f(first, std::min(most, bytes - first));
  }
  static std::span<std::byte> part_of(std::span<std::byte> block, std::size_t first, std::size_t count) {
    first = std::min(first, block.size());
    return block.subspan(first, std::min(count, block.size() - first));
  }
  // Whole elements of each of the ranks' blocks.
  std::size_t most_of_block() const {
    constexpr std::size_t least = 4096;
    return std::max(least, most_bytes / static_cast<std::size_t>(size_) / least * least);
  }

  bool concerns_all(const Ranks& ranks) const {
    for (const int64_t rank : ranks) expect_rank(rank);
    return size_ > 1 && ranks.size() == static_cast<std::size_t>(size_);
  }

  bool has_ended() const {
    if (state_->ended) return true;
    int there = 0, count = 0;
    MPI_Status status;
    if (MPI_Test(&state_->end, &there, &status) != MPI_SUCCESS || there == 0) return false;
    MPI_Get_count(&status, MPI_BYTE, &count);
    end({reinterpret_cast<const char*>(state_->heard), static_cast<std::size_t>(count)});
    return true;
  }
  void end(std::string_view reason) const {
    state_->ended.emplace(reason);
    state_->progress.reset();
  }
  void check() const {
    if (has_ended()) raise(ErrorCode::cancelled, "devices", *state_->ended);
  }
  // Frees the messages that have left.
  int release_sent() {
    int code = MPI_SUCCESS;
    std::erase_if(state_->sent, [&](Message& m) {
      int left = 0;
      const int tested =
          MPI_Testall(static_cast<int>(m.requests.size()), m.requests.data(), &left, MPI_STATUSES_IGNORE);
      if (tested != MPI_SUCCESS) code = tested;
      return tested == MPI_SUCCESS && left != 0;
    });
    if (state_->progress) state_->progress->set_needed(!state_->sent.empty());
    return code;
  }

  template <class F>
  void until(F done) {
    const Pause pause;
    while (!done()) {
      check();
      expect_success(release_sent());
      pause();
    }
  }
  // Starts a call of MPI and waits for its end.
  template <class F>
  void wait(F start) {
    MPI_Request request = MPI_REQUEST_NULL;
    expect_success(start(&request));
    until([&] {
      int done = 0;
      expect_success(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
      return done != 0;
    });
  }
  // The next part of a rank's message, in state_->in.
  void receive_part(int from) {
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    until([&] {
      int there = 0;
      expect_success(MPI_Improbe(from, tag_message, state_->ranks, &there, &message, &status));
      return there != 0;
    });
    int count = 0;
    expect_success(MPI_Get_count(&status, MPI_BYTE, &count));
    state_->in.resize(static_cast<std::size_t>(count));
    wait([&](MPI_Request* request) {
      return MPI_Imrecv(state_->in.data(), count, MPI_BYTE, &message, request);
    });
  }

  std::unique_ptr<State> state_;
  int rank_ = 0, size_ = 1;
};

}  // namespace detail

inline std::shared_ptr<Transport> mpi_transport(MPI_Comm ranks) {
  int initialized = 0, finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (initialized == 0 || finalized != 0 || ranks == MPI_COMM_NULL)
    raise(ErrorCode::invalid_argument, "devices", "MPI is not initialised, or there is no communicator");
  return std::make_shared<detail::MpiTransport>(ranks);
}

}  // namespace tenon::TENON_ABI::devices
