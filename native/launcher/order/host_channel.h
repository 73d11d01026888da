#pragma once

#include <cstddef>

#include "launcher/order/order.h"
#include "protocol/report.h"

namespace native_runner {

// Descriptors sent with kCommandMessage: close-on-exec; the receiver closes them.
struct CommandDescriptors {
  int at[kCommandDescriptors] = {};
};

// Reports on a command's socket that it can't be run.
void RefuseCommand(int socket, const char* what, long result);
// Reports on a command's socket that no sandbox could be made for it.
void RefuseClone(int socket, const char* what, long result);

// The launcher's end of the control socket, descriptor 3. Blocking; never raises SIGPIPE. Sends to
// a host that is gone are dropped without an error, and the next wait sees end of file.
class HostChannel {
 public:
  // Receives the host's next message in a session, without waiting. kNothing: none has arrived.
  // kForward: the first descriptor is the end of a socket for forwards (report.h). kEnd: the host
  // is gone, or sent anything else.
  enum class SessionMessage { kNothing, kCommand, kForward, kEnd };
  SessionMessage ReceiveCommand(CommandDescriptors* descriptors) const;

  HostChannel() = default;
  // `is_alone`: the host watches no other process whose end implies this one's, so it must get its
  // pidfd.
  explicit HostChannel(bool is_alone) : is_alone_(is_alone) {}

  // From now on each ready command is told to be in a network namespace that was used before.
  static void TellOfUsedNetwork() { has_used_network_ = true; }

  enum class Received { kOrder, kHostGone, kInvalid };
  // Waits for the order. Reports kAwaitingOrder if it has not arrived yet, and installs the
  // descriptors that are sent before it as input or state. kHostGone: also if the host requests an
  // end instead. kInvalid: the message is not an order, or descriptor 3 is not a socket.
  Received ReceiveOrder(ReceivedOrder* order);

  enum class Wake { kChild, kSignal, kLeaseExtended, kLeaseEnded, kForward, kEnd };
  // Descriptors to wait for besides the host's; -1: none.
  struct Awaited {
    int child_signal = -1;
    int other = -1;
    int forward = -1;
    int lease = -1;     // LeaseTimer::descriptor
    long most_ns = -1;  // longest wait, which ends with kChild; -1: no limit
  };
  // Data of kSignal, of kForward, and of kLeaseExtended.
  struct Said {
    int signal = 0;
    int forward = -1;  // the receiver closes it
    std::uint64_t lease_until_ns = 0;
  };
  // Waits until the host requests an end or is gone (kEnd), requests a signal to the command
  // (kSignal), hands over a socket for forwards (kForward), or extends its lease, if it has one
  // (kLeaseExtended); until the lease has ended without an extension (kLeaseEnded); or until a
  // child, `other` or `forward` may have changed (kChild).
  // Any other message counts as a kill.
  Wake Wait(const Awaited& awaited, Said* said) const;

  // Reports that all checks passed and which of kLayersOfLauncher are in force, and sends the
  // launcher's pidfd if the kernel has pidfds and the host does not have it. False: the report was
  // not sent, so nothing may be started: a host without a kReady may run the command elsewhere.
  [[nodiscard]] bool SendReady(LayerSet enforced);

  // Sends the master side of the command's terminal; called before SendReady(). Returns a negative
  // errno if it can't, as SendMade does.
  [[nodiscard]] long SendTerminal(int master) const;

  // Sends the descriptors that a step has made (order.h); at most kMostMade.
  [[nodiscard]] long SendMade(const int* descriptors, std::size_t count) const;

  // Sends observations: whole records (report.h). `omitted`: the number left out so far.
  void SendObserved(const void* records, std::size_t size, std::uint64_t omitted) const;

  // Send the last report of a run.
  void SendRefused(const Refusal& refusal) const;
  void SendLast(const Report& report) const;

 private:
  bool Announce(ReportKind kind, LayerSet enforced);

  static inline bool has_used_network_ = false;  // a session's commands are children

  bool has_sent_pidfd_ = false;
  bool is_alone_ = false;
};

// Waits for the order, checks and maps it; `order` points into `received`. False: no valid order
// arrived; the host has been sent the reason.
bool TakeOrder(HostChannel& control, ReceivedOrder* received, MappedOrder* order);

}  // namespace native_runner
