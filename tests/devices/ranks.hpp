// Work on the ranks of one computation, each in a thread.
#pragma once

#include <functional>
#include <mutex>
#include <thread>

#include "tenon/devices/thread_transport.hpp"

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

}  // namespace tenon::devices
