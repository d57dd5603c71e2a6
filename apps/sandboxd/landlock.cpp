#include "apps/sandboxd/landlock.h"

#include <fcntl.h>
#include <sys/syscall.h>

#include <cstdint>

#include "apps/sandboxd/system.h"

namespace cohort {
namespace {

constexpr long kCreateRuleset = 444, kAddRule = 445, kRestrictSelf = 446;  // the same on every processor
constexpr uint32_t kAskVersion = 1;
constexpr int kPathBeneath = 1;

// Rights on files; those of version 1 are the first 13 bits.
constexpr uint64_t kExecute = 1 << 0, kWriteFile = 1 << 1, kReadFile = 1 << 2, kReadFolder = 1 << 3;
constexpr uint64_t kMakeDevice = 1 << 6 | 1 << 11, kMakeSocket = 1 << 9, kMakeFifo = 1 << 10;
constexpr uint64_t kVersion1 = (1 << 13) - 1;
constexpr uint64_t kRefer = 1 << 13, kTruncate = 1 << 14, kDeviceControl = 1 << 15;
constexpr uint64_t kConnectAndBind = 3;     // version 4: TCP
constexpr uint64_t kSocketsAndSignals = 3;  // version 6: abstract sockets and signals stay inside

struct Ruleset {
  uint64_t files;
  uint64_t network;
  uint64_t scopes;
};

struct __attribute__((packed)) PathRule {
  uint64_t rights;
  int32_t folder;
};

uint64_t file_rights(int version) {
  uint64_t rights = kVersion1;
  if (version >= 2) rights |= kRefer;
  if (version >= 3) rights |= kTruncate;
  if (version >= 5) rights |= kDeviceControl;
  return rights;
}

bool allow(int ruleset, const std::string& path, uint64_t rights) {
  const UniqueFile folder(open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!folder.is_open()) return false;
  const PathRule rule{rights, folder.get()};
  return syscall(kAddRule, ruleset, kPathBeneath, &rule, 0) == 0;
}

bool is_folder(const std::string& path) {
  return UniqueFile(open(path.c_str(), O_PATH | O_CLOEXEC | O_DIRECTORY)).is_open();
}

bool add_rules(int ruleset, uint64_t all, const LandlockPaths& paths) {
  if (!allow(ruleset, "/", kReadFile | kReadFolder)) return false;
  for (const std::string& path : paths.programs) {
    const uint64_t rights = kReadFile | kExecute | (is_folder(path) ? kReadFolder : 0);
    if (!allow(ruleset, path, rights)) return false;
  }
  constexpr uint64_t kNever = kExecute | kMakeDevice | kMakeSocket | kMakeFifo | kDeviceControl;
  for (const std::string& path : paths.writable) {
    if (!allow(ruleset, path, all & ~kNever)) return false;
  }
  for (const std::string& path : paths.devices) {
    if (!allow(ruleset, path, all & (kReadFile | kWriteFile | kTruncate))) return false;
  }
  return true;
}

}  // namespace

int landlock_version() {
  const long version = syscall(kCreateRuleset, nullptr, 0, kAskVersion);
  return version < 0 ? 0 : static_cast<int>(version);
}

bool enter_landlock(int version, const LandlockPaths& paths) {
  const Ruleset attributes{file_rights(version), version >= 4 ? kConnectAndBind : 0,
                           version >= 6 ? kSocketsAndSignals : 0};
  // Older kernels know a shorter structure.
  const size_t size = version >= 6 ? 24 : version >= 4 ? 16 : 8;
  const UniqueFile ruleset(static_cast<int>(syscall(kCreateRuleset, &attributes, size, 0)));
  return ruleset.is_open() && add_rules(ruleset.get(), attributes.files, paths) &&
         syscall(kRestrictSelf, ruleset.get(), 0) == 0;
}

}  // namespace cohort
