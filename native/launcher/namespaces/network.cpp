#include "launcher/namespaces/network.h"

#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <cstring>

#include "launcher/kernel/socket_calls.h"
#include "launcher/namespaces/user.h"
#include "protocol/decimal.h"

namespace native_runner {
namespace {

constexpr Layer kLayer = Layer::kNetworkNamespace;
constexpr int kLoopback = 1;  // its index in every network namespace (LOOPBACK_IFINDEX)
constexpr std::size_t kAddressBytes = 16;

// As rtnetlink(7) takes it.
struct RouteMessage {
  nlmsghdr header;
  rtmsg route;
  rtattr address_header;
  unsigned char address[kAddressBytes];
  rtattr device_header;
  int device;
};
static_assert(sizeof(RouteMessage) ==
              NLMSG_LENGTH(sizeof(rtmsg)) + RTA_LENGTH(kAddressBytes) + RTA_LENGTH(sizeof(int)));

// -1: it is no hexadecimal digit.
int DigitOf(char text) {
  if (text >= '0' && text <= '9') return text - '0';
  return text >= 'a' && text <= 'f' ? text - 'a' + 10 : -1;
}

bool ReadAddress(const char* text, unsigned char* address) {
  for (std::size_t at = 0; at < kAddressBytes; ++at) {
    const int high = DigitOf(*text);
    const int low = high < 0 ? -1 : DigitOf(*++text);
    if (low < 0) return false;
    address[at] = static_cast<unsigned char>(high * 16 + low);
    ++text;
  }
  return *text == '\0';
}

}  // namespace

bool BringUpLoopback(Refusal* refusal) {
  const int socket = kernel::OpenSocket(AF_INET, SOCK_DGRAM);
  if (socket < 0) return refusal->Because(kLayer, "socket", socket);
  ifreq request{};
  std::memcpy(request.ifr_name, "lo", sizeof "lo");
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  const long result = kernel::DeviceControl(socket, SIOCSIFFLAGS, &request);
  kernel::Close(socket);
  return result == 0 || refusal->Because(kLayer, "its loopback can't be brought up", result);
}

bool MakeNetworkNamespace(const char* text, Refusal* refusal) {
  const bool with_user = text[0] == 'u';
  if (text[with_user ? 1 : 0] != '\0') {
    return refusal->Because("the order has a step that can't be taken", -EINVAL);
  }
  if (with_user) {
    if (!EnterUserNamespace(CLONE_NEWNET, kLayer, refusal)) return false;
  } else if (const long result = kernel::Unshare(CLONE_NEWNET); result != 0) {
    return refusal->Because(kLayer, result);
  }
  return BringUpLoopback(refusal);
}

// The kernel is not asked how it went: where it has no IPv6, or has it switched off, programs go by
// IPv4, and what an address that leads nowhere is refused by is the kernel.
bool MakeBlockLocal(const char* text, Refusal* refusal) {
  RouteMessage message{};
  std::uint64_t length = 0;
  const bool is_read = TakeDecimal(&text, &length) && length <= 8 * kAddressBytes && *text == ':' &&
                       ReadAddress(text + 1, message.address);
  if (!is_read) return refusal->Because("the order has a step without a block", -EINVAL);
  message.header.nlmsg_len = sizeof message;
  message.header.nlmsg_type = RTM_NEWROUTE;
  message.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE;
  message.route.rtm_family = AF_INET6;
  message.route.rtm_dst_len = static_cast<unsigned char>(length);
  message.route.rtm_table = RT_TABLE_LOCAL;
  message.route.rtm_protocol = RTPROT_STATIC;
  message.route.rtm_scope = RT_SCOPE_HOST;
  message.route.rtm_type = RTN_LOCAL;
  message.address_header = {RTA_LENGTH(kAddressBytes), RTA_DST};
  message.device_header = {RTA_LENGTH(sizeof(int)), RTA_OIF};
  message.device = kLoopback;
  const int socket = kernel::OpenSocket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
  if (socket < 0) return true;
  kernel::SendPlain(socket, &message, sizeof message);
  kernel::Close(socket);
  return true;
}

}  // namespace native_runner
