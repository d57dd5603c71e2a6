// Processes of a group for tests, which are threads.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <thread>
#include <vector>

#include "cohort/dist/group.h"

namespace cohort::dist {

inline int64_t free_port() {
  const int socket_of = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  bind(socket_of, reinterpret_cast<sockaddr*>(&address), sizeof(address));
  socklen_t length = sizeof(address);
  getsockname(socket_of, reinterpret_cast<sockaddr*>(&address), &length);
  close(socket_of);
  return ntohs(address.sin_port);
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
