// The keys of the judge, served elsewhere or loaded here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cohort/rewards/http/endpoint_settings.h"

namespace cohort {

struct JudgeKeys {
  // Where it is: a server's `endpoint.url` and the model's name there, or the directory of a model.
  EndpointKeys endpoint;
  std::string model;
  std::optional<int64_t> workers;
  std::optional<int64_t> requests_per_minute;
  std::optional<int64_t> tokens_per_minute;
  std::string cache_dir;
  std::string path;
  std::string dtype;
  std::optional<int64_t> max_completion_length;

  // What it is asked.
  std::string rubric;
  std::vector<std::string> criteria;
  std::optional<int64_t> max_score;
  std::optional<int64_t> votes;
  std::optional<double> temperature;

  void describe(FieldVisitor& f);

 private:
  void describe_model(FieldVisitor& f);
  void describe_questions(FieldVisitor& f);
  void describe_requests(FieldVisitor& f);
};

}  // namespace cohort
