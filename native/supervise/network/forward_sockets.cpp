#include "supervise/network/forward_sockets.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "protocol/report.h"

namespace native_runner {
namespace {

// With fewer left, more are asked for.
constexpr std::size_t kFewestSpare = 2;

}  // namespace

std::uint64_t ForwardSockets::Take(bool is_v6, OnSocket on_socket) {
  Family& family = Of(is_v6);
  if (!family.spare.empty() && family.waiting.empty()) {
    Descriptor socket = std::move(family.spare.back());
    family.spare.pop_back();
    if (family.spare.size() < kFewestSpare) Ask(is_v6);
    on_socket(std::move(socket));
    return 0;
  }
  if (!Open()) {
    on_socket(Descriptor());
    return 0;
  }
  const std::uint64_t number = ++next_;
  family.waiting.emplace(number, std::move(on_socket));
  Ask(is_v6);
  return number;
}

void ForwardSockets::Forget(std::uint64_t number) {
  v4_.waiting.erase(number);
  v6_.waiting.erase(number);
}

bool ForwardSockets::Open() {
  if (channel_.valid()) return true;
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
    return false;
  Descriptor ours(ends[0]);
  const Descriptor theirs(ends[1]);
  if (!hand_over_(theirs.get()) ||
      poll_.Start(loop_, ours.get(), UV_READABLE, [this] { Receive(); }) != 0) {
    return false;
  }
  channel_ = std::move(ours);
  return true;
}

// A question that can't be sent is one to a launcher that is gone: its end of file follows.
void ForwardSockets::Ask(bool is_v6) {
  Family& family = Of(is_v6);
  if (family.is_asked || !Open()) return;
  const char question = is_v6 ? kSocketsIpv6 : kSocketsIpv4;
  if (send(channel_.get(), &question, 1, MSG_NOSIGNAL | MSG_DONTWAIT) != 1) return;
  family.is_asked = true;
  asked_.push_back(is_v6);
}

void ForwardSockets::Receive() {
  while (channel_.valid() && ReceiveOne()) {
  }
}

// Returns false if nothing more has come.
bool ForwardSockets::ReceiveOne() {
  SocketsReply reply;
  iovec part = {.iov_base = &reply, .iov_len = sizeof reply};
  union {
    cmsghdr header;
    char bytes[CMSG_SPACE(kSocketsAtOnce * sizeof(int))];
  } space{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = &space;
  message.msg_controllen = sizeof space.bytes;
  const ssize_t got = recvmsg(channel_.get(), &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  std::vector<Descriptor> sockets;
  const cmsghdr* const header = got > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
  if (header != nullptr && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
    for (std::size_t at = 0; at + sizeof(int) <= header->cmsg_len - CMSG_LEN(0);
         at += sizeof(int)) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(header) + at, sizeof number);
      sockets.emplace_back(number);
    }
  }
  if (got != sizeof reply || asked_.empty()) {
    Lose();
    return false;
  }
  const bool is_v6 = asked_.front();
  asked_.erase(asked_.begin());
  Family& family = Of(is_v6);
  family.is_asked = false;
  for (Descriptor& socket : sockets)
    family.spare.push_back(std::move(socket));
  if (family.spare.empty()) {
    Fail(&family);
  } else {
    Serve(&family);
    if (!family.waiting.empty()) Ask(is_v6);
  }
  return true;
}

// A callback may take or forget others.
void ForwardSockets::Serve(Family* family) {
  while (!family->waiting.empty() && !family->spare.empty()) {
    const auto first = family->waiting.extract(family->waiting.begin());
    Descriptor socket = std::move(family->spare.back());
    family->spare.pop_back();
    first.mapped()(std::move(socket));
  }
}

// A callback may take or forget others; those that it takes are asked for anew.
void ForwardSockets::Fail(Family* family) {
  const std::uint64_t last = next_;
  while (!family->waiting.empty() && family->waiting.begin()->first <= last)
    family->waiting.extract(family->waiting.begin()).mapped()(Descriptor());
}

// The launcher has closed its end.
void ForwardSockets::Lose() {
  poll_.Stop();
  channel_.Close();
  asked_.clear();
  for (Family* family : {&v4_, &v6_}) {
    family->is_asked = false;
    Fail(family);
  }
}

}  // namespace native_runner
