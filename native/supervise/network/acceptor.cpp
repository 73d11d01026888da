#include "supervise/network/acceptor.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

namespace native_runner {
namespace {

constexpr int kMostAccepted = 64;  // per wake-up
constexpr std::uint64_t kRestMs = 100;

Descriptor SpareDescriptor() {
  return Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC));
}

Descriptor Accept(int listener) {
  return Descriptor(accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

bool IsExhausted(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

// True for errors of the single connection to accept (accept(2)).
bool IsOfOne(int error) {
  return error == EINTR || error == ECONNABORTED || error == EPROTO || error == EPERM;
}

}  // namespace

bool Acceptor::Start(uv_loop_t* loop) {
  loop_ = loop;
  spare_ = SpareDescriptor();
  const int flags = fcntl(listener_.get(), F_GETFL);
  if (flags < 0 || fcntl(listener_.get(), F_SETFL, flags | O_NONBLOCK) != 0) return false;
  if (!watch_.Open(loop, listener_.get())) return false;
  watch_.set_callback([this] { AcceptSome(); });
  watch_.Want(UV_READABLE);
  return true;
}

bool Acceptor::AcceptSome() {
  for (int count = 0; count < kMostAccepted; ++count) {
    if (!has_room_()) {
      watch_.Want(0);
      return true;
    }
    if (share_->Left() == 0) return true;  // the listener calls back in the next turn of the loop
    share_->Take(HeadShare::kAccept);
    Descriptor socket = Accept(listener_.get());
    if (socket.valid()) {
      const bool may_serve = LeavesDescriptors(socket.get());
      on_accepted_(std::move(socket), may_serve);
      continue;
    }
    if (IsOfOne(errno)) continue;
    if (!IsExhausted(errno)) {
      // The listener is no longer usable.
      if (errno != EAGAIN && errno != EWOULDBLOCK) watch_.Want(0);
      return false;
    }
    if (AcceptWithSpare()) continue;
    watch_.Want(0);
    rest_.Start(loop_, kRestMs, 0, [this] {
      rest_.Stop();
      if (!spare_.valid()) spare_ = SpareDescriptor();
      watch_.Want(UV_READABLE);
    });
    return false;
  }
  return true;
}

// Returns false if no connection could be accepted even with the spare descriptor.
bool Acceptor::AcceptWithSpare() {
  if (!spare_.valid()) return false;
  spare_.Close();
  Descriptor socket = Accept(listener_.get());
  const bool is_accepted = socket.valid();
  if (is_accepted) on_accepted_(std::move(socket), false);
  spare_ = SpareDescriptor();
  return is_accepted;
}

void Acceptor::Resume() {
  if (!rest_.active()) watch_.Want(UV_READABLE);
}

}  // namespace native_runner
