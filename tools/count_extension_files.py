"""Adds a surrogate, a preset, rewards and a model family to a copy of the tree and counts the files that each touches.

    count_extension_files.py            prints the counts and compiles what is compiled quickly
    count_extension_files.py --build    also builds the copy's test_objectives with the new surrogate and preset, and runs them

Exit code 1 if one touches more than four files, or its code does not compile or is not found by its name.
docs/configuration.md, which `cohort docs` writes, counts as no file.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
MOST_FILES = 4

SURROGATE_H = """// A surrogate that tools/count_extension_files.py adds. M = loss tokens of the micro-batch.
#pragma once

#include "cohort/objectives/surrogate.h"

namespace cohort {

/// -factor * ratio * A per token, without a clip.
struct UnclippedSurrogate final : Surrogate {
  double factor = 1.0;

  void describe(FieldVisitor& f) override;
  PolicyTerm term(const TokenView& view, const at::Tensor& ratio, const LossConfig& config) const override;
};

}  // namespace cohort
"""
SURROGATE_CPP = """#include "cohort/objectives/unclipped.h"

#include "cohort/objectives/policy_term.h"

namespace cohort {

void UnclippedSurrogate::describe(FieldVisitor& f) {
  f("unclipped_factor", factor, "Factor of the surrogate unclipped.", above(0.0));
}

PolicyTerm UnclippedSurrogate::term(const TokenView& view, const at::Tensor& ratio, const LossConfig&) const {
  return {-factor * ratio * view.advantages, ratio, {}, {}};
}

}  // namespace cohort
"""
SURROGATE_TEST = """#include "cohort/objectives/unclipped.h"

#include <gtest/gtest.h>

#include "cohort/objectives/loss.h"
#include "cohort/objectives/presets.h"

namespace cohort {
namespace {

TEST(Unclipped, IsFoundByItsNameAndComputesItsTerm) {
  ObjectiveSettings settings;
  set_objective_key(settings, "surrogate", "unclipped");
  set_objective_key(settings, "unclipped_factor", "3");
  LossInput input;
  input.policy_logprobs = at::tensor({-0.5, -1.0}, at::kDouble);
  input.old_logprobs = input.policy_logprobs;
  input.advantages = at::tensor({2.0}, at::kDouble);
  input.lengths = {2};
  EXPECT_EQ(policy_loss(input, settings.loss).loss.item<double>(), -6.0);
}

}  // namespace
}  // namespace cohort
"""
SURROGATE_USE = """#include "cohort/objectives/loss_config.h"
static_assert(sizeof(cohort::LossConfig::unclipped.factor) == sizeof(double));
"""
FAMILY_USE = """#include "cohort/models/family.h"
static_assert(sizeof(cohort::kUnnamed) > 0);
#include "cohort/models/families/unnamed.cpp"
"""
REWARD_CPP = """#include "cohort/rewards/make_reward.h"

namespace cohort {
namespace {

class NothingReward : public Reward {
 public:
  RewardResult score(const Prompt&, const Completion&) override { return {0.0, RewardStatus::kOk, ""}; }
};

}  // namespace

RewardMaker nothing_reward() {
  return {[](const RewardConfig&) { return std::make_unique<NothingReward>(); }};
}

}  // namespace cohort
"""
REWARD_TEST = """#include <gtest/gtest.h>

#include "cohort/rewards/reward.h"

TEST(NothingReward, IsFoundByItsName) {
  EXPECT_NE(cohort::make_reward({.name = "nothing"}, cohort::builtin_rewards()), nullptr);
}
"""
KEYED_REWARD_CPP = """#include "cohort/rewards/make_reward.h"

namespace cohort {
namespace {

struct ConstantKeys {
  double constant = 1.0;

  void describe(FieldVisitor& f) { f("constant", constant, "What every completion gets.", at_least(0.0)); }
};

class ConstantReward : public Reward {
 public:
  explicit ConstantReward(double constant) : constant_(constant) {}

  RewardResult score(const Prompt&, const Completion&) override { return {constant_, RewardStatus::kOk, ""}; }

 private:
  double constant_;
};

}  // namespace

RewardMaker constant_reward() {
  return reward_maker<ConstantKeys>([](const RewardConfig&, const ConstantKeys& keys) {
    return std::make_unique<ConstantReward>(keys.constant);
  });
}

}  // namespace cohort
"""
KEYED_REWARD_TEST = """#include <gtest/gtest.h>

#include "cohort/rewards/reward.h"

TEST(ConstantReward, TakesItsKey) {
  const auto score = [](const cohort::RewardConfig& config) {
    return cohort::make_reward(config)->score({}, {}).score;
  };
  EXPECT_EQ(score({.name = "constant"}), 1.0);
  EXPECT_EQ(score({.name = "constant", .keys = {{"constant", 0.5}}}), 0.5);
}
"""
KEYED_REWARD_DOCS = """
## Constant

`constant` gives every completion the value of its key `constant`.
"""
FAMILY_CPP = """#include "cohort/models/family.h"

namespace cohort {

constexpr Family kUnnamed{
    .stem = "Unnamed",
    .model_type = "unnamed",
    .defaults = R"({"max_position_embeddings": 2048})",
    .names = {},
    .read = [](const ConfigReader&, DecoderConfig&) {},
};

}  // namespace cohort
"""
FAMILY_TEST = """#include <gtest/gtest.h>

#include "cohort/models/family.h"

TEST(UnnamedFamily, HasItsModelType) { EXPECT_STREQ(cohort::kUnnamed.model_type, "unnamed"); }
"""
PRESET = (
    'PRESET(no_clip, "none", "paper", "grpo without a clip", "surrogate=unclipped unclipped_factor=2", "")\n'
)
# The first completion's ratios are 1.5 and 0.5, its advantage 2; the second's are 2 and -1; the factor is 2.
PRESET_EXAMPLE = '    "no_clip": (-1.0, 0.0, {}),\n}\n'
PRESET_ROW = "| `no_clip` | | grpo without a clip | unclipped | Unclipped.* |  |\n"


def created(text):
    return lambda before: text


def with_line(line):
    """Adds a line at the end."""
    return lambda before: before + line


def with_example(before):
    """Adds a preset's example to the table HAND of the reference tests."""
    begin = before.index("HAND = {\n")
    end = before.index("\n}\n", begin) + 1
    return before[:end] + PRESET_EXAMPLE + before[end + 2 :]


def with_name(before):
    """Adds a preset's name to the end of the list in the test of presets."""
    begin = before.index("EXPECT_EQ(", before.index("TEST(Presets, AreAllThere)"))
    end = before.index('");', begin)
    return before[:end] + "no_clip " + before[end:]


def with_row(before):
    """Adds a preset's row to the table of papers, in front of that of grpo."""
    return before.replace("| `grpo` |", PRESET_ROW + "| `grpo` |", 1)


def with_surrogate(before):
    include = '#include "cohort/objectives/unclipped.h"\n#else\n'
    line = 'SURROGATE(unclipped, UnclippedSurrogate, "the ratio without a clip")\n#endif\n'
    return before.replace("#else\n", include).replace("#endif\n", line)


EXTENSIONS = {
    "surrogate": {
        "cohort/objectives/unclipped.h": created(SURROGATE_H),
        "cohort/objectives/unclipped.cpp": created(SURROGATE_CPP),
        "cohort/objectives/surrogates.def": with_surrogate,
        "tests/objectives/unclipped_test.cpp": created(SURROGATE_TEST),
    },
    "preset": {
        "cohort/objectives/presets.def": with_line(PRESET),
        "tests/objectives/presets_test.cpp": with_name,
        "tests/python/test_objectives.py": with_example,
        "docs/papers.md": with_row,
    },
    "reward": {
        "cohort/rewards/nothing_reward.cpp": created(REWARD_CPP),
        "cohort/rewards/rewards.def": with_line('REWARD(nothing, "0.")\n'),
        "tests/rewards/nothing_reward_test.cpp": created(REWARD_TEST),
    },
    "reward with a key": {
        "cohort/rewards/constant_reward.cpp": created(KEYED_REWARD_CPP),
        "cohort/rewards/rewards.def": with_line('REWARD(constant, "The value of `constant`.")\n'),
        "tests/rewards/constant_reward_test.cpp": created(KEYED_REWARD_TEST),
        "docs/rewards.md": with_line(KEYED_REWARD_DOCS),
    },
    "family": {
        "cohort/models/families/unnamed.cpp": created(FAMILY_CPP),
        "cohort/models/families.def": with_line("FAMILY(kUnnamed)\n"),
        "tests/models/unnamed_family_test.cpp": created(FAMILY_TEST),
    },
}

# What the compiler reads of each, quickly. Without its line of a .def, a name in it is undeclared.
COMPILED = {
    "surrogate": ["use_surrogate.cpp"],
    "preset": [],
    "reward": ["cohort/rewards/nothing_reward.cpp"],
    "reward with a key": ["cohort/rewards/constant_reward.cpp"],
    "family": ["use_family.cpp"],
}


def copy_tree(to):
    ignored = shutil.ignore_patterns("build*", ".*", "__pycache__")
    shutil.copytree(ROOT, to, ignore=ignored, symlinks=True)
    (to / "use_surrogate.cpp").write_text(SURROGATE_USE)
    (to / "use_family.cpp").write_text(FAMILY_USE)


def apply(tree, edits):
    for name, edit in edits.items():
        path = tree / name
        before = path.read_text() if path.exists() else None
        after = edit(before)
        if after == before:
            raise SystemExit(f"{name}: the edit changes nothing")
        path.write_text(after)


def torch_python():
    """The interpreter whose torch the build uses."""
    chosen = ROOT / "build/torch-python"
    return chosen.read_text().split("\n")[0] if chosen.exists() else sys.executable


def compiles(tree, files):
    find = [torch_python(), ROOT / "tools/find_torch.py"]
    torch = subprocess.run(find, check=True, capture_output=True, text=True).stdout.split("\n")[0]
    warnings = ["-Wall", "-Wextra", "-Wmissing-declarations", "-Werror"]
    command = [os.environ.get("CXX", "c++"), "-std=c++20", *warnings, "-fsyntax-only"]
    folders = [f"-I{tree}", "-isystem", f"{torch}/include"]
    return all(subprocess.run([*command, *folders, tree / name]).returncode == 0 for name in files)


def builds(tree):
    """Builds and runs the copy's tests of the new surrogate and preset."""
    configure = ["cmake", "--preset", "release", f"-DCOHORT_PYTHON={torch_python()}"]
    names = "--gtest_filter=Unclipped.*:Presets.*:LossConfig.*"
    for command in (
        configure,
        ["cmake", "--build", tree / "build", "--target", "test_objectives"],
        [tree / "build/test_objectives", names],
    ):
        if subprocess.run(command, cwd=tree, stdout=sys.stderr).returncode != 0:
            return False
    return True


def main(arguments):
    is_built = "--build" in arguments
    is_good = True
    with tempfile.TemporaryDirectory() as folder:
        tree = pathlib.Path(folder) / "tree"
        copy_tree(tree)
        for kind, edits in EXTENSIONS.items():
            apply(tree, edits)
            is_compiled = compiles(tree, COMPILED[kind])
            print(f"{kind}: {len(edits)} files{'' if is_compiled else ', which do not compile'}")
            is_good = is_good and is_compiled and len(edits) <= MOST_FILES
        if is_built and not builds(tree):
            print("the new surrogate and preset do not build and pass their tests")
            is_good = False
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
