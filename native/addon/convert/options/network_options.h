#pragma once

#include <napi.h>

#include <memory>
#include <optional>

#include "addon/convert/fields.h"
#include "policy/options/policy.h"

namespace native_runner {

// What `network` says where it may be by domain.
struct NetworkChoice {
  Network network = Network::kDeny;
  std::shared_ptr<const NetworkPolicy> by_domain;  // kByDomain only; without an asker
};

// "allow", "deny" or { allow, deny?, allowPrivate?, onRequest? }. What was not given is "deny".
NetworkChoice ReadNetworkChoice(Fields& options);

// `network.onRequest`, after ReadNetworkChoice has found the rules to ask.
std::optional<Napi::Function> ReadOnRequest(Fields& options);

}  // namespace native_runner
