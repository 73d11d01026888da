#include "launcher/clone/clone_request.h"

#include <cerrno>
#include <cstring>

#include "launcher/kernel/calls.h"

namespace native_runner {
namespace {

constexpr std::size_t kMost = kCommandDescriptors + 1;  // with the cgroup

// How many came, in `descriptors`.
std::size_t TakeAll(const msghdr& message, int* descriptors) {
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
    return 0;
  const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
  if (count > kMost) return 0;
  std::memcpy(descriptors, CMSG_DATA(header), count * sizeof(int));
  return count;
}

}  // namespace

void AskedClone::Close() {
  for (int& descriptor : at) {
    if (descriptor >= 0) kernel::Close(descriptor);
    descriptor = -1;
  }
  if (cgroup >= 0) kernel::Close(cgroup);
  cgroup = -1;
}

NextClone ReceiveClone(AskedClone* asked) {
  char kind = 0;
  iovec parts[] = {{&kind, 1}, {&asked->request, sizeof asked->request}};
  union {
    cmsghdr header;
    char bytes[CMSG_SPACE(kMost * sizeof(int))];
  } space{};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  message.msg_control = &space;
  message.msg_controllen = CMSG_LEN(kMost * sizeof(int));
  long got = 0;
  do {
    got = kernel::Receive(kControlDescriptor, &message, MSG_CMSG_CLOEXEC);
  } while (got == -EINTR);
  if (got <= 0) return NextClone::kEnd;
  int descriptors[kMost] = {};
  const std::size_t count = TakeAll(message, descriptors);
  for (std::size_t at = 0; at < count && at < kCommandDescriptors; ++at)
    asked->at[at] = descriptors[at];
  if (count == kMost) asked->cgroup = descriptors[kMost - 1];
  const bool is_whole = got == 1 + sizeof asked->request && kind == kCloneMessage &&
                        (message.msg_flags & (MSG_CTRUNC | MSG_TRUNC)) == 0 &&
                        count >= kCommandDescriptors;
  return is_whole ? NextClone::kAsked : NextClone::kEnd;
}

}  // namespace native_runner
