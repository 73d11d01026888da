#pragma once

#include <uv.h>

#include "policy/network/rules/network_policy.h"
#include "supervise/network/decide/admissions.h"
#include "supervise/network/dial/resolver.h"
#include "supervise/network/io/pipe_pool.h"
#include "supervise/network/network_options.h"
#include "supervise/network/record/recorder.h"

namespace native_runner {

// What all connections of a sandbox use. It outlives them.
struct NetworkParts {
  uv_loop_t* loop;
  const NetworkPolicy* policy;
  const NetworkOptions* options;
  Recorder* recorder;
  Resolver* resolver;
  Admissions* admissions;
  PipePool* pipes;

  bool IsTls(std::uint16_t port) const { return Has(options->tls_ports, port); }
  bool IsHttp(std::uint16_t port) const { return Has(options->http_ports, port); }

 private:
  static bool Has(const std::vector<std::uint16_t>& ports, std::uint16_t port) {
    for (const std::uint16_t one : ports) {
      if (one == port) return true;
    }
    return false;
  }
};

}  // namespace native_runner
