#include "launcher/control.h"

#include <cerrno>
#include <cstring>

#include "launcher/kernel/calls.h"

namespace native_runner {
namespace {

union DescriptorSpace {
  cmsghdr header;
  char bytes[CMSG_SPACE(sizeof(int))];
};

void Send(const Report& report, int attached) {
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
  kernel::Send(kControlDescriptor, &message, MSG_NOSIGNAL);  // EPIPE: the host is gone
}

}  // namespace

Control::Received Control::ReceiveOrder(int* descriptor) const {
  char kind = 0;
  iovec part{&kind, 1};
  DescriptorSpace space{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = &space;
  message.msg_controllen = sizeof space.bytes;
  const long got = kernel::Receive(kControlDescriptor, &message, MSG_CMSG_CLOEXEC);
  if (got == 0 || got == -ECONNRESET) return Received::kHostGone;
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (got < 0 || kind != kOrderMessage || header == nullptr || header->cmsg_level != SOL_SOCKET ||
      header->cmsg_type != SCM_RIGHTS || header->cmsg_len != CMSG_LEN(sizeof *descriptor)) {
    return Received::kNonsense;
  }
  std::memcpy(descriptor, CMSG_DATA(header), sizeof *descriptor);
  return Received::kOrder;
}

Control::Wake Control::Wait(int child_signal) const {
  pollfd descriptors[] = {{kControlDescriptor, POLLIN, 0}, {child_signal, POLLIN, 0}};
  // Without a descriptor for the signal we have to look for ourselves now and then.
  const timespec moment{0, 10'000'000};
  kernel::Poll(descriptors, 2, child_signal < 0 ? &moment : nullptr);
  return descriptors[0].revents != 0 ? Wake::kEnd : Wake::kChild;
}

void Control::SendReady(std::uint32_t enforced) const {
  Report report;
  report.kind = ReportKind::kReady;
  report.enforced = enforced;
  const int pidfd = kernel::OpenPidfd(kernel::ProcessId());
  Send(report, pidfd);
  if (pidfd >= 0) kernel::Close(pidfd);
}

void Control::SendRefused(const Refusal& refusal) const {
  Report report;
  report.kind = ReportKind::kRefused;
  report.error = refusal.error;
  std::memcpy(report.text, refusal.text.c_str(), refusal.text.size());
  SendLast(report);
}

void Control::SendLast(const Report& report) const {
  // A message that we leave unread when we exit (a kill that crossed with the end) would turn the
  // host's next read into ECONNRESET, ahead of this report.
  kernel::Shutdown(kControlDescriptor, SHUT_RD);
  char unread = 0;
  while (kernel::Receive(kControlDescriptor, &unread, 1, MSG_DONTWAIT) > 0) {
  }
  Send(report, -1);
}

}  // namespace native_runner
