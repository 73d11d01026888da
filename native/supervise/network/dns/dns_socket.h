#pragma once

#include <uv.h>

#include "supervise/network/dns/dns_responder.h"
#include "supervise/network/io/watch.h"
#include "supervise/os/descriptor.h"

namespace native_runner {

// DNS over UDP: a question, an answer. What the kernel has no room for is dropped, as UDP is.
// Supervisor thread only.
class DnsSocket {
 public:
  // `responder` outlives it.
  DnsSocket(DnsResponder* responder, Descriptor socket)
      : responder_(responder), socket_(std::move(socket)) {}

  // False: it can't be watched.
  [[nodiscard]] bool Start(uv_loop_t* loop);
  // Answers what has come, at most a batch. True: there may be more.
  bool AnswerSome();

 private:
  DnsResponder* responder_;
  Descriptor socket_;
  Watch watch_;
};

}  // namespace native_runner
