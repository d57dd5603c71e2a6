#include "cohort/rewards/choice/unspaced.h"

#include <algorithm>

#include "cohort/rewards/choice/words.h"

namespace cohort::choice {
namespace {

template <size_t size>
bool starts_with_one(std::string_view text, const std::string_view (&heads)[size]) {
  return std::any_of(std::begin(heads), std::end(heads),
                     [&](std::string_view head) { return text.starts_with(head); });
}

template <size_t size>
bool ends_with_one(std::string_view text, const std::string_view (&tails)[size]) {
  return std::any_of(std::begin(tails), std::end(tails),
                     [&](std::string_view tail) { return text.ends_with(tail); });
}

template <size_t size>
bool has_one(std::string_view text, const std::string_view (&parts)[size]) {
  return std::any_of(std::begin(parts), std::end(parts),
                     [&](std::string_view part) { return text.find(part) != std::string_view::npos; });
}

constexpr std::string_view kNouns[] = {
    "答案",   "正确",       "正確",   "选项",   "選項",     "选择", "選擇",   "选",   "選",   "正解",
    "答え",   "解答",       "正答",   "回答",   "正しい",   "結論", "结论",   "结果", "適切", "정답",
    "답",     "올바른",     "맞는",   "คำตอบ",  "ตอบ",      "ข้อ",   "ตัวเลือก", "故",   "因此", "所以",
    "よって", "したがって", "ゆえに", "따라서", "그러므로", "认为", "認為"};
constexpr std::string_view kIntros[] = {"选项", "選項", "選択肢", "选择支", "記号", "선택지", "보기",
                                        "字母", "项",   "記号の", "ตัวเลือก", "ข้อ",   "번"};
constexpr std::string_view kCopulas[] = {
    "是",     "为",         "為",     "即",     "应为",     "應為", "選", "选",         "选择", "選擇",
    "は",     "が",         "은",     "는",     "คือ",       "เป็น",  ":",  "であるのは", "のは", "答",
    "案",     "正解",       "答え",   "正答",   "解答",     "정답", "답", "故",         "因此", "所以",
    "よって", "したがって", "ゆえに", "따라서", "그러므로", "ตอบ",  "ข้อ"};
constexpr std::string_view kNegations[] = {"不",   "非",   "错",   "錯",   "误",     "誤",   "別",   "别",
                                           "排除", "除了", "间違", "間違", "アウト", "아닌", "아니", "틀린",
                                           "오답", "ไม่",   "ผิด",   "而不", "没有",   "沒有", "未"};
constexpr std::string_view kDenials[] = {"不是",   "不选", "不選",   "不为",   "不為", "不能选",   "不应选",
                                         "不能選", "非",   "并非",   "並非",   "排除", "排除选项", "而不是",
                                         "除了",   "而非", "不选择", "不選擇", "ไม่ใช่"};
constexpr std::string_view kTurns[] = {"而是", "ではなく", "じゃなく", "でなく", "아니라", "아니고", "แต่เป็น"};
constexpr std::string_view kDoubts[] = {
    "如果",     "若",   "假如", "假设", "可能", "也许", "也許", "或许", "或許",   "大概",     "もし",
    "かもしれ", "만약", "아마", "是否", "要是", "อาจ",  "ถ้า",   "有人", "误以为", "本来以为", "原以为"};
// Behind a letter.
constexpr std::string_view kCounters[] = {
    "选项", "選項", "选",   "項",   "项",     "番",     "번",   "の選択肢", "選択肢", "这个选项",
    "是",   "就是", "也",   "都",   "才",     "最",     "は",   "が",       "も",     "이",
    "가",   "은",   "는",   "均",   "为",     "為",     "的",   "說法",     "说法",   "の",
    "只有", "则",   "完全", "唯一", "的说法", "的描述", "描述", "符合"};
constexpr std::string_view kApprovals[] = {
    "正确",   "正確",   "对",       "對",     "正解",    "正答",     "答案",     "答え",
    "正しい", "適切",   "适合",     "正답",   "정답",    "맞",       "옳",       "올바",
    "最佳",   "合适",   "最も適切", "ถูก",     "คือคำตอบ", "符合题意", "符合題意", "を選",
    "を選択", "를선택", "을선택",   "를고르", "을고르",  "를택",     "을택"};
constexpr std::string_view kRefutals[] = {
    "不正确",    "不正確", "不对",   "不對",   "错",       "錯",         "误",
    "誤",        "間違",   "不正解", "不適切", "正しくな", "正しくあり", "正しいとは言え",
    "ではな",    "じゃな", "不是正", "不是对", "不是答",   "不是最",     "不是這",
    "不是这",    "不符合", "不成立", "不合",   "不可能",   "被排除",     "可以排除",
    "可排除",    "违背",   "틀",     "오답",   "아니",     "아닙",       "違",
    "ผิด",        "ไม่",     "无法",   "不满足", "不能",     "を除外",     "を選ばな",
    "适用于其他"};
constexpr std::string_view kEndings[] = {
    "の",         "不选",   "不選",   "不是",   "而不",   "而非",   "です", "だ",     "である", "でした",
    "でしょう",   "になり", "となり", "となる", "になる", "と",     "を選", "を選択", "を選び", "입니다",
    "이다",       "예요",   "이에요", "임",     "번",     "를",     "을",   "가",     "이",     "作为",
    "作為",       "因为",   "因為",   "由于",   "由於",   "而",     "项",   "項",     "选项",   "選項",
    "选",         "是",     "为",     "這",     "这",     "。",     "的",   "が",     "は",     "に",
    "ということ", "かつ",   "しか",   "でいい", "なので", "だから", "ครับ",  "ค่ะ",     "เพราะ",  "라고",
    "라는",       "로",     "으로",   "인",     "就",     "了",     "吧"};
constexpr std::string_view kJoins[] = {
    "和", "与",       "與",   "及", "以及", "或", "或者", "还是", "還是", "跟",  "と",  "や",    "または",
    "か", "もしくは", "及び", "와", "과",   "및", "또는", "혹은", "나",   "และ", "หรือ", "选项和"};

std::string_view without_intro(std::string_view words) {
  for (bool is_cut = true; is_cut;) {
    is_cut = false;
    for (const std::string_view intro : kIntros) {
      if (!words.ends_with(intro)) continue;
      words.remove_suffix(intro.size());
      is_cut = true;
    }
  }
  return words;
}

}  // namespace

Stance stance_before(std::string_view words) {
  const std::string_view core = without_intro(words);
  if (core.empty()) return Stance::kNone;
  if (ends_with_one(core, kTurns) || core == "是" || core == "应是" || core == "应为") return Stance::kTurned;
  if (ends_with_one(core, kDenials)) return Stance::kDenied;
  if (has_one(core, kDoubts)) return Stance::kDoubted;
  if (has_one(core, kNegations)) return Stance::kNone;
  return ends_with_one(core, kCopulas) && has_one(core, kNouns) ? Stance::kStated : Stance::kNone;
}

Stance stance_behind(std::string_view words) {
  constexpr size_t kMaxCounters = 4;
  for (size_t taken = 0; taken <= kMaxCounters; ++taken) {
    if (starts_with_one(words, kRefutals)) return Stance::kDenied;
    if (starts_with_one(words, kApprovals)) {
      constexpr std::string_view kDenyingEnds[] = {"不", "ない", "ません", "아니", "아닙", "않"};
      if (has_one(words, kDenyingEnds)) return Stance::kDenied;
      const bool is_open = has_one(words, kDoubts) || words.find("吗") != std::string_view::npos ||
                           words.find("ですか") != std::string_view::npos;
      return is_open ? Stance::kNone : Stance::kApproved;
    }
    const auto counter =
        std::max_element(std::begin(kCounters), std::end(kCounters), [&](auto left, auto right) {
          const auto length = [&](std::string_view head) {
            return words.starts_with(head) ? head.size() : 0;
          };
          return length(left) < length(right);
        });
    if (!words.starts_with(*counter)) return Stance::kNone;
    words.remove_prefix(counter->size());
  }
  return Stance::kNone;
}

unsigned unspaced_roles(std::string_view words) {
  constexpr std::string_view kConditions[] = {"如果", "若", "假如", "假设", "要是", "もし", "만약", "ถ้า"};
  constexpr std::string_view kConclusions[] = {"所以",       "因此",   "故",     "综上",    "よって",
                                               "したがって", "ゆえに", "따라서", "그러므로"};
  if (starts_with_one(words, kConclusions)) return unsigned{kConclude};
  return starts_with_one(words, kConditions) ? unsigned{kCondition} : 0U;
}

std::string concluding_end(std::string_view words) {
  constexpr std::string_view kConclusions[] = {"故",     "因此",     "所以",     "よって",   "したがって",
                                               "ゆえに", "따라서",   "그러므로", "综上",     "綜上",
                                               "总之",   "以上より", "而是",     "ではなく", "아니라"};
  for (const std::string_view end : kConclusions) {
    if (words.ends_with(end))
      return end == "综上" || end == "綜上" || end == "总之" || end == "以上より" ? "所以" : std::string(end);
  }
  return {};
}

bool may_follow(std::string_view words) { return words.empty() || starts_with_one(words, kEndings); }

bool is_unspaced_join(std::string_view word) {
  return std::find(std::begin(kJoins), std::end(kJoins), word) != std::end(kJoins);
}

}  // namespace cohort::choice
