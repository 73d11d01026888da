#include "launcher/namespaces/used_networks.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "launcher/kernel/calls.h"
#include "launcher/namespaces/namespaces.h"

namespace native_runner {
namespace {

// A timer that is set to the next tick but one may come two later.
constexpr std::uint64_t kRestTicks = 5;

// Words of /proc/net/sockstat, after which a number of all namespaces together comes. No other file
// has any of them.
bool IsOfAll(const char* word, std::size_t size) {
  for (const char* each : {"orphan", "alloc", "mem", "memory"})
    if (size == std::strlen(each) && std::memcmp(word, each, size) == 0) return true;
  return false;
}

// Removes those numbers; returns the size that is left.
std::size_t WithoutOthers(char* text, std::size_t size) {
  std::size_t kept = 0;
  bool drops = false;
  for (std::size_t at = 0; at < size;) {
    std::size_t end = at;
    while (end < size && text[end] != ' ' && text[end] != '\n')
      ++end;
    const bool is_word = end > at;
    if (!is_word) ++end;
    const bool is_next = is_word && IsOfAll(text + at, end - at);
    if (!is_word || !drops) {
      std::memmove(text + kept, text + at, end - at);
      kept += end - at;
    }
    if (is_word) drops = is_next;
    at = end;
  }
  return kept;
}

}  // namespace

void UsedNetworks::Begin(int proc) {
  timespec tick{};
  if (kernel::Call(SYS_clock_getres, CLOCK_MONOTONIC_COARSE, &tick) != 0) return;
  rest_ns_ = kRestTicks * static_cast<std::uint64_t>(tick.tv_nsec);
  proc_ = proc;
  // The host's, which only its root may enter again, is left for good.
  if (kernel::Unshare(CLONE_NEWNET) != 0) return;
  const int own = kernel::OpenIn(proc, "self/ns/net", O_RDONLY);
  own_ = own > 0 ? own : 0;
}

bool UsedNetworks::Enter() {
  if (own_ == 0) return false;
  const std::uint64_t now = kernel::Now();
  is_wanted_ = asked_ns_ != 0 && now - asked_ns_ < kMostIdleNs;
  asked_ns_ = now;
  for (Network& network : networks_) {
    if (network.at == 0 || !IsLeft(&network, now) || now - network.left_ns < rest_ns_) continue;
    if (!IsUsable(&network)) {
      Close(&network);
      continue;
    }
    if (kernel::EnterNamespace(network.at) != 0) continue;
    entered_ = &network;
    is_wanted_ = false;
    return true;
  }
  return false;
}

bool UsedNetworks::Leave(int pidfd) {
  Network& network = *entered_;
  entered_ = nullptr;
  network.uses += 1;
  network.user = pidfd;
  network.is_as_new = false;
  if (pidfd <= 0) Close(&network);  // no clone was made, or nobody could tell when it is gone
  return kernel::EnterNamespace(own_) == 0;
}

bool UsedNetworks::Prepare() {
  if (!is_wanted_) return true;
  is_wanted_ = false;
  for (Network& network : networks_) {
    if (network.at != 0) continue;
    if (kernel::Unshare(CLONE_NEWNET) != 0) return true;
    if (!Make(&network)) Close(&network);
    return kernel::EnterNamespace(own_) == 0;
  }
  return true;
}

long UsedNetworks::LookAfter() {
  const std::uint64_t now = kernel::Now();
  std::uint64_t next = kMostIdleNs;
  bool has_some = false;
  bool has_read = false;
  for (Network& network : networks_) {
    if (network.at == 0 || !IsLeft(&network, now)) continue;
    const std::uint64_t idle = now - network.left_ns;
    const bool is_rested = idle >= rest_ns_;
    const bool reads = is_rested && !network.is_as_new && !has_read;
    has_read |= reads;
    if (idle >= kMostIdleNs || (reads && !IsUsable(&network))) {
      Close(&network);
      continue;
    }
    std::uint64_t left = kMostIdleNs - idle;
    if (!network.is_as_new) left = is_rested ? 0 : rest_ns_ - idle;
    if (left < next) next = left;
    has_some = true;
  }
  return has_some ? static_cast<long>(next) : -1;
}

void UsedNetworks::Close(Network* network) {
  for (const int file : network->files)
    if (file > 0) kernel::Close(file);
  if (network->user > 0) kernel::Close(network->user);
  if (network->at > 0) kernel::Close(network->at);
  *network = Network();
}

// True if no process is in it any more.
bool UsedNetworks::IsLeft(Network* network, std::uint64_t now) {
  if (network->user == 0) return true;
  pollfd user = {network->user, POLLIN, 0};
  const timespec at_once{};
  if (kernel::Poll(&user, 1, &at_once) != 1 || (user.revents & POLLIN) == 0) return false;
  kernel::Close(network->user);
  network->user = 0;
  network->left_ns = now;
  return true;
}

bool UsedNetworks::IsUsable(Network* network) {
  if (network->uses >= kMostUses) return false;
  if (!network->is_as_new) network->is_as_new = IsAsNew(*network);
  return network->is_as_new;
}

// Opens the files of the namespace that the template is in, which has just been made.
bool UsedNetworks::Make(Network* network) {
  Refusal unused;
  if (!BringUpLoopback(&unused)) return false;
  network->at = kernel::OpenIn(proc_, "self/ns/net", O_RDONLY);
  if (network->at <= 0) return false;
  for (std::size_t at = 0; at < kFileCount; ++at) {
    const int file = kernel::OpenIn(proc_, kFiles[at], O_RDONLY);
    if (file <= 0 && file != -ENOENT) return false;  // a kernel without IPv6 has some of them not
    network->files[at] = file > 0 ? file : 0;
  }
  network->left_ns = kernel::Now();
  if (new_.size != 0) return IsAsNew(*network);
  Read(*network, &new_);
  return new_.size != 0;
}

bool UsedNetworks::IsAsNew(const Network& network) {
  Read(network, &now_);
  return now_.size != 0 && now_.size == new_.size &&
         std::memcmp(now_.bytes, new_.bytes, new_.size) == 0;
}

void UsedNetworks::Read(const Network& network, Text* text) {
  std::size_t size = 0;
  text->size = 0;
  for (std::size_t at = 0; at < kFileCount; ++at) {
    if (network.files[at] == 0) continue;
    const std::size_t room = kMostText - size;
    const long got = kernel::Call(SYS_pread64, network.files[at], text->bytes + size, room, 0);
    if (got < 0 || static_cast<std::size_t>(got) >= room) return;
    size += WithoutOthers(text->bytes + size, static_cast<std::size_t>(got));
  }
  text->size = size;
}

}  // namespace native_runner
