// The server of `cohort view` without the rest of the program, for the test of the page:
//
//   view_server PORT RUN...      prints the page's address; serves until its input ends
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "cohort/view/view_server.h"

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: view_server PORT RUN...\n");
    return 2;
  }
  try {
    const std::vector<std::filesystem::path> runs(argv + 2, argv + argc);
    const cohort::ViewServer server(runs, {.port = std::strtoll(argv[1], nullptr, 10)});
    std::printf("%s\n", server.address().c_str());
    std::fflush(stdout);
    std::string line;
    while (std::getline(std::cin, line)) {
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "view_server: %s\n", error.what());
    return 2;
  }
  return 0;
}
