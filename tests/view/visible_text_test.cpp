#include "libs/common/visible_text.h"

#include <gtest/gtest.h>

#include "cohort/view/markup.h"

namespace cohort {
namespace {

TEST(VisibleText, SpellsOutWhatActs) {
  EXPECT_EQ(visible_text("plain\ttext\n"), "plain\ttext\n");
  EXPECT_EQ(visible_text("\x1b[2J"), "⟨U+001B⟩[2J");
  EXPECT_EQ(visible_text("user\u202Egnp.exe"), "user⟨U+202E⟩gnp.exe");
  EXPECT_EQ(visible_text(std::string("a\0b", 3)), "a⟨U+0000⟩b");
  EXPECT_EQ(visible_text("a\rb\u2066\u2069\u200Bc\u009Bd\u2028"),
            "a⟨U+000D⟩b⟨U+2066⟩⟨U+2069⟩⟨U+200B⟩c⟨U+009B⟩d⟨U+2028⟩");
  EXPECT_EQ(visible_text("\U000E0041"), "⟨U+E0041⟩");
  EXPECT_EQ(visible_text("日本 é 👩‍🔬"), "日本 é 👩‍🔬");  // a joiner of an emoji stays
  EXPECT_EQ(visible_text("bad \xff\xc3 end"), "bad \uFFFD\uFFFD end");
  EXPECT_EQ(visible_line("a\nb\tc"), "a⏎b c");
}

TEST(VisibleText, CutsAtCharacters) {
  EXPECT_EQ(first_bytes("aé", 3), "aé");
  EXPECT_EQ(first_bytes("aé", 2), "a");
  EXPECT_EQ(first_bytes("日本", 5), "日");
  EXPECT_EQ(first_bytes("abc", 0), "");
}

TEST(VisibleText, CountsColumns) {
  EXPECT_EQ(num_columns("abc"), 3);
  EXPECT_EQ(num_columns("日本"), 4);
  EXPECT_EQ(num_columns("e\u0301"), 1);
  EXPECT_EQ(first_columns("abcdef", 6), "abcdef");
  EXPECT_EQ(first_columns("abcdefg", 6), "abcde…");
  EXPECT_EQ(first_columns("日本語", 5), "日本…");
  EXPECT_EQ(first_columns("日本語", 4), "日…");
  EXPECT_EQ(first_columns("abc", 0), "");
}

TEST(Markup, EscapesHtml) {
  EXPECT_EQ(escape_html("<script>alert('1' & \"2\")</script>"),
            "&lt;script&gt;alert(&#39;1&#39; &amp; &quot;2&quot;)&lt;/script&gt;");
  EXPECT_EQ(escape_html("\u202E\x1b"), "⟨U+202E⟩⟨U+001B⟩");
}

TEST(Markup, EscapesMarkdown) {
  EXPECT_EQ(escape_markdown("a|b *c* [x](y) <i> `d`\n# e"),
            "a\\|b \\*c\\* \\[x\\]\\(y\\) &lt;i&gt; \\`d\\`⏎\\# e");
}

TEST(Markup, FencesAreLongerThanTheTextsOwn) {
  EXPECT_EQ(markdown_code("x", "sh"), "```sh\nx\n```\n");
  EXPECT_EQ(markdown_code("````\n<b>\n````"), "`````\n````\n<b>\n````\n`````\n");
}

}  // namespace
}  // namespace cohort
