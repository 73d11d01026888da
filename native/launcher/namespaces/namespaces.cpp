#include "launcher/namespaces/namespaces.h"

#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <cstring>

#include "launcher/kernel/calls.h"
#include "launcher/kernel/process.h"
#include "launcher/kernel/text.h"
#include "launcher/namespaces/overlay.h"
#include "protocol/identity.h"

namespace native_runner {

bool EnterUserNamespace(unsigned long kinds, Layer layer, Refusal* refusal) {
  const long uid = kernel::Call(SYS_geteuid);
  const long gid = kernel::Call(SYS_getegid);
  const long result = kernel::Unshare(CLONE_NEWUSER | kinds);
  if (result != 0) return refusal->Because(layer, result);
  return MapUser(uid, gid) || refusal->Because(Layer::kUserNamespace, "its ids can't be set");
}

namespace {

constexpr Layer kNamespaceLayer = Layer::kNetworkNamespace;
constexpr int kLoopback = 1;  // its index in every network namespace (LOOPBACK_IFINDEX)
constexpr std::size_t kAddressBytes = 16;

// A request as rtnetlink(7) takes it.
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

// Returns the digit's value; -1 if it is not hexadecimal.
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
  if (socket < 0) return refusal->Because(kNamespaceLayer, "socket", socket);
  ifreq request{};
  std::memcpy(request.ifr_name, "lo", sizeof "lo");
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  const long result = kernel::DeviceControl(socket, SIOCSIFFLAGS, &request);
  kernel::Close(socket);
  return result == 0 ||
         refusal->Because(kNamespaceLayer, "its loopback can't be brought up", result);
}

bool MakeNetworkNamespace(const char* text, Refusal* refusal) {
  const bool with_user = text[0] == 'u';
  if (text[with_user ? 1 : 0] != '\0') {
    return refusal->Because("the order has a step that can't be taken", -EINVAL);
  }
  if (with_user) {
    if (!EnterUserNamespace(CLONE_NEWNET, kNamespaceLayer, refusal)) return false;
  } else if (const long result = kernel::Unshare(CLONE_NEWNET); result != 0) {
    return refusal->Because(kNamespaceLayer, result);
  }
  return BringUpLoopback(refusal);
}

// Ignores the kernel's result: where IPv6 is missing or switched off, programs use IPv4, and the
// kernel itself refuses addresses that lead nowhere.
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

namespace {

constexpr Layer kPortsLayer = Layer::kNetworkByDomain;
constexpr int kBacklog = 4096;  // also bounded by net.core.somaxconn
constexpr std::uint64_t kMostPort = 65535;

in_port_t Port(std::uint64_t port) {
  return __builtin_bswap16(static_cast<in_port_t>(port));
}

long BindV4(int socket, std::uint32_t address, std::uint64_t port) {
  sockaddr_in bound{};
  bound.sin_family = AF_INET;
  bound.sin_port = Port(port);
  bound.sin_addr.s_addr = __builtin_bswap32(address);
  return kernel::Bind(socket, bound);
}

// Also accepts IPv4, whatever net.ipv6.bindv6only says.
long BindBoth(int socket, std::uint64_t port) {
  sockaddr_in6 bound{};
  bound.sin6_family = AF_INET6;
  bound.sin6_port = Port(port);
  const long result = kernel::SetSocketOption(socket, IPPROTO_IPV6, IPV6_V6ONLY, 0);
  return result == 0 ? kernel::Bind(socket, bound) : result;
}

// Returns the socket, or -errno.
int BoundUdp(std::uint64_t port) {
  const int socket = kernel::OpenSocket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK);
  if (socket < 0) return socket;
  const long result = BindV4(socket, INADDR_LOOPBACK, port);
  if (result == 0) return socket;
  kernel::Close(socket);
  return static_cast<int>(result);
}

int BoundTcp(std::uint64_t port) {
  int socket = kernel::OpenSocket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK);
  const bool has_v6 = socket >= 0;
  if (!has_v6) socket = kernel::OpenSocket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK);
  if (socket < 0) return socket;
  long result = has_v6 ? BindBoth(socket, port) : BindV4(socket, INADDR_ANY, port);
  if (result == 0) result = kernel::Listen(socket, kBacklog);
  if (result == 0) return socket;
  kernel::Close(socket);
  return static_cast<int>(result);
}

}  // namespace

BoundSockets::~BoundSockets() {
  for (std::size_t each = 0; each < count; ++each)
    kernel::Close(at[each]);
}

bool BindPorts(const char* list, BoundSockets* bound, Refusal* refusal) {
  for (;; ++list) {
    const bool is_udp = *list == kUdpPort;
    if (is_udp) ++list;
    std::uint64_t port = 0;
    if (bound->count == kMostMade || !TakeDecimal(&list, &port) || port == 0 || port > kMostPort ||
        (*list != ',' && *list != '\0')) {
      return refusal->Because("the order has a step without a port", -EINVAL);
    }
    const int socket = is_udp ? BoundUdp(port) : BoundTcp(port);
    if (socket < 0) {
      refusal->text.Add(LayerName(kPortsLayer)).Add(": port ").AddNumber(static_cast<long>(port));
      return refusal->Because(is_udp ? " of UDP" : "", socket);
    }
    bound->at[bound->count++] = socket;
    if (*list == '\0') return true;
  }
}

namespace {

// Reads the number that a step begins with and advances `text` past it; -1 if it has none.
int NumberOf(const char** text) {
  constexpr std::uint64_t kMost = 1023;
  std::uint64_t number = 0;
  return TakeDecimal(text, &number) && number <= kMost ? static_cast<int>(number) : -1;
}

// Mounts the file on itself, read-only and otherwise with the flags of its mount. statfs(2) uses
// the flag names of statvfs(3), whose values are those of mount(2). Returns 0, or -errno.
long MountReadOnly(const char* file) {
  constexpr unsigned long kKept = ST_NOSUID | ST_NODEV | ST_NOEXEC;
  struct statfs status {};
  const int opened = kernel::Open(file, O_PATH);
  if (opened < 0) return opened;
  long result = kernel::StatFs(opened, &status);
  kernel::Close(opened);
  if (result == 0) result = kernel::Mount(file, file, nullptr, MS_BIND);
  if (result != 0) return result;
  const unsigned long flags = static_cast<unsigned long>(status.f_flags) & kKept;
  return kernel::Mount(nullptr, file, nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY | flags);
}

// Mounts the symbolic link that a step names on itself.
bool MountLink(const char* file, Refusal* refusal) {
  FileIdentity wanted;
  const char* const path = ParseIdentity(file, &wanted);
  if (path == nullptr) return refusal->Because("the order has a step without a file", -EINVAL);
  const int mount = kernel::CloneLinkMount(path);
  if (mount < 0) return refusal->Because(path, mount);
  struct stat status {};
  long result = kernel::Stat(mount, &status);
  if (result == 0 && wanted != FileIdentity{status.st_dev, status.st_ino}) result = -ESTALE;
  if (result == 0) result = kernel::CloseMount(mount);
  if (result == 0) result = kernel::AttachMount(mount, path);
  kernel::Close(mount);
  if (result == 0) return true;
  refusal->text.Add(path);
  return refusal->Because(": the symbolic link can't be kept as it is", result);
}

class Steps {
 public:
  Steps(const HostChannel& control, const MappedOrder& order) : control_(control), order_(order) {}

  // Takes one step. False: `refusal` states the reason.
  bool Take(const char* step, Refusal* refusal) {
    const char* const text = step + 1;
    switch (*step) {
      case kStepUserNamespace:
        return MakeUserNamespace(refusal);
      case kStepMountNamespace:
        return MakeMountNamespace(refusal);
      case kStepDevices:
        return MountDevicesReadOnly(refusal);
      case kStepDevice:
        return MountDeviceReadOnly(text, refusal);
      case kStepOwnMounts:
        return MakeOwnMounts(text, refusal);
      case kStepLink:
        return MountLink(text, refusal);
      case kStepCache:
        return caches_.Add(text, refusal);
      case kStepKept:
        return caches_.Keep(text, refusal);
      case kStepShowCaches:
        return caches_.Show(text, refusal);
      case kStepLower:
        return overlay_.AddLower(text, refusal);
      case kStepUpper:
        return overlay_.SetUpper(text, refusal);
      case kStepWork:
        return overlay_.SetWork(text, refusal);
      case kStepOverlay:
        return MountOverlay(text, refusal);
      case kStepJoin:
        return Join(text, refusal);
      case kStepShown:
        return CheckShown(text, refusal);
      case kStepLookAgain:
        return LookAgain(text, refusal);
      case kStepNetworkNamespace:
        return MakeNetworkNamespace(text, refusal);
      case kStepLocalBlock:
        return MakeBlockLocal(text, refusal);
      case kStepListen:
        return Listen(text, refusal);
      case kStepExecute:
        return Execute(text, refusal);
      default:
        return refusal->Because("the order has a step that can't be taken", -EINVAL);
    }
  }

 private:
  // Sends the descriptor to the host and closes it. If it is negative, `refusal` is already set.
  bool HandOver(int descriptor, Refusal* refusal) {
    if (descriptor < 0) return false;
    const long sent = control_.SendMade(&descriptor, 1);
    kernel::Close(descriptor);
    return sent >= 0 || refusal->Because("what was made can't be handed over", sent);
  }

  bool HandOverNamespace(const char* path, Refusal* refusal) {
    const int descriptor = kernel::Open(path, O_RDONLY);
    return descriptor < 0 ? refusal->Because(path, descriptor) : HandOver(descriptor, refusal);
  }

  // The next overlay has directories of its own.
  bool MountOverlay(const char* text, Refusal* refusal) {
    const bool is_mounted = HandOver(overlay_.MountOn(text, refusal), refusal);
    overlay_ = {};
    return is_mounted;
  }

  bool MakeUserNamespace(Refusal* refusal) {
    return EnterUserNamespace(0, Layer::kUserNamespace, refusal) &&
           HandOverNamespace("/proc/self/ns/user", refusal);
  }

  bool Listen(const char* text, Refusal* refusal) {
    BoundSockets bound;
    if (!BindPorts(text, &bound, refusal)) return false;
    const long sent = control_.SendMade(bound.at, bound.count);
    return sent >= 0 || refusal->Because("what was made can't be handed over", sent);
  }

  static long LeaveMountNamespace() {
    const long result = kernel::Unshare(CLONE_NEWNS);
    return result == 0 ? kernel::Mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE) : result;
  }

  bool MountDevicesReadOnly(Refusal* refusal) {
    const long made = LeaveMountNamespace();
    if (made == -EPERM) return true;
    if (made != 0) return refusal->Because(Layer::kMountNamespace, made);
    has_own_mounts_ = true;
    for (const char* node : kDeviceNodes) {
      const long result = MountReadOnly(node);
      if (result != 0 && result != -ENOENT) return refusal->Because(node, result);
    }
    return true;
  }

  // Without a mount namespace of the launcher's own, this would change the host's mounts.
  bool MountDeviceReadOnly(const char* path, Refusal* refusal) const {
    const long result = has_own_mounts_ ? MountReadOnly(path) : -EPERM;
    if (result == 0) return true;
    refusal->text.Add(path);
    return refusal->Because(": the device can't be mounted read-only", result);
  }

  bool MakeOwnMounts(const char* text, Refusal* refusal) {
    const bool with_user = text[0] == 'u';
    if (text[with_user ? 1 : 0] != '\0') {
      return refusal->Because("the order has a step that can't be taken", -EINVAL);
    }
    if (with_user && !EnterUserNamespace(0, Layer::kUserNamespace, refusal)) return false;
    const long made = LeaveMountNamespace();
    has_own_mounts_ = made == 0;
    return has_own_mounts_ || refusal->Because(Layer::kMountNamespace, made);
  }

  bool MakeMountNamespace(Refusal* refusal) {
    const long result = LeaveMountNamespace();
    if (result != 0) return refusal->Because(Layer::kMountNamespace, result);
    return HandOverNamespace("/proc/self/ns/mnt", refusal);
  }

  static bool Join(const char* text, Refusal* refusal) {
    const int number = NumberOf(&text);
    const long result = number < 0 || *text != '\0' ? -EINVAL : kernel::EnterNamespace(number);
    if (result != 0) return refusal->Because("cannot enter a namespace", result);
    kernel::Close(number);
    return true;
  }

  static bool CheckShown(const char* text, Refusal* refusal) {
    const int number = NumberOf(&text);
    if (number < 0 || text[0] != ':' || text[1] != '/') {
      return refusal->Because("the order has a step without a path", -EINVAL);
    }
    struct stat kept {};
    struct stat shown {};
    long result = kernel::Stat(number, &kept);
    if (result == 0) result = kernel::Stat(text + 1, &shown);
    if (result == 0 && (kept.st_dev != shown.st_dev || kept.st_ino != shown.st_ino)) {
      result = -ESTALE;
    }
    if (result == 0) return true;
    refusal->text.Add(text + 1);
    return refusal->Because(" is not what the namespace was made for", result);
  }

  static bool LookAgain(const char* text, Refusal* refusal) {
    const int number = NumberOf(&text);
    const long result = number < 0 || *text != '\0' ? -EINVAL : Overlay::LookAgain(number);
    if (result != 0) return refusal->Because(Layer::kTransactionOverlay, "fsconfig", result);
    kernel::Close(number);
    return true;
  }

  bool Execute(const char* text, Refusal* refusal) {
    const int number = NumberOf(&text);
    const long result = number < 0 || *text != '\0'
                            ? -EINVAL
                            : kernel::Execute(number, order_.argv, order_.environment);
    return refusal->Because("cannot be executed", result);
  }

  const HostChannel& control_;
  const MappedOrder& order_;
  Overlay overlay_;
  CacheOverlays caches_;
  bool has_own_mounts_ = false;
};

}  // namespace

void TakeSteps(const HostChannel& control, const MappedOrder& order) {
  Refusal refusal;
  Steps steps(control, order);
  for (char** step = order.rules; *step != nullptr; ++step) {
    if (!steps.Take(*step, &refusal)) return control.SendRefused(refusal);
  }
  Report report;
  report.kind = ReportKind::kExited;
  report.at_ns = kernel::Now();
  control.SendLast(report);
}

}  // namespace native_runner
