// Values in prose: read whole or not at all, in the notations of many countries.
#include <gtest/gtest.h>

#include "tests/rewards/test_rows.h"

namespace cohort {
namespace {

using Rows = std::vector<std::pair<std::string, std::string>>;

std::string score(const std::string& type, const std::string& completion, const std::string& gold) {
  return brief(
      make_reward({.name = type})->score(make_prompt({{"answer", gold}}), make_completion(completion)));
}

void expect_all(const std::string& type, const std::string& expected, const Rows& rows) {
  for (const auto& [completion, gold] : rows)
    EXPECT_EQ(score(type, completion, gold), expected) << type << ": " << completion << " | " << gold;
}

TEST(ProseValues, ThousandsOfEveryCountry) {
  for (const char* spelled : {"7,308,250", "7 308 250", "7\u00a0308\u00a0250", "7\u202f308\u202f250",
                              "7\u2009308\u2009250", "7'308'250", "7’308’250", "7.308.250", "73,08,250",
                              "7_308_250", "７３０８２５０", "７，３０８，２５０", "٧٣٠٨٢٥٠", "٧٬٣٠٨٬٢٥٠",
                              "७३०८२५०", "7{,}308{,}250", "$7{,}308{,}250$", "$7\\,308\\,250$"}) {
    for (const std::string& text :
         {"They sold " + std::string(spelled) + " tickets.", "The answer is " + std::string(spelled) + ".",
          "<answer>It is " + std::string(spelled) + ".</answer>"}) {
      EXPECT_EQ(score("accuracy", text, "7308250"), "1 ok") << text;
      EXPECT_EQ(score("numeric", text, "7308250"), "1 ok") << text;
      for (const char* part : {"250", "8250", "308250", "7", "7308", "73", "7.308"}) {
        EXPECT_EQ(score("accuracy", text, part), "0 ok") << text << " " << part;
        EXPECT_EQ(score("numeric", text, part), "0 ok") << text << " " << part;
      }
    }
  }
}

TEST(ProseValues, DecimalsOfEveryCountry) {
  expect_all("accuracy", "1 ok",
             {{"Es kostet 4,75 Euro.", "4.75"},
              {"Le total est de 4 812,60 €.", "4812.6"},
              {"Das sind 4.812,60 Euro.", "4812.6"},
              {"That is CHF 4'812.60.", "4812.6"},
              {"The rate is 0,125.", "1/8"},
              {"Insgesamt sind es 48.120 Einwohner.", "48120"},
              {"Die Summe beträgt 48.120 Euro.", "48120"},
              {"La somma è 48.120 euro.", "48120"},
              {"Die Antwort ist 48.120.", "48120"},
              {"It weighs 48.120 kg.", "48.12"}});
  expect_all("accuracy", "0 ok",
             {{"Es kostet 4,75 Euro.", "75"},
              {"Es kostet 4,75 Euro.", "475"},
              {"Le total est de 4 812,60 €.", "60"},
              {"Le total est de 4 812,60 €.", "812.6"},
              {"It weighs 48.120 kg.", "48120"},
              {"Version 4.7.5", "5"},
              {"So 12 34 56.", "56"}});
}

TEST(ProseValues, FractionsPowersAndSigns) {
  expect_all("accuracy", "1 ok",
             {{"It takes 3½ hours.", "7/2"},
              {"It takes 3 ⅔ hours.", "11/3"},
              {"The chance is ⅜.", "3/8"},
              {"We need 5⁄8 of it.", "0.625"},
              {"We need 1³⁄₈ inches.", "11/8"},
              {"There are 3⁴ ways.", "81"},
              {"That is 6 × 10⁸ atoms.", "600000000"},
              {"We get 7.5e4.", "75000"},
              {"So we get ⌈6.2⌉.", "7"},
              {"The share is 8‰.", "0.008"},
              {"The rate is 3‱.", "0.0003"}});
  expect_all("accuracy", "0 ok",
             {{"It takes 3½ hours.", "3"},
              {"It takes 3 ⅔ hours.", "3"},
              {"It takes 3 ⅔ hours.", "2/3"},
              {"There are 3⁴ ways.", "3"},
              {"There are 3⁴ ways.", "4"},
              {"There are 7ᵐ ways.", "7"},
              {"So we get 4ⁿ⁺¹.", "4"},
              {"That is 6 × 10⁸ atoms.", "6"},
              {"We get 7.5e4.", "7.5"},
              {"So we get ⌊6.2⌋.", "6.2"},
              {"So we get ⌊6.2⌋.", "0.2"},
              {"The share is 8‰.", "8"},
              {"So it is 5 ∗ 3.", "3"},
              {"So it is ∮9.", "9"},
              {"The code is 0x7.", "7"},
              {"It is 6\\undefined{2}.", "6"},
              {"It is 4~9.", "9"}});
}

TEST(ProseValues, ChineseJapaneseAndKorean) {
  expect_all("accuracy", "1 ok",
             {{"答案是36。", "36"},
              {"最终答案：36", "36"},
              {"所以，一共需要36本书。", "36"},
              {"所以一共有3万人。", "30000"},
              {"所以总共花了1.5亿元。", "150000000"},
              {"結果は36になります。", "36"},
              {"よって、答えは36個です。", "36"},
              {"정답은 36입니다.", "36"},
              {"따라서 모두 36개입니다.", "36"},
              {"\\boxed{36\\text{ 本}}", "36"},
              {"\\boxed{36人}", "36"},
              {"\\boxed{3万}", "30000"},
              {"\\boxed{36}", "36。"},
              {"\\boxed{36\\text{厘米}}", "36\\text{ cm}"},
              {"因此选C。", "C"},
              {"答案：（C）", "C"}});
  expect_all("accuracy", "0 ok",
             {{"答案不是36。", "36"},
              {"答案是36或37。", "37"},
              {"答案是36或37。", "36"},
              {"所以一共有3万人。", "3"},
              {"所以是3万5千。", "5000"},
              {"所以是7分之2。", "2"},
              {"所以大于36。", "36"},
              {"至少有36个。", "36"},
              {"一共36个以上。", "36"},
              {"答えは36ではありません。", "36"},
              {"答えは36個ではない。", "36"},
              {"정답은 36이 아닙니다.", "36"},
              {"从36到40。", "40"},
              {"答案是3月6日。", "6"},
              {"\\boxed{36以上}", "36"},
              {"\\boxed{36\\text{或}37}", "36"}});
}

TEST(ProseValues, OtherLanguagesDenyAndDoubtToo) {
  expect_all("accuracy", "1 ok",
             {{"Die Antwort ist 36.", "36"},
              {"La réponse est 36 pommes.", "36"},
              {"En total hay 36 niños.", "36"},
              {"Ответ: 36 яблок.", "36"},
              {"\\boxed{36\\text{ Äpfel}}", "36"},
              {"\\boxed{36 км}", "36\\text{ km}"},
              {"\\boxed{36\\text{ élèves}}", "36"}});
  expect_all("accuracy", "0 ok",
             {{"Die Antwort ist nicht 36.", "36"},
              {"Es sind 35 oder 36.", "36"},
              {"La réponse n'est pas 36.", "36"},
              {"C'est 35 ou 36.", "36"},
              {"La respuesta no es 36.", "36"},
              {"Son 35 o 36.", "36"},
              {"Ответ не 36.", "36"},
              {"Их 35 или 36.", "36"}});
}

TEST(ProseValues, APercentSignMayBeMissingOnOneSide) {
  expect_all("accuracy", "1 ok",
             {{"\\boxed{45\\%}", "45"},
              {"\\boxed{45}", "45%"},
              {"\\boxed{0.45}", "45%"},
              {"The rate is 45 percent.", "45"},
              {"#### 45%", "#### 45"},
              {"\\boxed{-45\\%}", "-45"}});
  expect_all("accuracy", "0 ok",
             {{"\\boxed{0.45}", "45"},
              {"\\boxed{45\\%}", "4500"},
              {"\\boxed{45\\%}", "4.5"},
              {"\\boxed{45\\%}", "45\\text{ dollars}"},
              {"\\boxed{45\\%}", "0.45\\%"},
              {"\\boxed{45\\%}", "45^\\circ"}});
}

TEST(ProseValues, SentencesBetweenTags) {
  const auto tagged = [](const std::string& text) {
    return "<think>a</think>\n<answer>" + text + "</answer>";
  };
  for (const char* text : {"There are 27 coins.", "So it must be $27$.", "The number of coins is 27",
                           "27 coins are left.", "She has 30 coins, loses 3 and keeps 27.",
                           "He pays $27 in total.", "Thus, x is 27", "The answer is 27, since 30 - 3 = 27."})
    EXPECT_EQ(score("accuracy", tagged(text), "27"), "1 ok") << text;
  for (const char* text :
       {"There are 26 or 27 coins.", "There are not 27 coins.", "It isn't 27.", "There are 27 or more.",
        "Perhaps there are 27 coins.", "27 of 27", "At least 27 coins.", "27 is wrong."})
    EXPECT_EQ(score("accuracy", tagged(text), "27"), "0 ok") << text;
  EXPECT_EQ(score("accuracy", tagged("Platform 9"), "Platform 9"), "1 ok");
  EXPECT_EQ(score("accuracy", tagged("27, not 26."), "27"), "1 ok");
  EXPECT_EQ(score("accuracy", tagged("27, not 26."), "26"), "0 ok");
  EXPECT_EQ(score("accuracy", tagged("Not 26 but 27."), "27"), "1 ok");
  EXPECT_EQ(score("accuracy", tagged("Not 26 but 27."), "26"), "0 ok");
}

TEST(ProseValues, NumericReadsAsAccuracyDoes) {
  expect_all("numeric", "1 ok",
             {{"The area is 7 m^3.", "7"},
              {"There are 6^2 cells.", "36"},
              {"It is 2.5 x 10^3.", "2500"},
              {"The share is \\frac{7}{8}.", "0.875"},
              {"About 3 million.", "3000000"},
              {"\\boxed{4{,}096}", "4096"},
              {"\\boxed{2^{12}}", "4096"},
              {"\\boxed{\\sqrt{2}}", "1.4142135623730951"},
              {"It weighs 3¾ kg.", "3.75"},
              {"It weighs 3¾ kg.", "3750 g"},
              {"答案是36。", "36"},
              {"He sold 12 500.", "12500"}});
  expect_all("numeric", "0 ok",
             {{"The area is 7 m^3.", "3"},
              {"There are 6^2 cells.", "2"},
              {"There are 6^2 cells.", "6"},
              {"The volume is y^3.", "3"},
              {"It is 2.5 x 10^3.", "3"},
              {"The share is \\frac{7}{8}.", "8"},
              {"About 3 million.", "3"},
              {"At 2:45.", "45"},
              {"It weighs 3¾ kg.", "3"},
              {"Either 4 or 5.", "5"},
              {"It is not 5.", "5"}});
}

TEST(ProseValues, SignsThatLeaveAValueOpenMakeItNoAnswer) {
  for (const std::string type : {"accuracy", "numeric"}) {
    expect_all(type, "0 ok",
               {{"The answer is 37-.", "37"},
                {"So we get 37-", "37"},
                {"The answer is 37...", "37"},
                {"So we get 37…", "37"},
                {"The answer is ⁻37.", "37"},
                {"The answer is ³√64.", "8"},
                {"3,0000", "3"},
                {"The answer is 14,2500.", "14.25"},
                {"37 to 40", "40"},
                {"人数从37增加到40。", "40"},
                {"人数从37增加到40。", "37"}});
    expect_all(type, "1 ok",
               {{"The answer is 37 - as shown.", "37"},
                {"It costs 37.- francs.", "37"},
                {"So x... is 37.", "37"},
                {"The answer is 0.333...", "1/3"},
                {"The answer is 3,1416.", "3.1416"},
                {"The answer is 0,2500.", "0.25"},
                {"人数增加到40。", "40"}});
  }
}

TEST(ProseValues, SignsBetweenTwoNumbersJoinThem) {
  for (const char* joined : {"38 ~ 40", "38～ 40", "38 ✖ 40", "38 ✕40", "38 ↑↑ 40", "38 • 40", "38 ‒ 40",
                             "38 х 40", "38 // 40", "38 choose 40", "38 乘 40", "38 до 40"}) {
    const std::string text = joined;
    EXPECT_EQ(score("accuracy", "So we get " + text + ".", "40"), "0 ok") << text;
    EXPECT_EQ(score("accuracy", "So we get " + text + ".", "38"), "0 ok") << text;
  }
  expect_all("accuracy", "1 ok",
             {{"So we get 5 х 8.", "40"},
              {"So 5 + 3 = 8 — 8 apples.", "8"},
              {"So we get ~40.", "40"},
              {"The answer is ‒40.", "-40"}});
}

TEST(ProseValues, ScalesOfMoreLanguages) {
  expect_all("accuracy", "1 ok",
             {{"Toplam 37 milyon.", "37000000"},
              {"Totalnya 37 juta.", "37000000"},
              {"Tổng là 37 triệu.", "37000000"},
              {"कुल 37 लाख।", "3700000"},
              {"المجموع 37 مليون.", "37000000"},
              {"ทั้งหมด 37 ล้าน", "37000000"}});
  expect_all("accuracy", "0 ok",
             {{"Toplam 37 milyon.", "37"},
              {"Totalnya 37 juta.", "37"},
              {"Tổng là 37 triệu.", "37"},
              {"कुल 37 लाख।", "37"},
              {"المجموع 37 مليون.", "37"},
              {"ทั้งหมด 37 ล้าน", "37"},
              {"<answer>37多</answer>", "37"},
              {"\\boxed{37半}", "37"},
              {"答案是37出头", "37"},
              {"共有 37 分之 2", "2"},
              {"答えは37より多い。", "37"},
              {"答案是负 37", "37"}});
}

TEST(ProseValues, DenialsAndAlternativesOfMoreLanguages) {
  for (const char* text :
       {"Cevap 37 değildir.", "Jawabannya bukan 37.", "Vastaus ei ole 37.", "התשובה אינה 37",
        "Răspunsul nu este 37.", "Odpověď není 37.", "Odgovor nije 37.", "คำตอบไม่ใช่ 37",
        "Jawabannya 36 atau 37.", "Η απάντηση είναι 36 ή 37.", "A válasz 36 vagy 37.", "התשובה היא 36 או 37",
        "Odpověď je 36 nebo 37.", "Răspunsul este 36 sau 37.", "คำตอบคือ 36 หรือ 37", "อย่างน้อย 37"})
    EXPECT_EQ(score("accuracy", text, "37"), "0 ok") << text;
  for (const char* text :
       {"Cevap 37'dir.", "Jawabannya adalah 37.", "Vastaus on 37.", "Η απάντηση είναι 37.", "התשובה היא 37",
        "Răspunsul este 37.", "Odpověď je 37.", "คำตอบคือ 37", "คำตอบคือ37บาท", "Nu har hon 37 äpplen.",
        "Ein Ei kostet 37 Cent.", "Er zijn nu 37 appels."})
    EXPECT_EQ(score("accuracy", text, "37"), "1 ok") << text;
}

TEST(ProseValues, ConditionsAndExclusionsMakeItNoAnswer) {
  for (const std::string text :
       {"There are 37 apples if it rains.", "It costs 37 dollars unless it is Sunday.", "36 instead of 37",
        "Everything except 37", "The maximum is 40 when x = 37.", "It is divisible by 37."}) {
    EXPECT_EQ(score("accuracy", text, "37"), "0 ok") << text;
    EXPECT_EQ(score("accuracy", "<answer>" + text + "</answer>", "37"), "0 ok") << text;
  }
  for (const char* text : {"There are 37 apples, if I am right.", "If each has 1 apple, there are 37 apples.",
                           "We multiply instead of adding, and get 37.", "The maximum occurs when x = 37."})
    EXPECT_EQ(score("accuracy", text, "37"), "1 ok") << text;
}

TEST(ProseValues, GoldAnswersInEveryCountrysNotation) {
  for (const std::string type : {"accuracy", "numeric"}) {
    for (const char* gold : {"7,30,825", "₹7,30,825", "Rs. 7,30,825", "730.825,00", "730 825", "730'825"}) {
      EXPECT_EQ(score(type, "The answer is 730825.", gold), "1 ok") << type << gold;
      EXPECT_EQ(score(type, "The answer is 825.", gold), "0 ok") << type << gold;
      EXPECT_EQ(score(type, "The answer is 7.", gold), "0 ok") << type << gold;
    }
  }
  EXPECT_EQ(score("accuracy", "The answer is 1, 10, 100.", "1,10,100"), "1 ok");
  EXPECT_EQ(score("accuracy", "\\boxed{1, 10100}", "1,10,100"), "0 ok");
  EXPECT_EQ(score("accuracy", "\\boxed{1, 10000}", "1,10,000"), "1 ok");
}

// A double cannot tell these integers apart.
TEST(ProseValues, NumericComparesIntegersExactly) {
  expect_all("numeric", "1 ok",
             {{"The answer is 9007199254740993.", "9007199254740993"},
              {"9,007,199,254,740,993", "9007199254740993"},
              {"\\boxed{2^{70}}", "1180591620717411303424"},
              {"\\boxed{21!}", "51090942171709440000"},
              {"3000000000", "3e9"},
              {"9007199254740993 km", "9007199254740993000 m"}});
  expect_all("numeric", "0 ok",
             {{"The answer is 9007199254740992.", "9007199254740993"},
              {"The answer is -9007199254740992.", "-9007199254740993"},
              {"\\boxed{2^{70}}", "1180591620717411303425"},
              {"3000000000", "3000000001"},
              {"9007199254740992 km", "9007199254740993 km"},
              {"9007199254740992 apples", "9007199254740993"}});
  const auto tolerant = [](const RewardConfig& config, const std::string& text) {
    return brief(make_reward(config)->score(make_prompt({{"answer", "3000000000"}}), make_completion(text)));
  };
  EXPECT_EQ(tolerant({.name = "numeric", .keys = {{"absolute_tolerance", 1}}}, "3000000001"), "1 ok");
  EXPECT_EQ(tolerant({.name = "numeric", .keys = {{"absolute_tolerance", 1}}}, "3000000002"), "0 ok");
  EXPECT_EQ(tolerant({.name = "numeric", .keys = {{"relative_tolerance", 1e-9}}}, "3000000003"), "1 ok");
  EXPECT_EQ(tolerant({.name = "numeric", .keys = {{"relative_tolerance", 1e-9}}}, "3000000004"), "0 ok");
}

}  // namespace
}  // namespace cohort
