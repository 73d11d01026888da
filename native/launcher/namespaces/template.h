#pragma once

#include <cstddef>
#include <cstdint>

#include "launcher/order/host_channel.h"
#include "launcher/order/order.h"

namespace native_runner {

// Runs the launcher of a template (kOrderTemplate): bwrap has made the mounts of a policy, and left
// the launcher all capabilities in the user namespace that owns them. Makes a sandbox for each
// request of the host until the host is gone; then the launcher, process 1, ends, and all sandboxes
// with it. Reads only the host's messages. `run`: called in the first process of a clone once it is
// confined, with a control socket, stdin, stdout and stderr of its own, like a newly started
// launcher.
void ServeTemplate(HostChannel& control, const MappedOrder& order, int (*run)(HostChannel&));

// The network namespaces of a template that its clones have one after the other: making and
// taking down one is the dearest step of a clone. Each belongs to the template's own user
// namespace, over which no command has capabilities, and has a loopback and nothing else.
//
// A clone gets one only if nothing tells it from a new one: no process and no socket is in it, and
// its counters, routes and flow labels read as when it was made. They are read once the clone
// before has been gone for as long as the kernel's timers take to send what a multicast group that
// was left needs (igmp_ifc_start_timer() in net/ipv4/igmp.c): between two requests if there is
// time, since nothing can change a namespace in which nobody is, else before the next clone is
// made. What can't be read is not the same.
//
// One process, the template's launcher; static, since its buffers are large.
class UsedNetworks {
 public:
  static constexpr std::size_t kMostKept = 32;
  static constexpr std::uint32_t kMostUses = 1000;  // of one namespace
  static constexpr std::uint64_t kMostIdleNs = 10'000'000'000;

  // Moves the template to a network namespace of its own, which no clone gets. `proc`: a directory
  // of the template's proc(5). Called if clones have networks of their own, and no listeners.
  void Begin(int proc);

  bool is_used() const { return own_ != 0; }

  // Moves the template to a namespace that nobody has touched. False: there is none, and it is
  // where it was.
  bool Enter();
  // Moves it back. `pidfd`: of the clone that was made meanwhile, which it keeps; or -errno. False:
  // it can't get back, and must make no other clone.
  [[nodiscard]] bool Leave(int pidfd);

  // Makes a namespace for later, if the last two clones came within kMostIdleNs and Enter() has
  // found none. Takes as long as a clone does. False: as Leave().
  [[nodiscard]] bool Prepare();

  // Reads one that has been left, and closes those that can't be used or were not for long. Returns
  // in how many nanoseconds to call it again; -1: there is none, or a clone has each.
  long LookAfter();

 private:
  // These files tell a used namespace from a new one, besides what only capabilities can change.
  // The key for fast opens is made once a command listens for them (tcp_fastopen_init_key_once()).
  static constexpr const char* kFiles[] = {
      "self/net/netstat",       "self/net/snmp",
      "self/net/snmp6",         "self/net/dev",
      "self/net/sockstat",      "self/net/sockstat6",
      "self/net/ip6_flowlabel", "self/net/ipv6_route",
      "self/net/rt6_stats",     "sys/net/ipv4/tcp_fastopen_key"};
  static constexpr std::size_t kFileCount = sizeof kFiles / sizeof kFiles[0];
  static constexpr std::size_t kMostText = 24'576;

  // Descriptors; 0, which is the template's input: none.
  struct Network {
    int at = 0;  // of the namespace; 0: this place is free
    int files[kFileCount] = {};
    int user = 0;  // pidfd of the clone that has it
    std::uint32_t uses = 0;
    std::uint64_t left_ns = 0;  // when it was last seen to be left
    bool is_as_new = false;     // it was read since
  };
  struct Text {
    std::size_t size = 0;  // 0: it could not be read whole
    char bytes[kMostText] = {};
  };

  static void Close(Network* network);
  static bool IsLeft(Network* network, std::uint64_t now);
  bool IsUsable(Network* network);
  static void Read(const Network& network, Text* text);
  bool Make(Network* network);
  bool IsAsNew(const Network& network);

  int proc_ = 0;
  int own_ = 0;  // the template's own network namespace; 0: none is used again
  std::uint64_t rest_ns_ = 0;
  std::uint64_t asked_ns_ = 0;
  bool is_wanted_ = false;
  Network* entered_ = nullptr;
  Network networks_[kMostKept];
  Text new_;  // what new ones read as
  Text now_;
};

}  // namespace native_runner
