// Work on the ranks of one computation: each a thread, or with TENON_TEST_MPI a process that mpirun has
// started.
#pragma once

#include <functional>
#include <mutex>
#include <thread>

#include "tenon/devices/thread_transport.hpp"

#ifdef TENON_TEST_MPI
#include "tenon/devices/mpi_transport.hpp"
#endif

namespace tenon::devices {

using Transports = std::vector<std::shared_ptr<Transport>>;

/// Runs work(transport) on each of the ranks. The exception of the rank that failed first is thrown again.
inline void on_ranks(const Transports& ranks,
                     const std::function<void(const std::shared_ptr<Transport>&)>& work) {
  std::exception_ptr failed;
  std::mutex mutex;
  std::vector<std::thread> threads;
  for (const auto& transport : ranks)
    threads.emplace_back([&] {
      try {
        work(transport);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failed) failed = std::current_exception();
        transport->abort("another rank failed");
      }
    });
  for (std::thread& t : threads) t.join();
  if (failed) std::rethrow_exception(failed);
}

/// The ranks of a computation of `count` that this process has: all of them, or with MPI its own, and none
/// where mpirun has started fewer.
inline Transports local_ranks(int count) {
#ifdef TENON_TEST_MPI
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size < count) return {};
  MPI_Comm some = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank < count ? 0 : MPI_UNDEFINED, rank, &some);
  if (some == MPI_COMM_NULL) return {};
  Transports own{mpi_transport(some)};
  MPI_Comm_free(&some);
  return own;
#else
  return thread_transports(count);
#endif
}

/// on_ranks(local_ranks(count), work)
inline void on_ranks(int count, const std::function<void(const std::shared_ptr<Transport>&)>& work) {
  on_ranks(local_ranks(count), work);
}

}  // namespace tenon::devices
