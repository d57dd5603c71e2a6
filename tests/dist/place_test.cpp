// Where launchers say that a process stands.
#include "cohort/dist/place.h"

#include <gtest/gtest.h>

#include <map>

#include "cohort/core/error.h"

namespace cohort::dist {
namespace {

Place place_in(const std::map<std::string, std::string>& environment) {
  return place_from([&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

std::string error_in(const std::map<std::string, std::string>& environment) {
  try {
    place_in(environment);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

const std::map<std::string, std::string> kTorchrun{{"WORLD_SIZE", "4"},
                                                   {"RANK", "3"},
                                                   {"LOCAL_RANK", "1"},
                                                   {"MASTER_ADDR", "node7"},
                                                   {"MASTER_PORT", "29500"},
                                                   {"TORCHELASTIC_RESTART_COUNT", "2"},
                                                   {"TORCHELASTIC_RUN_ID", "none"},
                                                   {"TORCHELASTIC_USE_AGENT_STORE", "True"}};

TEST(PlaceTest, WithoutALauncherAProcessIsAlone) {
  const Place place = place_in({{"PATH", "/bin"}, {"SLURM_JOB_ID", "7"}, {"SLURM_NTASKS", "4"}});
  EXPECT_EQ(place.size, 1);
  EXPECT_EQ(place.rank, 0);
  EXPECT_EQ(place.launcher, "");
}

TEST(PlaceTest, OfTorchrun) {
  const Place place = place_in(kTorchrun);
  EXPECT_EQ(place.launcher, "torchrun");
  EXPECT_EQ(place.size, 4);
  EXPECT_EQ(place.rank, 3);
  EXPECT_EQ(place.local_rank, 1);
  EXPECT_EQ(place.address, "node7");
  EXPECT_EQ(place.port, 29500);
  EXPECT_TRUE(place.launcher_has_store);
  auto again = kTorchrun;
  again["TORCHELASTIC_RESTART_COUNT"] = "3";
  EXPECT_NE(place_in(again).attempt, place.attempt);
}

TEST(PlaceTest, OfSlurm) {
  std::map<std::string, std::string> variables{
      {"SLURM_STEP_NUM_TASKS", "8"}, {"SLURM_NTASKS", "8"},    {"SLURM_PROCID", "5"},
      {"SLURM_LOCALID", "1"},        {"SLURM_JOB_ID", "1234"}, {"SLURM_STEP_NODELIST", "b[12-15]"}};
  const Place place = place_in(variables);
  EXPECT_EQ(place.launcher, "srun");
  EXPECT_EQ(place.size, 8);
  EXPECT_EQ(place.rank, 5);
  EXPECT_EQ(place.address, "b12");
  EXPECT_FALSE(place.launcher_has_store);
  variables["SLURM_PROCID"] = "0";
  EXPECT_EQ(place_in(variables).port, place.port);
  variables["SLURM_JOB_ID"] = "1235";
  EXPECT_NE(place_in(variables).port, place.port);
  variables["SLURM_STEP_ID"] = "1";
  const int64_t port = place_in(variables).port;
  variables["SLURM_STEP_ID"] = "2";  // another srun of the same job
  EXPECT_NE(place_in(variables).port, port);
  variables["MASTER_ADDR"] = "other";
  variables["MASTER_PORT"] = "4711";
  EXPECT_EQ(place_in(variables).address, "other");
  EXPECT_EQ(place_in(variables).port, 4711);
}

TEST(PlaceTest, OfOpenMpi) {
  std::map<std::string, std::string> variables{{"OMPI_COMM_WORLD_SIZE", "2"},
                                               {"OMPI_COMM_WORLD_RANK", "1"},
                                               {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                               {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                                               {"PMIX_NAMESPACE", "3141"}};
  EXPECT_EQ(place_in(variables).address, "127.0.0.1");
  // mpirun starts its daemons by srun, whose variables the ranks inherit.
  variables["SLURM_STEP_NUM_TASKS"] = "1";
  variables["SLURM_PROCID"] = variables["SLURM_LOCALID"] = "0";
  EXPECT_EQ(place_in(variables).rank, 1);
  EXPECT_EQ(place_in(variables).launcher, "mpirun");
  variables["OMPI_COMM_WORLD_LOCAL_SIZE"] = "1";
  EXPECT_EQ(error_in(variables),
            "the environment's MASTER_ADDR is missing: set it to the name of the machine of rank 0 (mpirun "
            "starts 2 "
            "processes on several machines)");
}

TEST(PlaceTest, ErrorsNameTheVariable) {
  auto variables = kTorchrun;
  variables.erase("RANK");
  EXPECT_EQ(
      error_in(variables),
      "the environment's RANK is missing: torchrun sets it to a number; start the program with torchrun, or "
      "unset its variables");
  variables["RANK"] = "first";
  EXPECT_TRUE(error_in(variables).starts_with("the environment's RANK is \"first\": "));
  variables["RANK"] = "4";
  EXPECT_EQ(error_in(variables),
            "the environment's RANK is 4 and its WORLD_SIZE 4: ranks are below the number of processes");
}

TEST(PlaceTest, TheFirstNodeOfAList) {
  EXPECT_EQ(first_node("a"), "a");
  EXPECT_EQ(first_node("a,b[1-2]"), "a");
  EXPECT_EQ(first_node("b[12-14,20],c1"), "b12");
  EXPECT_EQ(first_node("b[007,009]"), "b007");
  EXPECT_EQ(first_node("b[3]"), "b3");
  EXPECT_EQ(first_node("rack[1-2]-node.x,c"), "rack1-node.x");
}

}  // namespace
}  // namespace cohort::dist
