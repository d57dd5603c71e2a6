#include "cohort/core/local_model.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/core/test_files.h"

namespace cohort {
namespace {

namespace fs = std::filesystem;

/// Each test is a process of its own, so that its variables concern no other one.
class LocalModel : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"})
      unsetenv(name);
    setenv("HOME", (folder_.path() / "user").c_str(), 1);
  }

  /// A snapshot of org/tiny as huggingface_hub lays it out; returns its directory.
  fs::path add_snapshot(const fs::path& cache, const std::string& commit = "0a1b") {
    const fs::path model = cache / "models--org--tiny";
    fs::create_directories(model / "refs");
    fs::create_directories(model / "snapshots" / commit);
    write_text(model / "refs/main", commit);
    return model / "snapshots" / commit;
  }

  TemporaryDirectory folder_;
};

TEST_F(LocalModel, FindsTheCacheWhereHuggingFaceKeepsIt) {
  EXPECT_EQ(local_model("org/tiny"), "org/tiny");
  const fs::path user = add_snapshot(folder_.path() / "user/.cache/huggingface/hub");
  EXPECT_EQ(local_model("org/tiny"), user);
  const auto prefers = [&](const char* name, const fs::path& value, const fs::path& cache) {
    const fs::path snapshot = add_snapshot(cache);
    setenv(name, value.c_str(), 1);
    EXPECT_EQ(local_model("org/tiny"), snapshot) << name;
  };
  prefers("XDG_CACHE_HOME", folder_.path() / "xdg", folder_.path() / "xdg/huggingface/hub");
  prefers("HF_HOME", folder_.path() / "home", folder_.path() / "home/hub");
  prefers("HUGGINGFACE_HUB_CACHE", folder_.path() / "old", folder_.path() / "old");
  prefers("HF_HUB_CACHE", folder_.path() / "new", folder_.path() / "new");
}

TEST_F(LocalModel, TakesTheSnapshotOfTheBranchMain) {
  setenv("HF_HUB_CACHE", folder_.path().c_str(), 1);
  const fs::path first = add_snapshot(folder_.path(), "aaaa"), second = add_snapshot(folder_.path(), "bbbb");
  EXPECT_EQ(local_model("org/tiny"), second);
  fs::remove(second);
  EXPECT_EQ(local_model("org/tiny"), "org/tiny");
  write_text(folder_.path() / "models--org--tiny/refs/main", "../snapshots/aaaa\n");
  EXPECT_EQ(local_model("org/tiny"), "org/tiny");
  write_text(folder_.path() / "models--org--tiny/refs/main", "");
  EXPECT_EQ(local_model("org/tiny"), "org/tiny");
}

TEST_F(LocalModel, LeavesDirectoriesAndOtherNamesAlone) {
  setenv("HF_HUB_CACHE", folder_.path().c_str(), 1);
  add_snapshot(folder_.path());
  for (const char* name : {"", "tiny", "/org/tiny", "./org/tiny", "org/tiny/", "a/org/tiny", "../tiny"})
    EXPECT_EQ(local_model(name), name);
  const fs::path here = fs::current_path();
  fs::create_directories(folder_.path() / "work/org/tiny");
  fs::current_path(folder_.path() / "work");
  EXPECT_EQ(local_model("org/tiny"), "org/tiny");
  fs::current_path(here);
}

TEST_F(LocalModel, SaysHowToDownloadWhatCanBeAnId) {
  EXPECT_NE(download_advice("org/tiny-1.5_b").find("hf download org/tiny-1.5_b"), std::string::npos);
  for (const char* name : {"/no/such", "runs/x/final", "a b/c", "model"})
    EXPECT_EQ(download_advice(name), "");
}

}  // namespace
}  // namespace cohort
