// Data sets: rows on demand from plain and compressed files, and every way in which a row is left out or
// refused.
#include "cohort/tasks/dataset.h"

#include <sys/stat.h>

#include <set>

#include "tests/core/compressed.h"
#include "tests/core/test_files.h"

namespace cohort {
namespace {

std::vector<int32_t> bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

const TextFormat kBytes{bytes_of, bytes_of, {}};

RowLengths measure(const Row& row) {
  const auto length = static_cast<int64_t>(to_prompt(row, kBytes).token_ids.size());
  return {length, length + 1};
}

std::string prompt_line(const std::string& prompt) { return to_json_text({{"prompt", prompt}}) + "\n"; }

/// The prompts p0, p1, ...
std::string numbered(int begin, int end) {
  std::string text;
  for (int i = begin; i < end; ++i) text += prompt_line(str("p", i));
  return text;
}

class DatasetTest : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) {
    write_text(directory_.path() / name, text);
    return (directory_.path() / name).string();
  }

  static DatasetOptions options_for(std::vector<std::string> paths) {
    DatasetOptions options;
    options.sources = {{std::move(paths), {}, "", {}}};
    return options;
  }

  std::string refuse(const DatasetOptions& options) {
    const std::string message = message_of<UserError>([&] { Dataset(options, measure); });
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    return message;
  }

  static std::vector<std::string> prompts_of(const Dataset& data, int64_t source = 0) {
    std::vector<std::string> prompts;
    for (int64_t i = 0; i < data.reports()[source].num_used; ++i) {
      prompts.push_back(data.row({source, i}).columns.at("prompt"));
    }
    return prompts;
  }

  static void expect_all_accounted(const Dataset& data) {
    for (const SourceReport& r : data.reports()) {
      EXPECT_EQ(r.num_rows, r.num_used + r.num_other_split + r.num_duplicates + r.num_overlong);
    }
  }

  TemporaryDirectory directory_;
};

TEST_F(DatasetTest, RowsAreReadOnDemandWithTheirLines) {
  std::string text = "\xEF\xBB\xBF";
  for (int i = 0; i < 1000; ++i) {
    text += prompt_line(str("p", i)) + (i % 3 == 0 ? "\n \n" : "") + (i % 7 == 0 ? "\r\n" : "");
  }
  std::vector<int64_t> lines;
  int64_t line = 0;
  for (int i = 0; i < 1000; ++i) {
    lines.push_back(++line);
    line += (i % 3 == 0 ? 2 : 0) + (i % 7 == 0 ? 1 : 0);
  }
  for (const auto& [name, bytes] : std::map<std::string, std::string>{
           {"plain.jsonl", text}, {"gzip", gzipped(text)}, {"zstd", zstandard(text)}}) {
    const std::string path = write(name, bytes);
    const Dataset data(options_for({path}), measure);
    ASSERT_EQ(data.num_rows(), 1000);
    for (const int64_t i : {999, 0, 500, 64, 63, 65, 128, 1, 998}) {
      const Row row = data.row({0, i});
      EXPECT_EQ(row.columns.at("prompt"), str("p", i));
      EXPECT_EQ(row.id, str(name, ":", lines[i]));
      EXPECT_EQ(row.where, str(path, ":", lines[i]));
    }
  }
}

TEST_F(DatasetTest, LongRowsAreReadWhole) {
  const std::string text(100000, 'x');
  const Dataset data(
      options_for({write("a", prompt_line("short") + prompt_line(text) + "{\"prompt\":\"end\"}")}), measure);
  EXPECT_EQ(data.row({0, 1}).columns.at("prompt"), text);
  EXPECT_EQ(data.row({0, 2}).columns.at("prompt"), "end");
  EXPECT_EQ(data.row({0, 2}).id, "a:3");
  EXPECT_EQ(data.prompt_lengths().rbegin()->first, 100000);
  EXPECT_EQ(data.longest_total(), 100001);
}

TEST_F(DatasetTest, SeveralFilesAndPatternsAreOneSource) {
  std::filesystem::create_directory(directory_.path() / "x");
  write("b1.jsonl", numbered(10, 20));
  write("b0.jsonl", numbered(0, 10));
  const std::string last = write("x/b0.jsonl", numbered(20, 25));
  const Dataset data(options_for({(directory_.path() / "b?.jsonl").string(), last}), measure);
  ASSERT_EQ(data.num_rows(), 25);
  for (int64_t i = 0; i < 25; ++i) EXPECT_EQ(data.row({0, i}).columns.at("prompt"), str("p", i));
  EXPECT_EQ(data.row({0, 10}).id, "b1.jsonl:1");
  std::set<std::string> ids;
  for (int64_t i = 0; i < 25; ++i) ids.insert(data.row({0, i}).id);
  EXPECT_EQ(ids.size(), 25u);
}

TEST_F(DatasetTest, PathsThatAreNoFilesAreRefused) {
  const std::string good = write("good", numbered(0, 3));
  const std::filesystem::path fifo = directory_.path() / "fifo", loop = directory_.path() / "loop";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  std::filesystem::create_symlink(loop, loop);
  EXPECT_NE(refuse(options_for({fifo})).find("is a FIFO"), std::string::npos);
  EXPECT_NE(refuse(options_for({directory_.path()})).find("is a folder"), std::string::npos);
  EXPECT_NE(refuse(options_for({loop})).find("loop"), std::string::npos);
  EXPECT_NE(refuse(options_for({good + "-none"})).find("does the file exist?"), std::string::npos);
  EXPECT_NE(refuse(options_for({good + "*.none"})).find("no file matches"), std::string::npos);
  EXPECT_NE(refuse(options_for({good, good})).find("named twice"), std::string::npos);
  EXPECT_NE(refuse(options_for({good, directory_.path() / "goo*"})).find("named twice"), std::string::npos);
  EXPECT_NE(refuse(options_for({write("empty", "\n\n")})).find("no row is left to use: of 0 rows"),
            std::string::npos);
  EXPECT_NE(refuse(options_for({write("cut", gzipped(numbered(0, 100)).substr(0, 50))})).find("cut short"),
            std::string::npos);
  EXPECT_EQ(expand_paths({write("odd[1]", "x")}).size(), 1u);
}

TEST_F(DatasetTest, SmallFilesThatClaimMuchAreRefused) {
  const std::string bomb = zstandard(std::string(size_t{256} << 20, '\n'));
  ASSERT_LT(bomb.size(), 100000u);
  EXPECT_NE(refuse(options_for({write("bomb", bomb)})).find("times as large as the file"), std::string::npos);
}

TEST_F(DatasetTest, BadRowsNameTheirLine) {
  for (const char* bad :
       {"{\"question\":\"a\"}", "{\"prompt\":3}", "{\"prompt\":null}", "{\"prompt\":[{\"role\":\"user\"}]}",
        "{\"prompt\":\"\"}", "[1]", "\"a\"", "{\"prompt\":\"a\"", "nonsense", "{\"prompt\":[]}",
        "{\"prompt\":[1]}", "{\"prompt\":[{\"role\":1}]}", "{\"prompt\":{}}",
        "{\"prompt\":\"a\",\"prompt\":\"b\"}"}) {
    for (const int64_t num_threads : {1, 4}) {
      DatasetOptions options =
          options_for({write("bad.jsonl", numbered(0, 2) + bad + "\n" + numbered(3, 9000) + "[]")});
      options.num_threads = num_threads;
      EXPECT_NE(refuse(options).find("bad.jsonl:3: "), std::string::npos) << bad << ": " << refuse(options);
    }
  }
}

TEST_F(DatasetTest, ThreadsChangeNothing) {
  DatasetOptions options = options_for({write("a", numbered(0, 20000))});
  options.test_split_size = 0.3;
  const Dataset one(options, measure);
  options.num_threads = 5;
  const Dataset five(options, measure);
  EXPECT_EQ(prompts_of(one), prompts_of(five));
  EXPECT_EQ(one.reports()[0].fingerprint, five.reports()[0].fingerprint);
}

TEST_F(DatasetTest, TheSplitIsAPropertyOfThePrompt) {
  const auto split = [&](const std::string& text, double size, bool is_held_out) {
    DatasetOptions options = options_for({write("split", text)});
    options.test_split_size = size;
    options.is_held_out = is_held_out;
    const Dataset data(options, measure);
    expect_all_accounted(data);
    const auto prompts = prompts_of(data);
    return std::set(prompts.begin(), prompts.end());
  };
  const auto train = split(numbered(0, 5000), 0.1, false), test = split(numbered(0, 5000), 0.1, true);
  EXPECT_EQ(train.size() + test.size(), 5000u);
  // More rows, other columns and another order move no prompt; a larger share holds out more.
  std::string more = numbered(4000, 8000) + numbered(0, 4000);
  const auto larger = split(more, 0.1, true), wider = split(more, 0.2, true);
  EXPECT_TRUE(std::includes(larger.begin(), larger.end(), test.begin(), test.end()));
  EXPECT_TRUE(std::includes(wider.begin(), wider.end(), larger.begin(), larger.end()));
  for (const std::string& prompt : train) EXPECT_FALSE(larger.contains(prompt));
  // Published splits must stay what they are; these come from FNV-1a and Philox written in Python.
  EXPECT_EQ(test.size(), 510u);
  EXPECT_EQ(*test.begin(), "p1022");
}

TEST_F(DatasetTest, DuplicatesAreLeftOutAcrossSources) {
  const std::string first = write("a", R"({"prompt":"x","n":1})"
                                       "\n"
                                       R"({"prompt":"y","n":1})"
                                       "\n"
                                       R"({"n":1,"prompt":"x"})"
                                       "\n");
  const std::string second = write("b", R"({"prompt":"z"})"
                                        "\n"
                                        R"({"prompt":"y","n":2})"
                                        "\n"
                                        R"({ "prompt" : "x", "n" : 1 })"
                                        "\n");
  DatasetOptions options;
  options.sources = {{{first}, {}, "", {}}, {{second}, {}, "", {}}};
  using Names = std::vector<std::string>;
  EXPECT_EQ(prompts_of(Dataset(options, measure), 1), (Names{"z", "y", "x"}));
  options.deduplicate = Deduplicate::kPrompt;
  const Dataset by_prompt(options, measure);
  EXPECT_EQ(prompts_of(by_prompt, 0), (Names{"x", "y"}));
  EXPECT_EQ(prompts_of(by_prompt, 1), (Names{"z"}));
  EXPECT_EQ(by_prompt.reports()[1].num_duplicates, 2);
  expect_all_accounted(by_prompt);
  options.deduplicate = Deduplicate::kRow;
  EXPECT_EQ(prompts_of(Dataset(options, measure), 0), (Names{"x", "y"}));
  EXPECT_EQ(prompts_of(Dataset(options, measure), 1), (Names{"z", "y"}));
}

TEST_F(DatasetTest, OverlongPromptsAreAnErrorOrLeftOut) {
  const std::string path = write("long", prompt_line("1234") + prompt_line("12345") + prompt_line("1234567"));
  DatasetOptions options = options_for({path});
  options.max_prompt_length = 4;
  EXPECT_NE(refuse(options).find("long:2: the prompt has 5 tokens, more than data.max_prompt_length = 4"),
            std::string::npos);
  options.filter_overlong_prompts = true;
  const Dataset data(options, measure);
  EXPECT_EQ(data.num_rows(), 1);
  EXPECT_EQ(data.reports()[0].num_overlong, 2);
  expect_all_accounted(data);
  options.max_prompt_length.reset();
  options.context_length = 7;
  EXPECT_EQ(Dataset(options, measure).num_rows(), 2);
  options.filter_overlong_prompts = false;
  EXPECT_NE(refuse(options).find("long:3: "), std::string::npos);
  options.filter_overlong_prompts = true;
  options.context_length = 2;
  EXPECT_NE(refuse(options).find("3 too long"), std::string::npos);
}

TEST_F(DatasetTest, ColumnsTakeOtherNamesAndSourcesTagTheirRows) {
  const std::string path = write("q", R"({"question":"2+2","prompt":"old","answer":4,"domain":"x"})"
                                      "\n");
  DatasetOptions options = options_for({path});
  options.sources[0].columns = {{"prompt", "question"}, {"solution", "answer"}};
  EXPECT_EQ(Dataset(options, measure).row({0, 0}).columns,
            Json::parse(R"({"prompt":"2+2","domain":"x","solution":4})"));
  options.sources[0].domain = "math";
  EXPECT_EQ(Dataset(options, measure).row({0, 0}).columns.at("domain"), "math");
  options.sources[0].columns = {{"prompt", "answer"}, {"answer", "prompt"}};
  EXPECT_NE(refuse(options).find("must be a string or a list of messages, not number"), std::string::npos);
  options.sources[0].columns = {{"prompt", "problem"}};
  EXPECT_NE(refuse(options).find(R"(q:1: the column "problem" is missing)"), std::string::npos);
}

TEST_F(DatasetTest, ColumnsReachIntoNestedOnes) {
  const std::string path = write("v", R"({"p":"2+2","reward_model":{"ground_truth":"4","style":"rule"},)"
                                      R"("turns":[{"v":"a"},{"v":"b"}],"x.y":"whole","x":{"y":"part"}})"
                                      "\n");
  DatasetOptions options = options_for({path});
  options.sources[0].columns = {
      {"prompt", "p"}, {"answer", "reward_model.ground_truth"}, {"last", "turns.1.v"}, {"dotted", "x.y"}};
  EXPECT_EQ(
      Dataset(options, measure).row({0, 0}).columns,
      Json::parse(R"({"reward_model":{"ground_truth":"4","style":"rule"},"turns":[{"v":"a"},{"v":"b"}],)"
                  R"("x":{"y":"part"},"answer":"4","dotted":"whole","last":"b","prompt":"2+2"})"));
  for (const char* missing :
       {"reward_model.gold", "p.x", "turns.2.v", "turns.v", "reward_model.", ".p", "turns.-1"}) {
    options.sources[0].columns = {{"prompt", "p"}, {"answer", missing}};
    EXPECT_NE(refuse(options).find(str("v:1: the column \"", missing, "\" is missing")), std::string::npos);
  }
}

TEST_F(DatasetTest, AFileThatChangesMeanwhileIsRefused) {
  const std::string path = write("a", numbered(0, 100));
  const Dataset data(options_for({path}), measure);
  // A file that was replaced is still there for who has opened it.
  std::filesystem::rename(path, path + ".old");
  write("a", "{}");
  EXPECT_EQ(data.row({0, 3}).columns.at("prompt"), "p3");
  write_text(path + ".old", numbered(1, 101));
  EXPECT_NE(message_of<FormatError>([&] { data.row({0, 3}); }).find("was changed while"), std::string::npos);
}

TEST_F(DatasetTest, ReadsPromptsAtOnce) {
  const std::string path = write(
      "d.jsonl", "{\"answer\": 4, \"prompt\": \"2+2\"}\n\n  \r\n{\"prompt\":\"\\u00e9\",\"tags\":[\"x\"]}");
  const std::vector<Prompt> prompts = read_prompts(path, kBytes);
  ASSERT_EQ(prompts.size(), 2u);
  EXPECT_EQ(prompts[0].id, "d.jsonl:1");
  EXPECT_EQ(prompts[0].text, "2+2");
  EXPECT_EQ(prompts[0].token_ids, (std::vector<int32_t>{'2', '+', '2'}));
  EXPECT_EQ(prompts[0].fields, Json({{"answer", 4}}));
  EXPECT_EQ(prompts[1].id, "d.jsonl:4");
  EXPECT_EQ(prompts[1].text, "\xc3\xa9");
  EXPECT_EQ(prompts[1].fields, Json::parse(R"({"tags":["x"]})"));
  EXPECT_NE(message_of<FormatError>([&] { read_prompts(write("e", "\n\n"), kBytes); }).find("no prompts"),
            std::string::npos);
  EXPECT_THROW(read_prompts("/nowhere/at/all.jsonl", kBytes), FormatError);
}

}  // namespace
}  // namespace cohort
