#include "cohort/http/error_json.h"

namespace cohort {
namespace {

const char* error_type(int status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 404:
      return "not_found_error";
    default:
      return status < 500 ? "invalid_request_error" : "api_error";
  }
}

}  // namespace

Json error_json(const std::string& path, const std::string& message, int status, const std::string& param) {
  if (path.starts_with("/v1/messages"))
    return {{"type", "error"}, {"error", {{"type", error_type(status)}, {"message", message}}}};
  return {{"error",
           {{"message", message},
            {"type", error_type(status)},
            {"param", param.empty() ? Json() : Json(param)},
            {"code", status}}}};
}

}  // namespace cohort
