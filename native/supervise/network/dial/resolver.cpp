#include "supervise/network/dial/resolver.h"

#include <netdb.h>

#include <algorithm>
#include <utility>

#include "supervise/network/io/endpoint.h"

namespace native_runner {
namespace {

constexpr std::size_t kMostAddresses = 32;  // of one name; what more there is, is not tried

Resolver::Found FoundOf(int status, const addrinfo* list) {
  Resolver::Found found;
  if (status != 0) {
    found.fault = std::string("it can't be resolved: ") + uv_strerror(status);
    return found;
  }
  for (; list != nullptr && found.addresses.size() < kMostAddresses; list = list->ai_next) {
    const auto endpoint = EndpointOf(list->ai_addr);
    if (!endpoint) continue;
    auto& addresses = found.addresses;
    if (std::find(addresses.begin(), addresses.end(), endpoint->address) == addresses.end()) {
      addresses.push_back(endpoint->address);
    }
  }
  if (found.addresses.empty()) found.fault = "it can't be resolved: it has no address";
  return found;
}

}  // namespace

struct Resolver::Request {
  uv_getaddrinfo_t call{};
  std::shared_ptr<Resolver*> resolver;
  std::uint64_t number = 0;
};

Resolver::Resolver(uv_loop_t* loop, const NetworkOptions* options)
    : loop_(loop), options_(options), self_(std::make_shared<Resolver*>(this)) {}

// What no thread has begun with is given up, so that neither a loop that ends nor Node's own
// look-ups wait for it: they are in one queue. The rest ends by itself.
Resolver::~Resolver() {
  *self_ = nullptr;
  for (const auto& [number, request] : requests_)
    uv_cancel(reinterpret_cast<uv_req_t*>(&request->call));
}

std::uint64_t Resolver::Ask(const HostName& name, OnFound on_found) {
  const std::uint64_t number = ++next_;
  Question& question = questions_[number];
  question.name = name.text();
  question.on_found = std::move(on_found);
  const auto known = options_->hosts.find(question.name);
  if (known != options_->hosts.end()) {
    question.known.Start(loop_, 0, 0, [this, number, addresses = known->second] {
      Answer(number, {.addresses = addresses, .fault = "it can't be resolved"});
    });
    return number;
  }
  waiting_.push_back(number);
  Begin();
  return number;
}

void Resolver::Forget(std::uint64_t question) {
  questions_.erase(question);
  const auto begun = requests_.find(question);
  if (begun != requests_.end()) uv_cancel(reinterpret_cast<uv_req_t*>(&begun->second->call));
  const auto found = std::find(waiting_.begin(), waiting_.end(), question);
  if (found != waiting_.end()) waiting_.erase(found);
}

void Resolver::Begin() {
  while (requests_.size() < options_->most_resolving && !waiting_.empty()) {
    const std::uint64_t number = waiting_.front();
    waiting_.erase(waiting_.begin());
    Begin(number, questions_[number].name);
  }
}

void Resolver::Begin(std::uint64_t number, const std::string& name) {
  auto request = std::make_unique<Request>();
  request->resolver = self_;
  request->number = number;
  request->call.data = request.get();
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  const auto done = [](uv_getaddrinfo_t* call, int status, addrinfo* list) {
    const std::unique_ptr<Request> ended(static_cast<Request*>(call->data));
    Found found = FoundOf(status, list);
    uv_freeaddrinfo(list);
    Resolver* resolver = *ended->resolver;
    if (resolver == nullptr) return;
    resolver->requests_.erase(ended->number);
    resolver->Begin();
    resolver->Answer(ended->number, std::move(found));
  };
  const int result = uv_getaddrinfo(loop_, &request->call, done, name.c_str(), nullptr, &hints);
  if (result == 0) {
    requests_.emplace(number, request.release());  // `done` frees it
    return;
  }
  Question& question = questions_[number];
  question.known.Start(loop_, 0, 0,
                       [this, number, result] { Answer(number, FoundOf(result, nullptr)); });
}

void Resolver::Answer(std::uint64_t number, Found found) {
  const auto asked = questions_.find(number);
  if (asked == questions_.end()) return;
  const OnFound on_found = std::move(asked->second.on_found);
  questions_.erase(asked);
  on_found(std::move(found));
}

}  // namespace native_runner
