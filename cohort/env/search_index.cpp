#include "cohort/env/search_index.h"

#include <sqlite3.h>

#include <algorithm>

#include "cohort/core/error.h"
#include "libs/common/ascii.h"

namespace cohort {
namespace {

constexpr size_t kMaxWords = 64;

/// Letters and digits; all bytes beyond ASCII, of which SQLite knows which are letters.
bool is_word_byte(char byte) {
  return is_digit(byte) || is_letter(byte) || static_cast<signed char>(byte) < 0;
}

}  // namespace

void SearchIndex::CloseDatabase::operator()(sqlite3* database) const { sqlite3_close_v2(database); }
void SearchIndex::CloseStatement::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

SearchIndex::SearchIndex() {
  sqlite3* database = nullptr;
  // Without a name: in memory, and in a file that nobody else sees if it grows large.
  const int opened = sqlite3_open_v2("", &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  database_.reset(database);
  COHORT_CHECK(opened == SQLITE_OK, "SQLite opens no database: ", sqlite3_errstr(opened));
  run("PRAGMA journal_mode = OFF");
  run("PRAGMA cache_size = -262144");  // KiB
  try {
    run("CREATE VIRTUAL TABLE passages USING fts5(title, text, tokenize = 'porter unicode61')");
  } catch (const ConfigError& error) {
    throw ConfigError(str("type = \"retrieval\" needs a SQLite with FTS5: ", error.what()));
  }
  run("BEGIN");
  insert_ = prepare("INSERT INTO passages(title, text) VALUES (?, ?)");
}

SearchIndex::~SearchIndex() = default;

void SearchIndex::run(const char* sql) {
  const Statement statement = prepare(sql);
  while (step(statement)) {
  }
}

SearchIndex::Statement SearchIndex::prepare(const char* sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(database_.get(), sql, -1, &statement, nullptr) != SQLITE_OK)
    throw ConfigError(str("SQLite: ", sqlite3_errmsg(database_.get())));
  return Statement(statement);
}

void SearchIndex::bind(const Statement& statement, int place, const std::string& text) {
  const int result =
      sqlite3_bind_text64(statement.get(), place, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8);
  COHORT_CHECK(result == SQLITE_OK, sqlite3_errmsg(database_.get()));
}

/// Whether there is a row.
bool SearchIndex::step(const Statement& statement) {
  const int result = sqlite3_step(statement.get());
  if (result != SQLITE_ROW && result != SQLITE_DONE)
    throw ConfigError(str("SQLite: ", sqlite3_errmsg(database_.get())));
  return result == SQLITE_ROW;
}

void SearchIndex::add(const Passage& passage) {
  bind(insert_, 1, passage.title);
  bind(insert_, 2, passage.text);
  step(insert_);
  sqlite3_reset(insert_.get());
  ++size_;
}

void SearchIndex::finish() {
  insert_.reset();
  run("COMMIT");
  select_ = prepare("SELECT title, text FROM passages WHERE passages MATCH ? ORDER BY rank, rowid LIMIT ?");
}

std::vector<Passage> SearchIndex::search(const std::string& query, int64_t count) {
  const std::string match = fts5_query(query);
  if (match.empty()) return {};
  const std::lock_guard lock(mutex_);
  bind(select_, 1, match);
  sqlite3_bind_int64(select_.get(), 2, count);
  std::vector<Passage> found;
  while (step(select_)) {
    const auto text_of = [&](int column) {
      const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(select_.get(), column));
      return std::string(bytes, static_cast<size_t>(sqlite3_column_bytes(select_.get(), column)));
    };
    found.push_back({text_of(0), text_of(1)});
  }
  sqlite3_reset(select_.get());
  return found;
}

std::string fts5_query(const std::string& query) {
  std::vector<std::string> words;
  for (size_t begin = 0; begin < query.size() && words.size() < kMaxWords;) {
    size_t end = begin;
    while (end < query.size() && is_word_byte(query[end])) ++end;
    const std::string word = query.substr(begin, end - begin);
    if (!word.empty() && std::ranges::find(words, word) == words.end()) words.push_back(word);
    begin = end + 1;
  }
  std::string text;
  for (const std::string& word : words) text += str(text.empty() ? "" : " OR ", "\"", word, "\"");
  return text;
}

}  // namespace cohort
