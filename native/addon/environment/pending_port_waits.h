#pragma once

#include <napi.h>

#include <cstdint>
#include <map>

#include "addon/environment/news.h"

namespace native_runner {

// The waits for a port of one Node environment that have not ended: each settles a promise with how
// it did, in the words of types/addon.d.ts. JavaScript thread.
class PendingPortWaits {
 public:
  explicit PendingPortWaits(Napi::Env env) : env_(env) {}

  // Returns the wait's number, from 1 on.
  std::uint64_t Add(napi_deferred deferred);
  bool empty() const { return waits_.empty(); }
  void Clear() { waits_.clear(); }

  void Deliver(const news::PortAnswer& answer);

 private:
  Napi::Env env_;
  std::map<std::uint64_t, napi_deferred> waits_;
  std::uint64_t last_wait_ = 0;
};

}  // namespace native_runner
