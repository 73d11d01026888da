#pragma once

#include <string>

#include "policy/network/http/request.h"

namespace native_runner {

// The head that the server gets: written anew from what was read, so that the server can't read
// another request than the one that was decided about. In origin form, with one Host, the length as
// it was understood, and without what is between client and proxy only (RFC 9110 7.6.1: Connection
// and what it names, Proxy-*, Keep-Alive, TE, Upgrade). An upgrade to WebSocket stays; one to
// HTTP/2 (h2c) is left out, since what is in such a connection can't be checked. With `closes` the
// server is asked to close after its answer. Not for CONNECT. Pure.
std::string ForwardedHead(const HttpRequest& request, bool closes);

}  // namespace native_runner
