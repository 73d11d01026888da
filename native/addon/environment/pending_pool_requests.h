#pragma once

#include <napi.h>

#include <cstdint>
#include <map>

#include "addon/environment/news.h"

namespace native_runner {

// The requests to pools of one Node environment that have no answer yet: each settles a promise
// with how many sandboxes stand. JavaScript thread.
class PendingPoolRequests {
 public:
  explicit PendingPoolRequests(Napi::Env env) : env_(env) {}

  // Returns the request's number, from 1 on. Without `deferred` nobody waits for the answer.
  std::uint64_t Add(napi_deferred deferred);
  bool empty() const { return requests_.empty(); }
  void Clear() { requests_.clear(); }

  void Deliver(const news::PoolAnswer& answer);

 private:
  Napi::Env env_;
  std::map<std::uint64_t, napi_deferred> requests_;
  std::uint64_t last_request_ = 0;
};

}  // namespace native_runner
