#include "tests/supervise/network/support/network_host.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <future>

#include "policy/network/ip_address.h"
#include "tests/supervise/network/support/peers.h"

namespace native_runner {

std::uint64_t FakeQuestions::Ask(std::uint64_t asker, NetworkQuestion question,
                                 OnAnswer on_answer) {
  EXPECT_EQ(asker, 7U);
  const std::lock_guard lock(mutex_);
  asked_.push_back(std::move(question));
  open_.emplace(asked_.size(), std::move(on_answer));
  return asked_.size();
}

void FakeQuestions::Withdraw(std::uint64_t question) {
  const std::lock_guard lock(mutex_);
  EXPECT_EQ(open_.erase(question), 1U);
  ++withdrawn_;
}

std::vector<NetworkQuestion> FakeQuestions::asked() const {
  const std::lock_guard lock(mutex_);
  return asked_;
}

std::size_t FakeQuestions::withdrawn() const {
  const std::lock_guard lock(mutex_);
  return withdrawn_;
}

std::size_t FakeQuestions::open() const {
  const std::lock_guard lock(mutex_);
  return open_.size();
}

void FakeQuestions::Answer(NetworkAnswer answer) {
  std::map<std::uint64_t, OnAnswer> open;
  {
    const std::lock_guard lock(mutex_);
    open.swap(open_);
  }
  for (const auto& [question, on_answer] : open)
    on_answer(answer);
}

NetworkHost::NetworkHost(Setup setup, NetworkHost* beside)
    : beside_(beside), loop_(beside != nullptr ? beside->loop_ : &own_loop_) {
  auto rules = ReadNetworkRules(setup.rules);
  EXPECT_TRUE(rules);
  auto policy = std::make_shared<NetworkPolicy>();
  policy->termination = setup.termination;
  policy->rules = std::move(*rules);
  policy->asker = 7;
  network_ = std::make_unique<SandboxNetwork>(policy, &questions_, std::move(setup.options));
  for (const SandboxListener& listener : ListenersOf(policy->rules)) {
    EXPECT_FALSE(network_->is_complete());
    Descriptor socket;
    if (listener.kind == SandboxListener::Kind::kUdpDns) {
      socket = UdpAt("127.0.0.1", 0);
      dns_udp_port_ = PortOf(socket);
    } else if (listener.port == kDnsPort || listener.port == kProxyPort) {
      socket = ListenAt("127.0.0.1", 0);
      (listener.port == kDnsPort ? dns_port_ : proxy_port_) = PortOf(socket);
    } else if (listener.port < 1024) {
      socket = ListenAt("127.0.0.1", 0);  // of onRequest's ports, which nobody connects to here
    } else {
      socket = ListenAt(setup.transparent, listener.port);
    }
    network_->Take(std::move(socket));
  }
  EXPECT_TRUE(network_->is_complete());
  if (beside_ == nullptr) StartLoop();
  On([this] { EXPECT_TRUE(network_->Start(loop_)); });
  if (setup.enters) command_ = Enter({"prog", "arg"}, setup.terminator_run);
}

NetworkHost::~NetworkHost() {
  On([this] {
    network_.reset();
    if (beside_ == nullptr) uv_close(reinterpret_cast<uv_handle_t*>(&async_), nullptr);
  });
  if (beside_ == nullptr) thread_.join();
}

void NetworkHost::StartLoop() {
  EXPECT_EQ(uv_loop_init(loop_), 0);
  async_.data = this;
  uv_async_init(loop_, &async_, [](uv_async_t* async) {
    auto* self = static_cast<NetworkHost*>(async->data);
    std::vector<std::function<void()>> tasks;
    {
      const std::lock_guard lock(self->mutex_);
      tasks.swap(self->tasks_);
    }
    for (const auto& task : tasks)
      task();
  });
  thread_ = std::thread([this] { Run(); });
}

void NetworkHost::Run() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  uv_run(loop_, UV_RUN_DEFAULT);
  EXPECT_EQ(uv_loop_close(loop_), 0) << "a handle was left open";
}

void NetworkHost::On(const std::function<void()>& what) {
  if (beside_ != nullptr) return beside_->On(what);
  std::promise<void> done;
  {
    const std::lock_guard lock(mutex_);
    tasks_.emplace_back([&] {
      what();
      done.set_value();
    });
  }
  uv_async_send(&async_);
  done.get_future().wait();
}

std::uint64_t NetworkHost::Enter(std::vector<std::string> argv, std::uint64_t terminator_run) {
  std::uint64_t command = 0;
  On([&] {
    command = network_->Enter(
        std::move(argv),
        [this](RecordEvent event, const ConnectionRecord& record) {
          const std::lock_guard lock(mutex_);
          events_.emplace_back(event, record);
          event_turns_.push_back(Turn());
        },
        terminator_run);
  });
  return command;
}

ConnectionLog NetworkHost::Leave(std::uint64_t command) {
  ConnectionLog log;
  On([&] { log = network_->Leave(command); });
  return log;
}

void NetworkHost::Close() {
  On([&] { network_->Close(); });
}

std::size_t NetworkHost::size() {
  std::size_t size = 0;
  On([&] { size = network_->size(); });
  return size;
}

std::uint64_t NetworkHost::Turn() const {
  uv_metrics_t metrics{};
  uv_metrics_info(loop_, &metrics);
  return metrics.loop_count;
}

std::uint64_t NetworkHost::turns() {
  std::uint64_t turns = 0;
  On([&] { turns = Turn(); });
  return turns;
}

bool NetworkHost::WaitUntil(const std::function<bool()>& holds) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (std::chrono::steady_clock::now() < deadline) {
    bool is_so = false;
    On([&] { is_so = holds(); });
    if (is_so) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return false;
}

std::vector<NetworkHost::Event> NetworkHost::events() {
  const std::lock_guard lock(mutex_);
  return events_;
}

std::vector<std::uint64_t> NetworkHost::event_turns() {
  const std::lock_guard lock(mutex_);
  return event_turns_;
}

NetworkHost::Setup Allowing(std::vector<std::string> hosts, std::vector<std::string> addresses) {
  NetworkHost::Setup setup;
  setup.rules.allow = std::move(hosts);
  setup.rules.allow_private = {"127.0.0.0/8", "::1"};
  setup.options.sweep_ms = 10;
  for (const std::string& address : addresses)
    setup.options.hosts["a.test"].push_back(*ParseIpAddress(address));
  setup.options.hosts["b.test"] = setup.options.hosts["a.test"];
  return setup;
}

std::string At(const std::string& host, std::uint16_t port) {
  return host + ":" + std::to_string(port);
}

}  // namespace native_runner
