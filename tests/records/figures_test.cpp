#include "cohort/records/figures.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "cohort/core/error.h"
#include "tests/core/test_files.h"

namespace cohort {
namespace {

using FigureSteps = std::vector<int64_t>;
using FigureValues = std::vector<double>;

class FiguresTest : public testing::Test {
 protected:
  void append(const std::string& text, const char* name = "metrics.jsonl") const {
    std::ofstream(run() / name, std::ios::binary | std::ios::app) << text;
  }
  void replace(const std::string& text) const { write_text(run() / "metrics.jsonl", text); }
  std::filesystem::path run() const { return scratch_.path(); }

  const FigureColumn& column(const char* name) const {
    static const FigureColumn kNone;
    const FigureColumn* found = figures_.find(name);
    EXPECT_NE(found, nullptr) << name;
    return found != nullptr ? *found : kNone;
  }

  TemporaryDirectory scratch_;
  Figures figures_{scratch_.path()};
};

TEST_F(FiguresTest, FollowsFilesThatGrow) {
  EXPECT_FALSE(figures_.update());
  EXPECT_EQ(figures_.last_step(), 0);
  append("{\"step\":0,\"eval_reward\":0.25}\n{\"step\":1,\"reward\":-1.5e-3,\"loss\":2}\n");
  append("{\"step\":1,\"step_time\":4.5}\n", "timings.jsonl");
  EXPECT_TRUE(figures_.update());
  EXPECT_EQ(figures_.names(), (std::vector<std::string>{"eval_reward", "loss", "reward", "step_time"}));
  EXPECT_EQ(column("eval_reward").steps, (FigureSteps{0}));
  EXPECT_EQ(column("reward").values, (FigureValues{-0.0015}));
  EXPECT_EQ(column("step_time").values, (FigureValues{4.5}));
  EXPECT_EQ(figures_.last_step(), 1);
  EXPECT_EQ(figures_.version(), 1);
  EXPECT_FALSE(figures_.update());
  EXPECT_EQ(figures_.version(), 1);
  append("{\"step\": 2, \"loss\": 3, \"reward\": 0.5}\n");  // in another order, and with Python's spaces
  EXPECT_TRUE(figures_.update());
  EXPECT_EQ(column("reward").steps, (FigureSteps{1, 2}));
  EXPECT_EQ(column("reward").values, (FigureValues{-0.0015, 0.5}));
  EXPECT_EQ(column("loss").values, (FigureValues{2, 3}));
  EXPECT_EQ(figures_.last_step(), 2);
  EXPECT_EQ(figures_.find("nothing"), nullptr);
}

TEST_F(FiguresTest, ALineWithoutItsEndWaits) {
  append("{\"step\":1,\"reward\":1}\n{\"step\":2,\"rew");
  EXPECT_TRUE(figures_.update());
  EXPECT_EQ(column("reward").steps, (FigureSteps{1}));
  EXPECT_FALSE(figures_.update());
  append("ard\":12");
  EXPECT_FALSE(figures_.update());
  append("5}\n");
  EXPECT_TRUE(figures_.update());
  EXPECT_EQ(column("reward").values, (FigureValues{1, 125}));
}

TEST_F(FiguresTest, NullIsNoNumberAndOtherValuesAreLeftOut) {
  append(R"({"step":1,"loss":null,"name":"a\"b,}{","list":[1,{"x":"]"}],"yes":true,"last":1})"
         "\n");
  figures_.update();
  EXPECT_EQ(figures_.names(), (std::vector<std::string>{"last", "loss"}));
  EXPECT_EQ(column("loss").steps, (FigureSteps{1}));
  EXPECT_TRUE(std::isnan(column("loss").values.at(0)));
}

TEST_F(FiguresTest, NamesAreUnescaped) {
  append(R"({"step":1,"rewards/\u00e9 \"q\"/mean":1})"
         "\n"
         R"({"step":2,"rewards/é \"q\"/mean":2})"
         "\n");
  figures_.update();
  EXPECT_EQ(column("rewards/é \"q\"/mean").values, (FigureValues{1, 2}));
}

TEST_F(FiguresTest, AFileThatWasCutIsReadAgain) {
  const std::string first = "{\"step\":1,\"reward\":1}\n";
  append(first + "{\"step\":2,\"reward\":2,\"gone\":0}\n");
  append("{\"step\":1,\"step_time\":4.5}\n", "timings.jsonl");
  figures_.update();
  replace(first);
  EXPECT_TRUE(figures_.update());
  EXPECT_EQ(column("reward").steps, (FigureSteps{1}));
  EXPECT_EQ(figures_.find("gone"), nullptr);
  EXPECT_EQ(column("step_time").values, (FigureValues{4.5}));
  EXPECT_EQ(figures_.last_step(), 1);
  replace("");
  EXPECT_TRUE(figures_.update());
  EXPECT_EQ(figures_.names(), (std::vector<std::string>{"step_time"}));
  EXPECT_EQ(figures_.last_step(), 0);
}

TEST_F(FiguresTest, AFileThatGrewAfterItWasCutIsReadAgain) {
  append("{\"step\":1,\"reward\":1}\n{\"step\":2,\"reward\":2}\n");
  figures_.update();
  replace("{\"step\":1,\"reward\":1}\n{\"step\":2,\"reward\":7}\n{\"step\":3,\"reward\":8}\n");
  EXPECT_TRUE(figures_.update());
  EXPECT_EQ(column("reward").steps, (FigureSteps{1, 2, 3}));
  EXPECT_EQ(column("reward").values, (FigureValues{1, 7, 8}));
  std::filesystem::remove(run() / "metrics.jsonl");
  EXPECT_TRUE(figures_.update());
  EXPECT_TRUE(figures_.names().empty());
}

TEST_F(FiguresTest, AStepThatComesAgainReplacesItsValues) {
  append("{\"step\":1,\"a\":1}\n{\"step\":3,\"a\":3}\n{\"step\":2,\"a\":2}\n{\"step\":3,\"a\":4}\n");
  figures_.update();
  EXPECT_EQ(column("a").steps, (FigureSteps{1, 2, 3}));
  EXPECT_EQ(column("a").values, (FigureValues{1, 2, 4}));
}

TEST_F(FiguresTest, ABadLineIsNamed) {
  for (const char* bad : {"[1]", R"({"reward":1})", R"({"step":2)", R"({"step":2,})", R"({"step":2}x)", "",
                          R"({"step":2,"a":nan})", R"({"step":2.5})", R"({"step":2 "a":1})", "{step:2}"}) {
    replace(std::string("{\"step\":1,\"reward\":1}\n") + bad + "\n");
    const std::string message = message_of<FormatError>([&] { figures_.update(); });
    EXPECT_NE(message.find("metrics.jsonl:2: "), std::string::npos) << bad << ": " << message;
    EXPECT_EQ(column("reward").steps, (FigureSteps{1}));
    message_of<FormatError>([&] { figures_.update(); });
  }
  replace("{\"step\":1,\"reward\":1}\n{\"step\":2,\"reward\":1}\n");
  EXPECT_TRUE(figures_.update());
  EXPECT_EQ(column("reward").steps, (FigureSteps{1, 2}));
}

TEST_F(FiguresTest, LinesLongerThanAReadAreWhole) {
  const std::string filler(3 << 20, 'x');
  for (const char* step : {"1", "2", "3"})
    append(std::string("{\"step\":") + step + ",\"text\":\"" + filler + "\",\"a\":" + step + "}\n");
  figures_.update();
  EXPECT_EQ(column("a").values, (FigureValues{1, 2, 3}));
  EXPECT_FALSE(figures_.update());
  append("{\"step\":4,\"a\":4}\n");
  figures_.update();
  EXPECT_EQ(column("a").values, (FigureValues{1, 2, 3, 4}));
}

}  // namespace
}  // namespace cohort
