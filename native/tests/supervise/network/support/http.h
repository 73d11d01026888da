#pragma once

#include <string>

#include "tests/supervise/network/support/peers.h"

namespace native_runner {

// The end of an HTTP head.
inline constexpr char kHeadEnd[] = "\r\n\r\n";

// Answers each request with the head and body that came, until the client ends.
inline void AnswerRequests(Peer peer) {
  while (true) {
    const Received head = peer.ReadTo(kHeadEnd);
    if (!head.bytes.ends_with(kHeadEnd)) return;
    std::string body = head.bytes;
    const std::size_t length = head.bytes.find("Content-Length: ");
    if (length != std::string::npos) {
      body += peer.ReadExactly(std::stoul(head.bytes.substr(length + 16)));
    }
    if (!peer.Send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + kHeadEnd +
                   body)) {
      return;
    }
  }
}

inline std::string Get(const std::string& url, const std::string& authority,
                       const std::string& more = "") {
  return "GET " + url + " HTTP/1.1\r\nHost: " + authority + "\r\n" + more + "\r\n";
}

// One answer with a Content-Length.
inline std::string ReadAnswer(Peer* peer) {
  std::string answer = peer->ReadTo(kHeadEnd).bytes;
  const std::size_t length = answer.find("Content-Length: ");
  if (length == std::string::npos) return answer;
  return answer + peer->ReadExactly(std::stoul(answer.substr(length + 16)));
}

}  // namespace native_runner
