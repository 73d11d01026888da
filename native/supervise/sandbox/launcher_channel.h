#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "policy/result.h"
#include "protocol/report.h"
#include "supervise/os/descriptor.h"

namespace native_runner {

// Our end of the socket to one launcher. End of file on it proves that no launcher and no bwrap in
// set-up is left: only these hold the other end. Closing it orders the launcher to end.
class LauncherChannel {
 public:
  // Fills `peer` with the launcher's end, which becomes descriptor kControlDescriptor there.
  static Result<LauncherChannel> Open(Descriptor* peer);

  int descriptor() const { return socket_.get(); }
  ino_t peer_inode() const { return peer_inode_; }

  // Both may be sent before the launcher runs; the socket keeps them in order. kPeerGone: the other
  // end is closed; the child's exit explains why.
  enum class Sent { kSent, kPeerGone, kFailed };
  Sent SendOrder(std::span<const std::byte> order);
  // Sends a descriptor that replaces the launcher's stdin, or the state of a session's shell.
  // Before the order. The descriptor is not kept.
  Sent SendInput(int descriptor);
  Sent SendState(int descriptor);
  void SendKill();
  // Sends a session the descriptors of a command (report.h). They are not kept.
  Sent SendCommand(std::span<const int, kCommandDescriptors> descriptors);
  // Sends a template the same, and the directory of a cgroup or -1. They are not kept.
  Sent SendClone(const CloneRequest& request, std::span<const int, kCommandDescriptors> descriptors,
                 int cgroup);
  void SendSignal(int signal);  // to the command; see kSignalMessage
  // Hands over the socket on which sockets are asked for (kForwardMessage). It is not kept.
  Sent SendForward(int descriptor);
  // Extends the order's lease until this time. Only after an order that has a lease.
  void SendLease(std::uint64_t until_ns);

  // The records after a report of kind kObserved.
  struct Records {  // NOLINT(cppcoreguidelines-pro-type-member-init): `size` of them are filled
    std::span<const std::byte> view() const { return {bytes, size}; }

    std::size_t size = 0;
    std::byte bytes[kMostInObserved];
  };

  enum class Received { kReport, kNothing, kClosed };
  // Fills `carried` if the report carries a descriptor: the launcher's pidfd or (kTerminal) a
  // terminal. Of several (kMade) it gets the first; the others are appended to `more`. Without
  // `more` there is room for one.
  Received Receive(Report* report, Descriptor* carried, std::vector<Descriptor>* more = nullptr,
                   Records* records = nullptr);

  // Prevents further reports: a launcher that can't send kReady does not start its command. Reports
  // sent before are still received. Returns false on failure; the socket may have been closed
  // before.
  bool RefuseReports();

  void Close() { socket_.Close(); }

 private:
  Sent Send(char kind, std::span<const std::byte> bytes, std::span<const int> descriptors);

  LauncherChannel(Descriptor socket, ino_t peer_inode)
      : socket_(std::move(socket)), peer_inode_(peer_inode) {}

  Descriptor socket_;
  ino_t peer_inode_;
};

// The channels between a sandbox and us: the control socket, whose other end is for the launcher,
// and the pipes of the command's stdout and stderr.
struct Channels {
  LauncherChannel control;
  Descriptor peer;
  PipeEnds out;
  PipeEnds err;

  // kSetup names the system call that failed.
  static Result<Channels> Open();
};

}  // namespace native_runner
