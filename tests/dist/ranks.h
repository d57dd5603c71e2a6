// Processes of a group for tests, which are threads.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "cohort/dist/group.h"

namespace cohort::dist {

/// Below the ports that the system gives to connections of other tests.
inline int64_t free_port() {
  static std::atomic<int64_t> next = 20000 + getpid() * 37 % 9000;
  while (true) {
    const int64_t port = next++;
    const int socket_of = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_ANY);
    address.sin_port = htons(static_cast<uint16_t>(port));
    const bool is_free = bind(socket_of, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
    close(socket_of);
    if (is_free) return port;
  }
}

inline Place place(int64_t rank, int64_t size, int64_t port) {
  return {.rank = rank, .size = size, .launcher = "test", .address = "127.0.0.1", .port = port};
}

/// Calls f(group) for each rank, side by side.
inline void for_each_rank(int64_t size, const std::function<void(Group&)>& f) {
  const int64_t port = free_port();
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      Group group(place(rank, size, port));
      f(group);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace cohort::dist
