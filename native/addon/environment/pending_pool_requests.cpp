#include "addon/environment/pending_pool_requests.h"

#include "addon/values/js_error.h"
#include "addon/values/value_builder.h"

namespace native_runner {

std::uint64_t PendingPoolRequests::Add(napi_deferred deferred) {
  const std::uint64_t number = ++last_request_;
  if (deferred != nullptr) requests_.emplace(number, deferred);
  return number;
}

void PendingPoolRequests::Deliver(const news::PoolAnswer& answer) {
  const auto found = requests_.find(answer.request);
  if (found == requests_.end()) return;
  const Napi::HandleScope handles(env_);
  napi_deferred deferred = found->second;
  requests_.erase(found);
  if (!answer.standing) {
    napi_reject_deferred(env_, deferred, MakeJsError(env_, answer.standing.error()));
    return;
  }
  ValueBuilder builder(env_);
  napi_value count = builder.Number(static_cast<double>(answer.standing.value()));
  if (builder.ok()) napi_resolve_deferred(env_, deferred, count);
}

}  // namespace native_runner
