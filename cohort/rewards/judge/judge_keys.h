// The keys of the judge, served elsewhere or loaded here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cohort/rewards/http/endpoint_settings.h"

namespace cohort {

/// How a judge on a server is reached.
struct JudgeServerKeys {
  EndpointKeys endpoint;
  std::string model;
  std::optional<double> temperature;
  std::optional<int64_t> workers;
  std::optional<int64_t> requests_per_minute;
  std::optional<int64_t> tokens_per_minute;
  std::string cache_dir;

  void describe_url(FieldVisitor& f);
  void describe_model(FieldVisitor& f);
  void describe_requests(FieldVisitor& f);
};

struct JudgeKeys {
  // Where it is: on a server, or the directory of a model.
  JudgeServerKeys server;
  std::string path;
  std::string dtype;
  std::optional<int64_t> max_completion_length;

  // What it is asked.
  std::string rubric;
  std::vector<std::string> criteria;
  std::optional<int64_t> max_score;
  std::optional<int64_t> votes;

  void describe(FieldVisitor& f);

 private:
  void describe_model(FieldVisitor& f);
  void describe_questions(FieldVisitor& f);
};

}  // namespace cohort
