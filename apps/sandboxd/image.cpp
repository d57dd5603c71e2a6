#include "apps/sandboxd/image.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <filesystem>

#include "apps/sandboxd/system.h"

namespace cohort {
namespace {

using std::filesystem::path;

// Any folder that every machine has: the image is built on top of it, in this mount namespace alone.
constexpr const char* kBuildingSite = "/tmp";

// A view of a part of the file system, not yet mounted anywhere.
struct View {
  std::string target;
  bool is_folder;
  UniqueFile tree;
};

View make_view(const std::string& source, uint64_t flags) {
  View view{source, std::filesystem::is_directory(source), UniqueFile()};
  view.tree = UniqueFile(
      check(open_tree(AT_FDCWD, source.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE), source));
  mount_attr attributes{};
  attributes.attr_set = flags;
  check(mount_setattr(view.tree.get(), "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes, sizeof(attributes)),
        source);
  return view;
}

void place(const View& view) {
  const path target = path(kBuildingSite) / path(view.target).relative_path();
  std::filesystem::create_directories(view.is_folder ? target : target.parent_path());
  if (!view.is_folder) UniqueFile(open(target.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0444));
  check(move_mount(view.tree.get(), "", AT_FDCWD, target.c_str(), MOVE_MOUNT_F_EMPTY_PATH), view.target);
}

// /bin, /lib and /lib64 lead into /usr on most machines: programs name them.
struct Link {
  path name;
  path target;
};

std::vector<Link> read_links(const std::vector<std::string>& runtime) {
  std::vector<Link> links;
  for (const char* name : {"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}) {
    const bool is_view = std::find(runtime.begin(), runtime.end(), name) != runtime.end();
    if (!is_view && std::filesystem::is_symlink(name))
      links.push_back({name, std::filesystem::read_symlink(name)});
  }
  return links;
}

void fill(const std::vector<View>& views, const std::vector<Link>& links) {
  const path site = kBuildingSite;
  for (const View& view : views) place(view);
  for (const Link& link : links) {
    std::filesystem::create_symlink(link.target, site / link.name.relative_path());
  }
  std::filesystem::create_directories(site / path(kBoxFolder).relative_path());
  std::filesystem::create_directories(site / path(kWorkFolder).relative_path());
  if (!std::filesystem::exists(site / "tmp"))
    std::filesystem::create_directory_symlink(kWorkFolder, site / "tmp");
}

void replace_root() {
  check(chdir(kBuildingSite), "chdir");
  // The old root comes to lie on top of the new one, from where it is taken away.
  check(syscall(SYS_pivot_root, ".", "."), "pivot_root");
  check(umount2(".", MNT_DETACH), "umount");
  check(chdir("/"), "chdir");
  check(mount(nullptr, "/", nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, nullptr),
        "remount /");
}

}  // namespace

std::vector<std::string> tidy_paths(const std::vector<std::string>& paths) {
  std::vector<std::string> real;
  for (const std::string& name : paths) {
    std::error_code error;
    const path resolved = std::filesystem::canonical(name, error);
    if (!error) real.push_back(resolved.string());
  }
  std::sort(real.begin(), real.end());
  std::vector<std::string> outermost;
  for (const std::string& name : real) {
    const auto holds = [&](const std::string& outer) {
      return name == outer || name.starts_with(outer == "/" ? outer : outer + "/");
    };
    if (std::none_of(outermost.begin(), outermost.end(), holds)) outermost.push_back(name);
  }
  return outermost;
}

void enter_image(const std::vector<std::string>& runtime) {
  check(mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), "make mounts private");
  std::vector<View> views;
  views.reserve(runtime.size() + std::size(kDevices) + 1);
  for (const std::string& name : runtime) {
    views.push_back(make_view(name, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV));
  }
  for (const char* device : kDevices)
    views.push_back(make_view(device, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC));
  views.push_back(make_view("/proc", 0));
  const std::vector<Link> links = read_links(runtime);
  check(mount("image", kBuildingSite, "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,mode=0755"), "mount a tmpfs");
  fill(views, links);
  replace_root();
}

}  // namespace cohort
