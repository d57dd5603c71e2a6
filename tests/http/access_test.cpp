#include "cohort/http/access.h"

#include <gtest/gtest.h>

#include <set>

namespace cohort {
namespace {

TEST(Access, KnowsLoopbackAddresses) {
  for (const char* host : {"localhost", "LocalHost", "127.0.0.1", "127.1.2.3", "::1"})
    EXPECT_TRUE(is_loopback(host)) << host;
  for (const char* host :
       {"", "0.0.0.0", "::", "128.0.0.1", "127.0.0.1.example", "127.", "localhost.example", "1", "::2"})
    EXPECT_FALSE(is_loopback(host)) << host;
}

TEST(Access, ComparesSecrets) {
  EXPECT_TRUE(is_same_secret("abc", "abc"));
  EXPECT_FALSE(is_same_secret("abc", "abd"));
  EXPECT_FALSE(is_same_secret("abc", "ab"));
  EXPECT_FALSE(is_same_secret("", "a"));
}

TEST(Access, ReadsHeaders) {
  IncomingRequest request{};
  EXPECT_EQ(bearer_secret(request), "");
  request.headers = {{"authorization", "Bearer x y"}, {"cookie", "ab=1;a=2; b = 3;c"}};
  EXPECT_EQ(bearer_secret(request), "x y");
  EXPECT_EQ(cookie_of(request, "a"), "2");
  EXPECT_EQ(cookie_of(request, "ab"), "1");
  EXPECT_EQ(cookie_of(request, "c"), "");
  EXPECT_EQ(cookie_of(request, "d"), "");
  EXPECT_EQ(host_name("localhost:80"), "localhost");
  EXPECT_EQ(host_name("example"), "example");
  EXPECT_EQ(host_name("[::1]:80"), "::1");
  EXPECT_EQ(host_name("[::1"), "::1");
  EXPECT_EQ(host_name(""), "");
}

TEST(Access, MakesSecretsOf128Bits) {
  std::set<std::string> secrets;
  for (int i = 0; i < 100; ++i) secrets.insert(random_secret());
  EXPECT_EQ(secrets.size(), 100u);
  for (const std::string& secret : secrets) {
    EXPECT_EQ(secret.size(), 32u);
    EXPECT_EQ(secret.find_first_not_of("0123456789abcdef"), std::string::npos);
  }
}

}  // namespace
}  // namespace cohort
