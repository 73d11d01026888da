#pragma once

#include <uv.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "supervise/network/sandbox_network.h"

namespace native_runner {

// Answers questions when the test says so.
class FakeQuestions : public NetworkQuestions {
 public:
  std::uint64_t Ask(std::uint64_t asker, NetworkQuestion question, OnAnswer on_answer) override;
  void Withdraw(std::uint64_t question) override;

  // Callable on any thread, except the last one, which is for the loop's thread.
  std::vector<NetworkQuestion> asked() const;
  std::size_t withdrawn() const;
  std::size_t open() const;
  void Answer(NetworkAnswer answer);

 private:
  mutable std::mutex mutex_;
  std::vector<NetworkQuestion> asked_;
  std::map<std::uint64_t, OnAnswer> open_;
  std::size_t withdrawn_ = 0;
};

// A SandboxNetwork on a loop of its own thread, as the supervisor has it. The sandbox is this
// process: its listeners are at 127.0.0.1 (DNS and proxy, at any free port) and at 127.1.0.1, the
// address of the first name that the rules allow, or at `transparent`.
class NetworkHost {
 public:
  struct Setup {
    NetworkRuleTexts rules;
    NetworkOptions options;
    const char* transparent = "127.1.0.1";
    bool enters = true;
    std::shared_ptr<const TlsTermination> termination = nullptr;
    std::uint64_t terminator_run = 0;  // of the command that is entered at first
  };

  // `beside`: on the loop of this one, which outlives it, as the networks of two runs are.
  explicit NetworkHost(Setup setup, NetworkHost* beside = nullptr);
  ~NetworkHost();
  NetworkHost(const NetworkHost&) = delete;
  NetworkHost& operator=(const NetworkHost&) = delete;

  std::uint16_t proxy_port() const { return proxy_port_; }
  std::uint16_t dns_port() const { return dns_port_; }
  std::uint16_t dns_udp_port() const { return dns_udp_port_; }
  FakeQuestions& questions() { return questions_; }

  // Runs it on the loop's thread, and waits.
  void On(const std::function<void()>& what);
  std::uint64_t Enter(std::vector<std::string> argv, std::uint64_t terminator_run = 0);
  ConnectionLog Leave(std::uint64_t command);
  ConnectionLog Leave() { return Leave(command_); }
  void Close();
  std::size_t size();
  // Turns of the loop so far.
  std::uint64_t turns();
  // The same on the loop's thread.
  std::uint64_t Turn() const;
  // Waits until it holds on the loop's thread; false after a generous time.
  bool WaitUntil(const std::function<bool()>& holds);

  using Event = std::pair<RecordEvent, ConnectionRecord>;
  std::vector<Event> events();
  // The turn of the loop in which each of them was recorded.
  std::vector<std::uint64_t> event_turns();

 private:
  void Run();

  void StartLoop();

  NetworkHost* beside_;
  uv_loop_t own_loop_{};
  uv_loop_t* loop_;
  uv_async_t async_{};
  std::mutex mutex_;
  std::vector<std::function<void()>> tasks_;
  FakeQuestions questions_;
  std::vector<Event> events_;
  std::vector<std::uint64_t> event_turns_;
  std::unique_ptr<SandboxNetwork> network_;
  std::uint16_t proxy_port_ = 0;
  std::uint16_t dns_port_ = 0;
  std::uint16_t dns_udp_port_ = 0;
  std::uint64_t command_ = 0;
  std::thread thread_;
};

// Rules that allow `hosts`, with names that lead to this machine.
NetworkHost::Setup Allowing(std::vector<std::string> hosts,
                            std::vector<std::string> addresses = {"127.0.0.1"});
// "a.test:8080".
std::string At(const std::string& host, std::uint16_t port);

}  // namespace native_runner
