#include "cohort/core/toml_json.h"

#include <gtest/gtest.h>

#include "cohort/core/error.h"
#include "tests/core/test_files.h"

namespace cohort {
namespace {

TEST(TomlJson, TablesBecomeObjects) {
  TemporaryDirectory directory;
  const auto path = directory.path() / "config.toml";
  write_text(path,
             "seed = 3\n[train]\nsteps = 9007199254740993\nrate = 1e-6\non = true\n"
             "list = [\"a\", 2]\nempty = []\n"
             "far = inf\nday = 2027-03-04\n[train.inner]\nname = \"\\u00e9\\n\"\n"
             "[[reward]]\ntype = \"a\"\n[[reward]]\ntype = \"b\"\noptions = { x = 1 }\n");
  EXPECT_EQ(read_toml(path), Json::parse(R"({
    "reward": [{"type": "a"}, {"options": {"x": 1}, "type": "b"}],
    "seed": 3,
    "train": {"day": "2027-03-04", "empty": [], "far": "inf", "inner": {"name": "é\n"}, "list": ["a", 2],
              "on": true, "rate": 1e-6, "steps": 9007199254740993}})"));
}

TEST(TomlJson, NamesTheLineOfAnError) {
  TemporaryDirectory directory;
  const auto path = directory.path() / "config.toml";
  write_text(path, "seed = 3\nsteps = = 4\n");
  const std::string message = message_of<FormatError>([&] { read_toml(path); });
  EXPECT_TRUE(message.starts_with(path.string() + ":2: malformed TOML")) << message;
  EXPECT_THROW(read_toml(directory.path() / "none.toml"), FormatError);
}

}  // namespace
}  // namespace cohort
