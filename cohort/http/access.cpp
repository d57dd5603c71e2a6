#include "cohort/http/access.h"

#include <arpa/inet.h>
#include <sys/random.h>

#include <array>

#include "cohort/core/error.h"
#include "libs/common/ascii.h"

namespace cohort {

bool is_loopback(std::string_view host) {
  const std::string name = lower_case(host);
  if (name == "localhost") return true;
  in_addr four{};
  if (inet_pton(AF_INET, name.c_str(), &four) == 1) return (ntohl(four.s_addr) >> 24) == 127;
  in6_addr six{};
  return inet_pton(AF_INET6, name.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six) != 0;
}

bool is_same_secret(std::string_view a, std::string_view b) {
  int differs = a.size() != b.size() ? 1 : 0;
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) differs |= a[i] ^ b[i];
  return differs == 0;
}

std::string bearer_secret(const IncomingRequest& request) {
  const std::string bearer = request.header("authorization");
  return bearer.starts_with("Bearer ") ? bearer.substr(7) : std::string();
}

std::string cookie_of(const IncomingRequest& request, std::string_view name) {
  const std::string header = request.header("cookie");
  for (size_t begin = 0; begin < header.size();) {
    const size_t end = std::min(header.find(';', begin), header.size());
    const std::string_view pair = trim(std::string_view(header).substr(begin, end - begin));
    if (pair.size() > name.size() && pair.starts_with(name) && pair[name.size()] == '=')
      return std::string(pair.substr(name.size() + 1));
    begin = end + 1;
  }
  return {};
}

std::string host_name(std::string_view header) {
  if (header.starts_with("[")) return std::string(header.substr(1, header.find(']') - 1));
  return std::string(header.substr(0, header.find(':')));
}

std::string random_secret() {
  std::array<unsigned char, 16> bytes{};
  COHORT_CHECK(getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  std::string text;
  for (const unsigned char byte : bytes) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

}  // namespace cohort
