#include "launcher/order/host_channel.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "launcher/kernel/calls.h"
#include "protocol/order.h"

namespace native_runner {
namespace {

union DescriptorSpace {
  cmsghdr header;
  char bytes[CMSG_SPACE(sizeof(int))];
};

// Returns a negative errno if the host is gone, or the kernel has no room for the message or for
// the descriptor.
long Send(const Report& report, int attached, int socket = kControlDescriptor) {
  iovec part{const_cast<Report*>(&report), sizeof report};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  DescriptorSpace space{};
  if (attached >= 0) {
    message.msg_control = &space;
    message.msg_controllen = sizeof space.bytes;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof attached);
    std::memcpy(CMSG_DATA(header), &attached, sizeof attached);
  }
  return kernel::Send(socket, &message, MSG_NOSIGNAL);
}

// Returns the only descriptor that came with a message; -1 without one.
int DescriptorOf(msghdr* message) {
  int descriptor = -1;
  const cmsghdr* header = CMSG_FIRSTHDR(message);
  if (header != nullptr && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
      header->cmsg_len == CMSG_LEN(sizeof descriptor)) {
    std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
  }
  return descriptor;
}

// Receives one message from the host; its first byte is its kind. Returns the result of recvmsg(2).
long Receive(char* kind, ReceivedOrder* order, int flags) {
  order->descriptor = -1;
  iovec parts[] = {{kind, 1}, {order->bytes, sizeof order->bytes}};
  DescriptorSpace space{};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  message.msg_control = &space;
  message.msg_controllen = sizeof space.bytes;
  const long got = kernel::Receive(kControlDescriptor, &message, MSG_CMSG_CLOEXEC | flags);
  if (got > 0) order->descriptor = DescriptorOf(&message);
  order->size = got > 1 ? static_cast<std::size_t>(got) - 1 : 0;
  return got;
}

// Reads all pending messages before sending: an unread one (a kill that crossed with it, a refused
// order) would turn the host's next read into ECONNRESET, ahead of this report.
void SendLastReport(const Report& report, int socket) {
  kernel::Shutdown(socket, SHUT_RD);
  char unread = 0;
  while (kernel::Receive(socket, &unread, 1, MSG_DONTWAIT) > 0) {
  }
  Send(report, -1, socket);
}

Report ReportOf(const Refusal& refusal) {
  Report report;
  report.kind = ReportKind::kRefused;
  report.error = refusal.error;
  report.no_directory = refusal.no_directory ? 1 : 0;
  report.shared_mounts = refusal.shared_mounts ? 1 : 0;
  report.no_clone = refusal.no_clone ? 1 : 0;
  report.at_ns = kernel::Now();
  std::memcpy(report.text, refusal.text.c_str(), refusal.text.size());
  return report;
}

// False if fewer descriptors arrived than a command needs.
bool TakeDescriptors(const msghdr& message, CommandDescriptors* descriptors) {
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS ||
      header->cmsg_len != CMSG_LEN(sizeof descriptors->at)) {
    return false;
  }
  std::memcpy(descriptors->at, CMSG_DATA(header), sizeof descriptors->at);
  return true;
}

// Returns the number of a descriptor sent before the order; -1 for kinds of messages without one.
int NumberFor(char kind) {
  if (kind == kInputMessage) return STDIN_FILENO;
  return kind == kStateMessage ? kStateDescriptor : -1;
}

// `descriptor` may have the number already; otherwise it is closed.
bool MoveTo(int descriptor, int number) {
  if (descriptor == number) return kernel::KeepOnExec(descriptor) == 0;
  const bool is_placed = kernel::Duplicate(descriptor, number) >= 0;
  kernel::Close(descriptor);
  return is_placed;
}

}  // namespace

// Sends the launcher's pidfd along, if the kernel has pidfds and may send it (ETOOMANYREFS in
// unix(7)).
bool HostChannel::Announce(ReportKind kind, LayerSet enforced) {
  Report report;
  report.kind = kind;
  report.enforced = enforced;
  report.used_network = has_used_network_ ? 1 : 0;
  report.at_ns = kernel::Now();
  const int pidfd = has_sent_pidfd_ ? -1 : kernel::OpenPidfd(kernel::ProcessId());
  if (pidfd < 0) return (has_sent_pidfd_ || !is_alone_) && Send(report, -1) > 0;
  has_sent_pidfd_ = Send(report, pidfd) > 0;
  kernel::Close(pidfd);
  return has_sent_pidfd_ || (!is_alone_ && Send(report, -1) > 0);
}

HostChannel::SessionMessage HostChannel::ReceiveCommand(CommandDescriptors* descriptors) const {
  char kind = 0;
  iovec part{&kind, 1};
  union {
    cmsghdr header;
    char bytes[CMSG_SPACE(sizeof descriptors->at)];
  } space{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = &space;
  message.msg_controllen = CMSG_LEN(sizeof descriptors->at);
  const long got = kernel::Receive(kControlDescriptor, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (got == -EAGAIN) return SessionMessage::kNothing;
  if (got == 1 && kind == kForwardMessage) {
    descriptors->at[0] = DescriptorOf(&message);
    return descriptors->at[0] >= 0 ? SessionMessage::kForward : SessionMessage::kNothing;
  }
  const bool is_whole = got == 1 && kind == kCommandMessage &&
                        (message.msg_flags & MSG_CTRUNC) == 0 &&
                        TakeDescriptors(message, descriptors);
  return is_whole ? SessionMessage::kCommand : SessionMessage::kEnd;
}

void RefuseCommand(int socket, const char* what, long result) {
  Refusal refusal;
  refusal.Because(what, result);
  SendLastReport(ReportOf(refusal), socket);
}

void RefuseClone(int socket, const char* what, long result) {
  Refusal refusal;
  refusal.no_clone = true;
  refusal.Because(what, result);
  SendLastReport(ReportOf(refusal), socket);
}

HostChannel::Received HostChannel::ReceiveOrder(ReceivedOrder* order) {
  char kind = 0;
  long got = Receive(&kind, order, MSG_DONTWAIT);
  const bool is_to_end = got == 1 && kind == kKillMessage;
  // A host that requests an end before the launcher's first report needs the pidfd to see the end.
  if (got == -EAGAIN || is_to_end) Announce(ReportKind::kAwaitingOrder, {});
  if (got == -EAGAIN) got = Receive(&kind, order, 0);
  while (got == 1 && NumberFor(kind) >= 0 && order->descriptor >= 0) {
    if (!MoveTo(order->descriptor, NumberFor(kind))) return Received::kInvalid;
    got = Receive(&kind, order, 0);
  }
  if (got == 0 || got == -ECONNRESET || (got == 1 && kind == kKillMessage)) {
    return Received::kHostGone;
  }
  const bool is_order =
      got >= 1 && kind == kOrderMessage && (order->size > 0) != (order->descriptor >= 0);
  return is_order ? Received::kOrder : Received::kInvalid;
}

// Reads the host's messages first: a lease extension was sent in time, however late it is read.
HostChannel::Wake HostChannel::Wait(const Awaited& awaited, Said* said) const {
  pollfd descriptors[] = {{kControlDescriptor, POLLIN, 0},
                          {awaited.child_signal, POLLIN, 0},
                          {awaited.other, POLLIN, 0},
                          {awaited.lease, POLLIN, 0},
                          {awaited.forward, POLLIN, 0}};
  // Without a descriptor for SIGCHLD, children are checked periodically.
  constexpr long kNowAndThen = 10'000'000;
  long most_ns = awaited.most_ns;
  if (awaited.child_signal < 0 && (most_ns < 0 || most_ns > kNowAndThen)) most_ns = kNowAndThen;
  const timespec moment{0, most_ns};
  kernel::Poll(descriptors, 5, most_ns >= 0 ? &moment : nullptr);
  if (descriptors[0].revents == 0)
    return descriptors[3].revents != 0 ? Wake::kLeaseEnded : Wake::kChild;
  // One byte more than the longest message, so that a longer one is not taken for it.
  char message[2 + sizeof said->lease_until_ns] = {};
  iovec part{message, sizeof message};
  DescriptorSpace space{};
  msghdr received{};
  received.msg_iov = &part;
  received.msg_iovlen = 1;
  received.msg_control = &space;
  received.msg_controllen = sizeof space.bytes;
  const long got = kernel::Receive(kControlDescriptor, &received, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  // Without its descriptor (EMFILE here) it can't be served, which is no reason to end.
  if (got == 1 && message[0] == kForwardMessage) {
    said->forward = DescriptorOf(&received);
    return said->forward >= 0 ? Wake::kForward : Wake::kChild;
  }
  const bool is_lease = got == 1 + sizeof said->lease_until_ns && message[0] == kLeaseMessage;
  if (is_lease && awaited.lease >= 0) {
    std::memcpy(&said->lease_until_ns, &message[1], sizeof said->lease_until_ns);
    return Wake::kLeaseExtended;
  }
  said->signal = static_cast<unsigned char>(message[1]);
  const bool is_signal = got == 2 && message[0] == kSignalMessage && said->signal > 0;
  return is_signal ? Wake::kSignal : Wake::kEnd;
}

long HostChannel::SendTerminal(int master) const {
  Report report;
  report.kind = ReportKind::kTerminal;
  return Send(report, master);
}

long HostChannel::SendMade(const int* descriptors, std::size_t count) const {
  Report report;
  report.kind = ReportKind::kMade;
  union {
    cmsghdr header;
    char bytes[CMSG_SPACE(kMostMade * sizeof(int))];
  } space{};
  const std::size_t size = count * sizeof(int);
  iovec part{&report, sizeof report};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = &space;
  message.msg_controllen = static_cast<decltype(message.msg_controllen)>(CMSG_SPACE(size));
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = static_cast<decltype(header->cmsg_len)>(CMSG_LEN(size));
  std::memcpy(CMSG_DATA(header), descriptors, size);
  return kernel::Send(kControlDescriptor, &message, MSG_NOSIGNAL);
}

void HostChannel::SendObserved(const void* records, std::size_t size, std::uint64_t omitted) const {
  Report report;
  report.kind = ReportKind::kObserved;
  report.omitted = omitted;
  iovec parts[] = {{&report, sizeof report}, {const_cast<void*>(records), size}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  kernel::Send(kControlDescriptor, &message, MSG_NOSIGNAL);
}

bool HostChannel::SendReady(LayerSet enforced) {
  return Announce(ReportKind::kReady, enforced);
}

void HostChannel::SendRefused(const Refusal& refusal) const {
  SendLast(ReportOf(refusal));
}

void HostChannel::SendLast(const Report& report) const {
  SendLastReport(report, kControlDescriptor);
}

bool TakeOrder(HostChannel& control, ReceivedOrder* received, MappedOrder* order) {
  Refusal refusal;
  switch (control.ReceiveOrder(received)) {
    case HostChannel::Received::kHostGone:
      return false;
    case HostChannel::Received::kInvalid:
      refusal.Because("the launcher was sent something else than an order", -EPROTO);
      break;
    case HostChannel::Received::kOrder:
      if (MapOrder(*received, order, &refusal)) return true;
  }
  control.SendRefused(refusal);
  return false;
}

}  // namespace native_runner
