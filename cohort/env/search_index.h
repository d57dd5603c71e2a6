// A full-text index of passages: SQLite's FTS5, in a database without a name that ends with the object.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cohort/env/passages.h"

struct sqlite3;
struct sqlite3_stmt;

namespace cohort {

/// English words count by their stems, letters without accents and case. First add(), then finish(), then
/// search(), from any thread.
class SearchIndex {
 public:
  /// Throws ConfigError if SQLite has no FTS5.
  SearchIndex();
  ~SearchIndex();

  SearchIndex(const SearchIndex&) = delete;
  SearchIndex& operator=(const SearchIndex&) = delete;

  void add(const Passage& passage);
  void finish();
  int64_t size() const { return size_; }

  /// The passages with one of the query's words or more, at most `count`, the best by BM25 first; of equals
  /// the one that was added first. Any text is a query: it has words and no operators.
  std::vector<Passage> search(const std::string& query, int64_t count);

 private:
  struct CloseDatabase {
    void operator()(sqlite3* database) const;
  };
  struct CloseStatement {
    void operator()(sqlite3_stmt* statement) const;
  };
  using Statement = std::unique_ptr<sqlite3_stmt, CloseStatement>;

  void run(const char* sql);
  Statement prepare(const char* sql);
  void bind(const Statement& statement, int place, const std::string& text);
  bool step(const Statement& statement);

  std::unique_ptr<sqlite3, CloseDatabase> database_;
  Statement insert_, select_;
  int64_t size_ = 0;
  std::mutex mutex_;  // of the statement that searches
};

/// `query` as FTS5 reads it: its first 64 different words, each in quotes, with OR between them; empty if
/// there is no word.
std::string fts5_query(const std::string& query);

}  // namespace cohort
