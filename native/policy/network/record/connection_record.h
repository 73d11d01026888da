#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace native_runner {

// How a connection asked for its host.
enum class ConnectionVia {
  kTransparent,  // it resolved the name, and connected to the address that the name has inside
  kConnect,      // of the proxy, by HTTP's CONNECT
  kHttp,         // of the proxy, by an HTTP request in absolute form
  kSocks,        // of the proxy, by SOCKS 5
};

// "transparent", "connect", "http", "socks": as audits have it.
const char* ConnectionViaName(ConnectionVia via);

// The reason where somebody was asked and has not said anything: nobody has refused it.
inline constexpr char kNoAnswer[] = "onRequest gave no answer";

// One connection that a command made or was refused, as its audit lists it. A plain value.
struct ConnectionRecord {
  std::string host;        // in the one spelling of HostText
  std::uint16_t port = 0;  // 0: the name was refused before there was a connection to a port
  std::string address;     // of the host's network: what was connected to, or refused; or empty
  bool allowed = false;
  std::string rule;    // the entry that decided, in its one spelling; "onRequest"; or empty
  std::string reason;  // of a denial or a failure, a clause: "no rule names it"; or empty
  ConnectionVia via = ConnectionVia::kTransparent;
  std::uint64_t bytes_out = 0;  // that the command sent and the host's network took
  std::uint64_t bytes_in = 0;
  double duration_ms = 0;
  std::uint64_t count = 1;  // denials alike in all the above are one record

  bool operator==(const ConnectionRecord&) const = default;
};

// Of one command, in the order in which they began. Bounded: what is over kMostConnectionRecords is
// counted only.
inline constexpr std::size_t kMostConnectionRecords = 10'000;
struct ConnectionLog {
  std::vector<ConnectionRecord> connections;
  std::uint64_t omitted = 0;
};

}  // namespace native_runner
