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

// Our end of the socket to one launcher. End of file on it proves that no launcher, and no bwrap
// that is still setting up, is left: they alone hold the other end. Closing it is the order to end.
class LauncherChannel {
 public:
  // Fills `peer` with the launcher's end, which is to become its descriptor kControlDescriptor.
  static Result<LauncherChannel> Open(Descriptor* peer);

  int descriptor() const { return socket_.get(); }
  ino_t peer_inode() const { return peer_inode_; }

  // Both may be sent before the launcher runs; the socket keeps them in order. kPeerGone: nobody
  // holds the other end any more, why is for the child's exit to tell.
  enum class Sent { kSent, kPeerGone, kFailed };
  Sent SendOrder(std::span<const std::byte> order);
  // Before the order: what is to take the place of the launcher's stdin, or the state of a
  // session's shell. Not kept.
  Sent SendInput(int descriptor);
  Sent SendState(int descriptor);
  void SendKill();
  // To a session: the descriptors of a command (report.h). Not kept.
  Sent SendCommand(std::span<const int, kCommandDescriptors> descriptors);
  // To a template: the same, and the directory of a cgroup or -1. Not kept.
  Sent SendClone(const CloneRequest& request, std::span<const int, kCommandDescriptors> descriptors,
                 int cgroup);
  void SendSignal(int signal);  // to the command; see kSignalMessage
  // Until when the order's lease holds now. Behind an order that has one.
  void SendLease(std::uint64_t until_ns);

  // What follows a report of kind kObserved.
  struct Records {  // NOLINT(cppcoreguidelines-pro-type-member-init): `size` of them are filled
    std::span<const std::byte> view() const { return {bytes, size}; }

    std::size_t size = 0;
    std::byte bytes[kMostInObserved];
  };

  enum class Received { kReport, kNothing, kClosed };
  // `carried` is filled when the report carries a descriptor: the launcher's pidfd, or (kTerminal)
  // a terminal; of several (kMade) it is the first, and the others come behind what is in `more`.
  // Without `more` there is room for one.
  Received Receive(Report* report, Descriptor* carried, std::vector<Descriptor>* more = nullptr,
                   Records* records = nullptr);

  // From now on no report can be sent to us, and a launcher that can't say kReady does not start
  // its command. What was sent before is still received. False: it may have been closed before.
  bool RefuseReports();

  void Close() { socket_.Close(); }

 private:
  Sent Send(char kind, std::span<const std::byte> bytes, std::span<const int> descriptors);

  LauncherChannel(Descriptor socket, ino_t peer_inode)
      : socket_(std::move(socket)), peer_inode_(peer_inode) {}

  Descriptor socket_;
  ino_t peer_inode_;
};

// What joins a sandbox with us: the control socket, whose other end is to be the launcher's, and
// the pipes of the command's stdout and stderr.
struct Channels {
  LauncherChannel control;
  Descriptor peer;
  PipeEnds out;
  PipeEnds err;

  // kSetup names the system call that failed.
  static Result<Channels> Open();
};

}  // namespace native_runner
