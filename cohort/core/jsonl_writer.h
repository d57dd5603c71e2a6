// An append-only file of JSON lines.
#pragma once

#include "cohort/core/append_file.h"
#include "cohort/core/json.h"

namespace cohort {

class JsonlWriter : public AppendFile {
 public:
  using AppendFile::AppendFile;

  /// Appends one line; it reaches the file with the next `flush`. Throws InternalError for NaN and infinity.
  void write(const Json& line) { append(to_json_text(line) + "\n"); }
};

}  // namespace cohort
