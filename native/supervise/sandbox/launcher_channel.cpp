#include "supervise/sandbox/launcher_channel.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "protocol/order.h"
#include "supervise/os/file.h"

namespace native_runner {
namespace {

// Uses statx: fstat is a function of the C library only since glibc 2.33, so old ones lack its
// symbol.
ino_t InodeOf(int descriptor) {
  struct statx status {};
  if (statx(descriptor, "", AT_EMPTY_PATH, STATX_INO, &status) != 0) return 0;
  return static_cast<ino_t>(status.stx_ino);
}

union DescriptorSpace {
  cmsghdr header;
  char bytes[CMSG_SPACE((kCommandDescriptors + 1) * sizeof(int))];  // includes a clone's cgroup
};

union MadeSpace {
  cmsghdr header;
  char bytes[CMSG_SPACE(kMostMade * sizeof(int))];
};

// Takes ownership of all descriptors that the kernel has put into our table.
void TakeDescriptors(const msghdr& message, Descriptor* first, std::vector<Descriptor>* more) {
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return;
  const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
  for (std::size_t at = 0; at < count; ++at) {
    int number = -1;
    std::memcpy(&number, CMSG_DATA(header) + at * sizeof number, sizeof number);
    if (at == 0) {
      *first = Descriptor(number);
    } else if (more != nullptr) {
      more->emplace_back(number);
    }
  }
}

}  // namespace

Result<LauncherChannel> LauncherChannel::Open(Descriptor* peer) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return SystemError("socketpair", errno);
  }
  Descriptor ours(ends[0]);
  *peer = Descriptor(ends[1]);
  return LauncherChannel(std::move(ours), InodeOf(peer->get()));
}

LauncherChannel::Sent LauncherChannel::SendOrder(std::span<const std::byte> order) {
  if (order.size() <= kMostInMessage) return Send(kOrderMessage, order, {});
  auto file = MemoryFile("order", order.data(), order.size(), false);
  if (!file) return Sent::kFailed;
  const int descriptor = file->get();
  return Send(kOrderMessage, {}, {&descriptor, 1});
}

LauncherChannel::Sent LauncherChannel::SendInput(int descriptor) {
  return Send(kInputMessage, {}, {&descriptor, 1});
}

LauncherChannel::Sent LauncherChannel::SendState(int descriptor) {
  return Send(kStateMessage, {}, {&descriptor, 1});
}

LauncherChannel::Sent LauncherChannel::SendCommand(
    std::span<const int, kCommandDescriptors> descriptors) {
  return Send(kCommandMessage, {}, descriptors);
}

LauncherChannel::Sent LauncherChannel::SendClone(
    const CloneRequest& request, std::span<const int, kCommandDescriptors> descriptors,
    int cgroup) {
  std::array<int, kCommandDescriptors + 1> all{};
  std::copy(descriptors.begin(), descriptors.end(), all.begin());
  all.back() = cgroup;
  const std::size_t count = cgroup < 0 ? kCommandDescriptors : all.size();
  return Send(kCloneMessage, std::as_bytes(std::span(&request, 1)), {all.data(), count});
}

LauncherChannel::Sent LauncherChannel::Send(char kind, std::span<const std::byte> bytes,
                                            std::span<const int> descriptors) {
  iovec parts[] = {{&kind, 1}, {const_cast<std::byte*>(bytes.data()), bytes.size()}};
  DescriptorSpace space{};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  if (!descriptors.empty()) {
    message.msg_control = &space;
    const std::size_t size = descriptors.size_bytes();
    message.msg_controllen = static_cast<decltype(message.msg_controllen)>(CMSG_SPACE(size));
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = static_cast<decltype(header->cmsg_len)>(CMSG_LEN(size));
    std::memcpy(CMSG_DATA(header), descriptors.data(), size);
  }
  if (sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT) > 0) return Sent::kSent;
  return errno == EPIPE || errno == ECONNRESET ? Sent::kPeerGone : Sent::kFailed;
}

// If the socket has no room for the message, the launcher finds end of file instead.
void LauncherChannel::SendKill() {
  const bool is_sent = send(socket_.get(), &kKillMessage, 1, MSG_NOSIGNAL | MSG_DONTWAIT) > 0;
  if (!is_sent && errno == EAGAIN) shutdown(socket_.get(), SHUT_WR);  // EPIPE: already gone
}

void LauncherChannel::SendSignal(int signal) {
  const char message[] = {kSignalMessage, static_cast<char>(signal)};
  static_cast<void>(send(socket_.get(), message, sizeof message, MSG_NOSIGNAL | MSG_DONTWAIT));
}

LauncherChannel::Sent LauncherChannel::SendForward(int descriptor) {
  return Send(kForwardMessage, {}, {&descriptor, 1});
}

// Drops a message that finds no room: the launcher has not read for long, and the next renewal says
// more.
void LauncherChannel::SendLease(std::uint64_t until_ns) {
  char message[1 + sizeof until_ns] = {kLeaseMessage};
  std::memcpy(&message[1], &until_ns, sizeof until_ns);
  static_cast<void>(send(socket_.get(), message, sizeof message, MSG_NOSIGNAL | MSG_DONTWAIT));
}

bool LauncherChannel::RefuseReports() {
  return shutdown(socket_.get(), SHUT_RD) == 0;
}

LauncherChannel::Received LauncherChannel::Receive(Report* report, Descriptor* carried,
                                                   std::vector<Descriptor>* more,
                                                   Records* records) {
  iovec parts[] = {{report, sizeof *report}, {nullptr, 0}};
  if (records != nullptr) parts[1] = {records->bytes, sizeof records->bytes};
  MadeSpace space{};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  message.msg_control = &space;
  message.msg_controllen = more != nullptr ? sizeof space.bytes : CMSG_LEN(sizeof(int));
  const auto room = message.msg_controllen;  // size_t, or socklen_t in musl
  ssize_t got = recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  // A launcher has ended without reading our last message, such as a kill: the kernel reports that
  // once, ahead of the reports that still wait (unix(7), ECONNRESET).
  if (got < 0 && errno == ECONNRESET) {
    message.msg_controllen = room;
    got = recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  }
  if (got < 0) {
    return errno == EAGAIN || errno == EINTR ? Received::kNothing : Received::kClosed;
  }
  TakeDescriptors(message, carried, more);
  constexpr auto kReport = static_cast<ssize_t>(sizeof *report);
  const bool has_more = got > kReport || (message.msg_flags & MSG_TRUNC) != 0;
  if (got < kReport || (has_more && report->kind != ReportKind::kObserved))
    return Received::kClosed;
  if (records != nullptr) records->size = static_cast<std::size_t>(got - kReport);
  return Received::kReport;
}

Result<Channels> Channels::Open() {
  Descriptor peer;
  auto control = LauncherChannel::Open(&peer);
  if (!control) return control.error();
  auto out = MakePipe();
  if (!out) return out.error();
  auto err = MakePipe();
  if (!err) return err.error();
  return Channels{std::move(*control), std::move(peer), std::move(*out), std::move(*err)};
}

}  // namespace native_runner
