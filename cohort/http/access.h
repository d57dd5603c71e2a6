// Who may use a server: addresses of this machine, secrets and the names by which a browser reached it.
#pragma once

#include <string>
#include <string_view>

#include "cohort/http/http_server.h"

namespace cohort {

/// Whether only programs of this machine reach a server at `host`: "localhost", 127.0.0.0/8 or ::1.
bool is_loopback(std::string_view host);

/// Whether two texts are equal, in a time that says nothing of where they differ.
bool is_same_secret(std::string_view a, std::string_view b);

/// The secret of "Authorization: Bearer SECRET"; empty if there is none.
std::string bearer_secret(const IncomingRequest& request);

/// The value of a cookie; empty if there is none.
std::string cookie_of(const IncomingRequest& request, std::string_view name);

/// The host of a Host header, without its port and the brackets of an IPv6 address.
std::string host_name(std::string_view header);

/// 128 bits of the system's randomness in hexadecimal digits. Throws InternalError if the system has none.
std::string random_secret();

}  // namespace cohort
