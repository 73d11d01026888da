#include "supervise/network/dial/own_address.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "supervise/os/descriptor.h"

namespace native_runner {
namespace {

struct RouteQuestion {
  nlmsghdr header{};
  rtmsg route{};
  rtattr attribute{};
  std::array<std::uint8_t, 16> address{};
};

std::size_t Write(const IpAddress& address, RouteQuestion* question) {
  const std::size_t bytes = address.is_v4() ? 4 : 16;
  question->route.rtm_family = address.is_v4() ? AF_INET : AF_INET6;
  question->route.rtm_dst_len = static_cast<unsigned char>(8 * bytes);
  question->attribute.rta_type = RTA_DST;
  question->attribute.rta_len = static_cast<unsigned short>(RTA_LENGTH(bytes));
  std::ranges::copy(address.bytes(), question->address.begin());
  const std::size_t size = offsetof(RouteQuestion, address) + bytes;
  question->header.nlmsg_len = static_cast<std::uint32_t>(size);
  question->header.nlmsg_type = RTM_GETROUTE;
  question->header.nlmsg_flags = NLM_F_REQUEST;
  return size;
}

}  // namespace

bool LeadsToThisMachine(const IpAddress& address) {
  const Descriptor socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  if (!socket.valid()) return true;
  RouteQuestion question;
  const std::size_t size = Write(address, &question);
  if (send(socket.get(), &question, size, 0) != static_cast<ssize_t>(size)) return true;
  // The kernel answers while it is asked.
  alignas(nlmsghdr) std::array<char, 4096> answer{};
  const ssize_t got = recv(socket.get(), answer.data(), answer.size(), MSG_DONTWAIT);
  nlmsghdr header{};
  if (got < static_cast<ssize_t>(sizeof header)) return true;
  std::memcpy(&header, answer.data(), sizeof header);
  if (header.nlmsg_type == NLMSG_ERROR) return false;  // no way leads there at all
  if (header.nlmsg_type != RTM_NEWROUTE || got < static_cast<ssize_t>(NLMSG_LENGTH(sizeof(rtmsg))))
    return true;
  rtmsg route{};
  std::memcpy(&route, answer.data() + NLMSG_HDRLEN, sizeof route);
  return route.rtm_type != RTN_UNICAST;
}

}  // namespace native_runner
