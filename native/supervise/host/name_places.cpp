#include "supervise/host/name_places.h"

#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <optional>
#include <string>
#include <utility>

#include "policy/bubblewrap/inside_path.h"
#include "policy/bubblewrap/name_files.h"
#include "policy/network/rules/hosts_file.h"
#include "policy/text/path.h"
#include "supervise/os/descriptor.h"
#include "supervise/os/real_path.h"

namespace native_runner {
namespace {

constexpr std::size_t kMostBytes = std::size_t{64} << 10U;

// By which the C library and its modules ask others than the servers of resolv.conf.
constexpr std::array kSockets = {
    "/run/systemd/resolve/io.systemd.Resolve", "/run/systemd/resolve/io.systemd.Resolve.Monitor",
    "/run/nscd/socket", "/run/avahi-daemon/socket", "/run/dbus/system_bus_socket"};

HostEntry EntryAt(const std::string& path) {
  std::array<char, PATH_MAX> text{};
  const ssize_t size = readlink(path.c_str(), text.data(), text.size());
  if (size > 0) return {.is_there = true, .link = {text.data(), static_cast<std::size_t>(size)}};
  return {.is_there = size < 0 && errno == EINVAL, .link = {}};
}

// Empty where it can't be read, or is no such file.
std::string ContentsOf(const std::string& path) {
  auto file = path.empty() ? Result<Descriptor>(Descriptor())
                           : OpenPath(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!file || !file->valid()) return "";
  std::string text(kMostBytes, '\0');
  const ssize_t size = read(file->get(), text.data(), text.size());
  text.resize(size > 0 && size < static_cast<ssize_t>(kMostBytes) ? static_cast<std::size_t>(size)
                                                                  : 0);
  return text;
}

std::string MachineName() {
  utsname names{};
  return uname(&names) == 0 ? names.nodename : "";
}

// What is to be there in place of `host`; nullopt: that may stay.
std::optional<std::string> OwnText(const std::string& path, const std::string& host,
                                   const NetworkRules& rules) {
  std::string own = path == kResolverFile ? ResolverText()
                    : path == kHostsFile  ? HostsText(MachineName())
                                          : SwitchText(host);
  const bool may_stay = own == host || (path == kHostsFile && NamesOnlyLoopback(host, rules));
  return may_stay ? std::nullopt : std::optional(std::move(own));
}

// Whether something is bound that the path may lie in, by itself or by a link.
bool MayShow(const std::string& path, const std::vector<Mount>& mounts, const HostFacts& facts) {
  return std::any_of(mounts.begin(), mounts.end(),
                     [&path](const Mount& mount) { return PathCovers(mount.source, path); }) ||
         std::any_of(facts.links.begin(), facts.links.end(), [&path](const HostFacts::Link& link) {
           return PathCovers(LinkTarget(link.path, link.target), path);
         });
}

}  // namespace

void FindNameFiles(const NetworkRules& rules, const std::vector<Mount>& mounts,
                   int first_descriptor, HostFacts* facts) {
  for (const char* path : {kResolverFile, kHostsFile, kSwitchFile}) {
    auto inside = FollowInside(path, mounts, EntryAt);
    if (!inside || inside->is_writable) continue;
    if (!inside->host.empty() && !inside->is_there) continue;
    std::optional<std::string> text = OwnText(path, ContentsOf(inside->host), rules);
    if (!text) continue;
    facts->name_files.push_back({.path = std::move(inside->path),
                                 .text = std::move(*text),
                                 .descriptor = first_descriptor++});
  }
  for (const char* path : kSockets) {
    if (!MayShow(path, mounts, *facts)) continue;
    std::string real = RealPath(path);
    if (!real.empty()) facts->resolver_sockets.push_back(std::move(real));
  }
}

}  // namespace native_runner
