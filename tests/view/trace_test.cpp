#include "cohort/view/trace.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "cohort/core/error.h"
#include "tests/view/run_case.h"

namespace cohort {
namespace {

/// Seconds of a span's begin and end after the begin of the trace's first span.
struct Times {
  double from_s, to_s;
};

double seconds_between(const Json& early, const Json& late) {
  return static_cast<double>(std::stoll(late.get<std::string>()) - std::stoll(early.get<std::string>())) /
         1e9;
}

Json spans_of(const Json& trace) { return trace.at("resourceSpans")[0].at("scopeSpans")[0].at("spans"); }

std::multimap<std::string, Times> times_of(const Json& spans) {
  std::multimap<std::string, Times> times;
  const Json& start = spans[0].at("startTimeUnixNano");
  for (const Json& span : spans) {
    times.insert({span.at("name").get<std::string>(),
                  {seconds_between(start, span.at("startTimeUnixNano")),
                   seconds_between(start, span.at("endTimeUnixNano"))}});
  }
  return times;
}

TEST(OtlpTrace, PlacesThePartsOfAStepOneAfterTheOther) {
  const RunCase files;
  const RunView run(files.path());
  const auto times = times_of(spans_of(otlp_trace(run, {2})));
  const std::map<std::string, Times> expected{
      {"step 2", {0.0, 10.0}}, {"gen", {0.0, 4.0}},          {"prefill", {0.0, 0.5}}, {"decode", {0.5, 3.5}},
      {"reward", {4.0, 5.0}},  {"update_actor", {5.0, 8.0}}, {"other", {8.0, 10.0}}};
  EXPECT_EQ(times.size(), expected.size());
  for (const auto& [name, wanted] : expected) {
    ASSERT_EQ(times.count(name), 1) << name;
    EXPECT_NEAR(times.find(name)->second.from_s, wanted.from_s, 1e-6) << name;
    EXPECT_NEAR(times.find(name)->second.to_s, wanted.to_s, 1e-6) << name;
  }
}

TEST(OtlpTrace, StepsFollowEachOtherFromTheRunsStart) {
  const RunCase files;
  const RunView run(files.path());
  ASSERT_EQ(timed_steps(run), (std::vector<int64_t>{1, 2, 3, 4, 5, 6}));
  const auto times = times_of(spans_of(otlp_trace(run, timed_steps(run))));
  EXPECT_NEAR(times.find("step 6")->second.from_s, 50.0, 1e-6);
  const Json first = spans_of(otlp_trace(run, {1}))[0], third = spans_of(otlp_trace(run, {3}))[0];
  EXPECT_NEAR(seconds_between(first.at("startTimeUnixNano"), third.at("startTimeUnixNano")), 20.0, 1e-6);
}

// https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding: ids are hex, times are decimal strings.
TEST(OtlpTrace, SpansHaveValidIdsAndParents) {
  const RunCase files;
  const RunView run(files.path());
  std::set<std::string> ids, traces;
  std::string gen;
  for (const Json& span : spans_of(otlp_trace(run, timed_steps(run)))) {
    EXPECT_EQ(span.at("traceId").get<std::string>().size(), 32U);
    EXPECT_EQ(traces.insert(span.at("traceId").get<std::string>()).second, !span.contains("parentSpanId"))
        << "each step is a trace";
    const auto id = span.at("spanId").get<std::string>();
    EXPECT_EQ(id.size(), 16U);
    EXPECT_EQ(id.find_first_not_of("0123456789abcdef"), std::string::npos);
    EXPECT_TRUE(ids.insert(id).second);
    if (span.at("name") == "gen") gen = id;
    if (span.at("name") == "decode") {
      EXPECT_EQ(span.at("parentSpanId"), gen);
    }
    if (span.contains("parentSpanId")) {
      EXPECT_TRUE(ids.contains(span["parentSpanId"].get<std::string>()));
    } else {
      EXPECT_EQ(span.at("attributes")[0].at("key"), "reward");
    }
  }
}

TEST(OtlpTrace, RefusesAStepWithoutTimings) {
  const RunCase files;
  const RunView run(files.path());
  EXPECT_THROW(otlp_trace(run, {7}), ConfigError);
}

}  // namespace
}  // namespace cohort
