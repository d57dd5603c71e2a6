// cohort view: the web page of runs.
#include <poll.h>

#include <iostream>

#include "apps/cli/command.h"
#include "apps/cli/replayed_group.h"
#include "apps/cli/terminal.h"
#include "cohort/http/access.h"
#include "cohort/view/view_server.h"

/// tcmalloc's, where the program has it.
extern "C" int MallocExtension_SetNumericProperty(const char* property, size_t value) __attribute__((weak));

namespace cohort::cli {
namespace {

struct ViewConfig {
  std::string host = "127.0.0.1";
  int64_t port = 0;
  std::string token;

  void describe(FieldVisitor& f) {
    f("host", host, "Address to listen at. Others than 127.0.0.1 let other machines in and need the token.");
    f("port", port, "Port to listen at; 0 takes a free one.", between(0, 65535));
    f("token", token,
      "What the page asks for, as a part of its address: letters, digits, - and _. Empty: nothing on this "
      "machine's own address, and a random one elsewhere.");
  }

  void settle() {
    if (!is_loopback(host) && token.empty()) token = random_secret();
  }
};

}  // namespace

int view_command(const Command& self, const Arguments& arguments) {
  ViewConfig config;
  const auto runs = read_arguments(self, arguments, config);
  if (!runs) return 0;
  if (runs->empty())
    throw ConfigError(str("cohort ", self.name, ": name the directory of a run, or of several"));
  // A server that runs for days gives memory back that an answer took.
  if (MallocExtension_SetNumericProperty != nullptr)
    MallocExtension_SetNumericProperty("tcmalloc.aggressive_memory_decommit", 1);
  Interrupts interrupts;
  const ViewServer server({runs->begin(), runs->end()},
                          {config.host, config.port, config.token, replayed_group});
  std::cout << server.address() << std::endl;
  pollfd wait{interrupts.descriptor(), POLLIN, 0};
  while (!interrupts.take()) poll(&wait, 1, -1);
  return 0;
}

}  // namespace cohort::cli
