#include "supervise/network/connection/connections.h"

#include <utility>

namespace native_runner {

void Connection::End() {
  connections_->End(number_);
}

void Connection::Become(std::unique_ptr<Connection> next) {
  connections_->Replace(number_, std::move(next));
}

void Connections::Add(std::unique_ptr<Connection> connection) {
  const std::uint64_t number = ++next_;
  connections_.emplace(number, nullptr);
  Replace(number, std::move(connection));
  if (!connections_.empty() && !sweep_.active()) {
    sweep_.Start(loop_, options_->sweep_ms, options_->sweep_ms, [this] { Sweep(); });
  }
}

void Connections::Replace(std::uint64_t number, std::unique_ptr<Connection> next) {
  const auto found = connections_.find(number);
  if (found == connections_.end()) return;
  if (found->second) Bury(std::move(found->second));
  found->second = std::move(next);
  Connection* begun = found->second.get();
  begun->number_ = number;
  begun->Start();
}

void Connections::End(std::uint64_t number) {
  const auto found = connections_.find(number);
  if (found == connections_.end()) return;
  Bury(std::move(found->second));
  connections_.erase(found);
  if (connections_.empty()) sweep_.Stop();
  on_room_();
}

void Connections::Bury(std::unique_ptr<Connection> ended) {
  ended_.push_back(std::move(ended));
  if (!burial_.active()) {
    burial_.Start(loop_, 0, 0, [this] {
      burial_.Stop();
      const auto buried = std::exchange(ended_, {});
    });
  }
}

void Connections::Drain() {
  while (!connections_.empty()) {
    // Nobody below is one of them, so that they can go at once.
    const std::unique_ptr<Connection> last = std::move(connections_.begin()->second);
    connections_.erase(connections_.begin());
    last->Drain();
  }
  ended_.clear();
  burial_.Stop();
  sweep_.Stop();
  on_room_();
}

void Connections::Sweep() {
  const std::uint64_t now = uv_now(loop_);
  std::vector<std::uint64_t> late;
  for (const auto& [number, connection] : connections_) {
    if (connection->deadline_ms() <= now) late.push_back(number);
  }
  for (const std::uint64_t number : late) {
    const auto found = connections_.find(number);
    if (found != connections_.end()) found->second->TimedOut();
  }
}

}  // namespace native_runner
