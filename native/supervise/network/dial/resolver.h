#pragma once

#include <uv.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "policy/network/address/ip_address.h"
#include "policy/network/name/host_name.h"
#include "supervise/network/network_options.h"
#include "supervise/os/handle.h"

namespace native_runner {

// The host's addresses of names, by getaddrinfo(3) on libuv's threads, few at once. Names are asked
// as they are, so /etc/hosts and the host's search list count, as for any other program there.
// Supervisor thread only. A question on another thread outlives it and reaches nothing any more.
class Resolver {
 public:
  // Empty: `fault` says why.
  struct Found {
    std::vector<IpAddress> addresses;
    std::string fault;
  };
  using OnFound = std::function<void(Found)>;

  Resolver(uv_loop_t* loop, const NetworkOptions* options);
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  // Calls `on_found` once, later. Returns the question's number.
  std::uint64_t Ask(const HostName& name, OnFound on_found);
  // It is not called any more.
  void Forget(std::uint64_t question);

 private:
  struct Request;
  struct Question {
    std::string name;
    OnFound on_found;
    Timer known;  // of a name that options.hosts has
  };

  void Begin();
  void Begin(std::uint64_t number, const std::string& name);
  void Answer(std::uint64_t number, Found found);

  uv_loop_t* loop_;
  const NetworkOptions* options_;
  std::map<std::uint64_t, Question> questions_;
  std::vector<std::uint64_t> waiting_;  // in the order in which they came
  std::uint64_t next_ = 0;
  std::shared_ptr<Resolver*> self_;             // nullptr in it: gone
  std::map<std::uint64_t, Request*> requests_;  // that libuv has; each is freed when it ends
};

}  // namespace native_runner
