#include "launcher/layers/namespaces.h"

#include <cstdint>

#include "launcher/kernel/socket_calls.h"
#include "protocol/namespace_number.h"

namespace native_runner {
namespace {

constexpr char kHostsOwn[] = "the command would run in the host's own";

// 0 when it can't be read.
std::uint64_t NumberOf(const char* link) {
  char text[64] = {};
  if (kernel::ReadLink(link, text, sizeof text - 1) <= 0) return 0;
  return NamespaceNumber(text);
}

// Of the network namespace that we are in, for where /proc does not show it. 0 when the kernel
// does not tell.
std::uint64_t NetworkCookie() {
  const int socket = kernel::OpenSocket(AF_UNIX, SOCK_STREAM);
  if (socket < 0) return 0;
  std::uint64_t cookie = 0;
  unsigned size = sizeof cookie;
  const long result =
      kernel::Call(SYS_getsockopt, socket, SOL_SOCKET, kNetworkCookieOption, &cookie, &size);
  kernel::Close(socket);
  return result == 0 && size == sizeof cookie ? cookie : 0;
}

// Where /proc does not show it.
bool CheckNetwork(const OrderHeader& order, Refusal* refusal) {
  const std::uint64_t ours = order.network_cookie == 0 ? 0 : NetworkCookie();
  if (ours != 0 && ours != order.network_cookie) return true;
  return refusal->Because(
      Layer::kNetworkNamespace,
      ours == 0 ? "without /proc only Linux 5.14 or newer can tell whose it is" : kHostsOwn);
}

}  // namespace

bool CheckNamespaces(const OrderHeader& order, Refusal* refusal) {
  const struct {
    std::uint32_t flag;
    const char* link;
    std::uint64_t hosts;
    Layer layer;
  } rows[] = {
      {kOrderOwnMountNamespace, "/proc/self/ns/mnt", order.mount_namespace, Layer::kMountNamespace},
      {kOrderOwnPidNamespace, "/proc/self/ns/pid", order.pid_namespace, Layer::kPidNamespace},
      {kOrderOwnNetworkNamespace, "/proc/self/ns/net", order.network_namespace,
       Layer::kNetworkNamespace},
  };
  for (const auto& row : rows) {
    if ((order.flags & row.flag) == 0) continue;
    const std::uint64_t ours = NumberOf(row.link);
    if (ours != 0 && ours != row.hosts) continue;
    if (ours != 0 || row.layer != Layer::kNetworkNamespace)
      return refusal->Because(row.layer, kHostsOwn);
    if (!CheckNetwork(order, refusal)) return false;
  }
  return true;
}

}  // namespace native_runner
