#pragma once

#include <cstddef>

#include "launcher/order/order.h"
#include "protocol/report.h"

namespace native_runner {

// What comes with kCommandMessage, close-on-exec, the receiver's to close.
struct CommandDescriptors {
  int at[kCommandDescriptors] = {};
};

// Says on a command's socket that it can't be run.
void RefuseCommand(int socket, const char* what, long result);
// Or that there is no sandbox to run it in.
void RefuseClone(int socket, const char* what, long result);

// The launcher's end of the control socket, our descriptor 3. Blocking; never raises SIGPIPE. A
// host that is gone is no error of ours: sends to it are dropped, and the next wait sees end of
// file.
class HostChannel {
 public:
  // In a session: what the host says next. kNothing: not a word. Anything but a command is taken
  // for kEnd, as is the host's end.
  enum class SessionMessage { kNothing, kCommand, kEnd };
  SessionMessage ReceiveCommand(CommandDescriptors* descriptors) const;

  HostChannel() = default;
  // `is_alone`: the host has no other process whose end is ours. Then it must have our pidfd.
  explicit HostChannel(bool is_alone) : is_alone_(is_alone) {}

  enum class Received { kOrder, kHostGone, kInvalid };
  // Waits for the order. Says so when it has not come yet, and puts what is sent as input or state
  // before it in its place. kHostGone: also when the host wants an end instead. kInvalid: what
  // came is no order, or descriptor 3 is no socket.
  Received ReceiveOrder(ReceivedOrder* order);

  enum class Wake { kChild, kSignal, kLeaseExtended, kLeaseEnded, kEnd };
  // What is waited for besides the host. -1: nothing.
  struct Awaited {
    int child_signal = -1;
    int other = -1;
    int lease = -1;     // LeaseTimer::descriptor
    long most_ns = -1;  // so long at most, which is told as kChild too; -1: as long as it takes
  };
  // What comes with kSignal, and with kLeaseExtended.
  struct Said {
    int signal = 0;
    std::uint64_t lease_until_ns = 0;
  };
  // Waits until the host wants an end or is gone (kEnd), wants a signal sent to the command
  // (kSignal) or its lease extended, where it has one; until the lease has ended and the host has
  // not extended it; or until something may have happened to a child, or to `other` (kChild). Any
  // other message is taken for a kill.
  Wake Wait(const Awaited& awaited, Said* said) const;

  // Says that all checks passed and which of kLayersOfLauncher are in force, and hands over our
  // pidfd where the kernel has such and the host has it not. False: it could not be said, so
  // nothing may be started: a host that hears of no kReady may have the command run elsewhere.
  [[nodiscard]] bool SendReady(LayerSet enforced);

  // Hands over the master side of the command's terminal; before SendReady.
  [[nodiscard]] bool SendTerminal(int master) const;

  // Hands over what a step has made (order.h); at most kMostMade.
  [[nodiscard]] bool SendMade(const int* descriptors, std::size_t count) const;

  // What the command was refused: whole records (report.h). `omitted`: so many more until now.
  void SendObserved(const void* records, std::size_t size, std::uint64_t omitted) const;

  // The last word of a run.
  void SendRefused(const Refusal& refusal) const;
  void SendLast(const Report& report) const;

 private:
  bool Announce(ReportKind kind, LayerSet enforced);

  bool has_sent_pidfd_ = false;
  bool is_alone_ = false;
};

// Waits for the order, checks and maps it; `order` points into `received`. False: none came, or it
// was none, which has been said.
bool TakeOrder(HostChannel& control, ReceivedOrder* received, MappedOrder* order);

}  // namespace native_runner
