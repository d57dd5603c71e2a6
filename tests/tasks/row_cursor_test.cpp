// Coming back to the exact row, and refusing data that are not the same.
#include "cohort/tasks/row_cursor.h"

#include "cohort/core/error.h"
#include "cohort/tasks/dataset_source.h"
#include "tests/core/compressed.h"
#include "tests/core/test_files.h"

namespace cohort {
namespace {

std::vector<int32_t> bytes_of(const std::string& text) { return {text.begin(), text.end()}; }
const TextFormat kBytes{bytes_of, bytes_of, {}};

class RowCursorTest : public testing::Test {
 protected:
  std::string numbered(const std::string& prefix, int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += str("{\"prompt\":\"", prefix, i, "\"}\n");
    return text;
  }

  /// Two sources of 10 and 7 rows, drawn 2 : 1.
  Dataset open(const std::string& a, const std::string& b) {
    // Files that are in use must not be written to.
    const std::filesystem::path folder = directory_.path() / std::to_string(num_opened_++);
    std::filesystem::create_directory(folder);
    write_text(folder / "a", a);
    write_text(folder / "b", gzipped(b));
    DatasetOptions options;
    options.sources = {{{(folder / "a").string()}, 2.0, "", {}},
                       {{(folder / "b").string()}, 1.0, "tagged", {}}};
    return {options, [](const Row&) { return RowLengths{1, 2}; }};
  }

  static std::vector<std::string> take(RowCursor& cursor, int64_t count) {
    std::vector<std::string> prompts;
    for (const Row& row : cursor.next(count)) prompts.push_back(row.columns.at("prompt"));
    return prompts;
  }

  TemporaryDirectory directory_;
  int num_opened_ = 0;
};

TEST_F(RowCursorTest, ContinuesAtTheExactRowAcrossEpochsAndSources) {
  const Dataset data = open(numbered("a", 10), numbered("b", 7));
  for (int64_t consumed = 0; consumed < 70; ++consumed) {
    RowCursor cursor(data, 4, true);
    cursor.next(consumed);
    const Json state = Json::parse(cursor.save().dump());
    const Dataset again = open(numbered("a", 10), numbered("b", 7));
    RowCursor resumed(again, 4, true);
    resumed.next(5);
    resumed.load(state);
    EXPECT_DOUBLE_EQ(resumed.epoch(), static_cast<double>(consumed) / 17);
    ASSERT_EQ(take(resumed, 40), take(cursor, 40)) << consumed;
    EXPECT_EQ(resumed.save()["sources"][0]["position"], cursor.save()["sources"][0]["position"]);
  }
}

TEST_F(RowCursorTest, BatchSizesChangeNothing) {
  const Dataset data = open(numbered("a", 10), numbered("b", 7));
  RowCursor one(data, 4, true), many(data, 4, true), other(data, 5, true);
  std::vector<std::string> joined;
  for (int i = 0; i < 20; ++i) {
    for (const std::string& prompt : take(one, 3)) joined.push_back(prompt);
  }
  EXPECT_EQ(take(many, 60), joined);
  EXPECT_NE(take(other, 60), joined);
}

TEST_F(RowCursorTest, RefusesDataThatHaveChanged) {
  const Dataset data = open(numbered("a", 10), numbered("b", 7));
  RowCursor cursor(data, 4, true);
  cursor.next(12);
  const Json state = cursor.save();
  std::string edited = numbered("a", 10);
  edited[edited.find("a3")] = 'x';
  const auto refuse = [&](const std::string& a, const std::string& b) {
    const Dataset changed = open(a, b);
    RowCursor resumed(changed, 4, true);
    return message_of<FormatError>([&] { resumed.load(state); });
  };
  EXPECT_NE(refuse(edited, numbered("b", 7)).find("/a has changed since the checkpoint: 10 rows"),
            std::string::npos);
  EXPECT_NE(refuse(numbered("a", 10), numbered("b", 8)).find("/b has changed"), std::string::npos);
  EXPECT_NE(refuse(numbered("b", 10), numbered("b", 7)).find("/a has changed"), std::string::npos);
  // The same rows in another file order are other data.
  EXPECT_NE(
      refuse(numbered("a", 10), "{\"prompt\":\"b1\"}\n{\"prompt\":\"b0\"}\n" + numbered("b", 7).substr(32))
          .find("/b has changed"),
      std::string::npos);
  // Blank lines are no rows.
  const Dataset spaced = open("\n" + numbered("a", 10), numbered("b", 7) + "\n\n");
  RowCursor resumed(spaced, 4, true);
  EXPECT_NO_THROW(resumed.load(state));
}

TEST_F(RowCursorTest, RefusesAStateThatIsNotItsOwn) {
  const Dataset data = open(numbered("a", 10), numbered("b", 7));
  RowCursor cursor(data, 4, true);
  cursor.next(3);
  const Json state = cursor.save();
  const std::vector<std::string> expected = take(cursor, 7);
  cursor.load(state);
  EXPECT_THROW(RowCursor(data, 5, true).load(state), FormatError);
  for (const char* path : {"/seed", "/sources", "/sources/0", "/sources/1/position", "/sources/1/epoch",
                           "/sources/0/num_rows", "/sources/0/fingerprint"}) {
    for (const Json& wrong : {Json(), Json(-1), Json(0.5), Json("x"), Json(INT64_MAX), Json::array()}) {
      Json broken = state;
      broken[Json::json_pointer(path)] = wrong;
      EXPECT_THROW(cursor.load(broken), FormatError) << path << " = " << wrong;
    }
  }
  EXPECT_THROW(cursor.load(Json::array()), FormatError);
  EXPECT_EQ(take(cursor, 7), expected) << "a refused state must leave the place as it was";
}

TEST_F(RowCursorTest, GivesPrompts) {
  const Dataset data = open(numbered("a", 10), numbered("b", 7));
  DatasetSource source(data, kBytes, 4, false);
  const std::vector<Prompt> prompts = source.next(3);
  EXPECT_EQ(prompts[0].text + prompts[1].text + prompts[2].text, "a0a1b0");
  EXPECT_EQ(prompts[1].fields, Json::object());
  EXPECT_EQ(prompts[2].fields, Json({{"domain", "tagged"}}));
  EXPECT_EQ(prompts[2].id, "b:1");
  EXPECT_EQ(prompts[2].token_ids, bytes_of("b0"));
  const Json state = source.save();
  const std::string next = source.next(1)[0].text;
  source.load(state);
  EXPECT_EQ(source.next(1)[0].text, next);
}

}  // namespace
}  // namespace cohort
