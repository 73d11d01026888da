#include "supervise/sandbox/sandbox.h"

#include <dirent.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstring>
#include <string_view>
#include <utility>

namespace native_runner {
namespace {

constexpr std::size_t kMostLookedAt = 1000;

// Returns how often a process has gone to sleep; a change shows that it has done something since.
std::uint64_t WaitsOf(pid_t process) {
  const auto numbers =
      NumbersInLine("/proc/" + std::to_string(process) + "/status", "voluntary_ctxt_switches:");
  return numbers.empty() ? 0 : numbers[0];
}

}  // namespace

EndWatch::Seen EndWatch::Look(int launcher) {
  const pid_t process = NumberOfPidfd(launcher);
  const auto facts = process == 0 ? std::nullopt : LookAtProcess(process);
  if (!facts) return Seen::kSilent;
  if (facts->is_dying) return Seen::kDying;
  for (const pid_t each : DescendantsOf(process, kMostLookedAt)) {
    const auto found = LookAtProcess(each);
    if (found && found->is_dying) return Seen::kDying;
  }
  const std::uint64_t steps = 1 + facts->cpu_ticks + WaitsOf(process);
  const bool has_moved = std::exchange(steps_, steps) != steps;
  if (facts->state == 'T' || facts->state == 't') return Seen::kSilent;
  return has_moved || facts->state == 'R' || facts->state == 'D' ? Seen::kWorking : Seen::kSilent;
}

namespace {

bool Holds(const std::string& link, const std::string& wanted) {
  char target[64];
  const ssize_t size = readlink(link.c_str(), target, sizeof target);
  return size > 0 && wanted == std::string_view(target, static_cast<std::size_t>(size));
}

// Opens a pidfd of a process by its number in /proc. A sandbox around us may show the /proc of an
// outer pid namespace: NSpid has the numbers from /proc's namespace inwards (proc_pid_status(5)).
// Invalid if the process is gone or not in our namespace.
Descriptor OpenShown(pid_t shown, std::size_t depth) {
  const auto numbers = NumbersInLine("/proc/" + std::to_string(shown) + "/status", "NSpid:");
  if (depth == 0 || numbers.size() < depth) return Descriptor();
  const auto ours = static_cast<pid_t>(numbers[depth - 1]);
  if (ours == getpid()) return Descriptor();
  Descriptor pidfd(static_cast<int>(syscall(SYS_pidfd_open, ours, 0)));
  if (!pidfd.valid()) return pidfd;
  // pidfd_open(2) takes our namespace's number, which another process may have got meanwhile.
  return NumberOfPidfd(pidfd.get()) == shown ? std::move(pidfd) : Descriptor();
}

}  // namespace

std::vector<Descriptor> KillSocketHolders(ino_t inode) {
  const std::string wanted = "socket:[" + std::to_string(inode) + "]";
  const std::size_t depth = NumbersInLine("/proc/self/status", "NSpid:").size();
  DIR* processes = opendir("/proc");
  if (processes == nullptr) return {};
  std::vector<Descriptor> found;
  while (const dirent* entry = readdir(processes)) {
    pid_t shown = 0;
    const char* end = entry->d_name + std::strlen(entry->d_name);
    const auto parsed = std::from_chars(entry->d_name, end, shown);
    if (parsed.ptr != end || shown <= 0) continue;
    const std::string link =
        std::string("/proc/") + entry->d_name + "/fd/" + std::to_string(kControlDescriptor);
    if (!Holds(link, wanted)) continue;
    Descriptor pidfd = OpenShown(shown, depth);
    if (pidfd.valid() && Holds(link, wanted)) found.push_back(std::move(pidfd));
  }
  closedir(processes);
  for (const Descriptor& pidfd : found)
    SignalPidfd(pidfd.get(), SIGKILL);
  return found;
}

void Sandbox::Receive() {
  while (!channel_closed_) {
    Report report;
    Descriptor carried;
    std::vector<Descriptor> made;
    LauncherChannel::Records records;
    switch (control_.Receive(&report, &carried, AwaitsMade() ? &made : nullptr, &records)) {
      case LauncherChannel::Received::kNothing:
        return;
      case LauncherChannel::Received::kClosed:
        channel_closed_ = true;
        channel_poll_.Stop();
        return;
      case LauncherChannel::Received::kReport:
        if (report.kind == ReportKind::kMade) {
          made.insert(made.begin(), std::move(carried));
          NoteMade(std::move(made));
          break;
        }
        if (report.kind == ReportKind::kObserved) {
          if (user_ != nullptr) user_->OnObserved(records.view(), report.omitted);
          break;
        }
        if (carried.valid()) {
          (report.kind == ReportKind::kTerminal ? terminal_ : launcher_) = std::move(carried);
        }
        NoteReport(report);
        if (user_ != nullptr) user_->OnReport(report);
    }
  }
}

Forwards* Sandbox::MakeForwards() {
  if (!forwards_) {
    forwards_ = std::make_unique<Forwards>(loop_, [this](int peer) {
      return control_.SendForward(peer) == LauncherChannel::Sent::kSent;
    });
  }
  return forwards_.get();
}

PortState Sandbox::LookForPort(std::uint16_t port) const {
  if (!launcher_.valid()) return PortState::kUnreadable;
  const auto listens = ListensInNetworkOf(launcher_.get(), port);
  if (!listens) return PortState::kUnreadable;
  return listens.value() ? PortState::kListening : PortState::kSilent;
}

bool Sandbox::WakeIfSilent(EndWatch* watch) const {
  if (!launcher_.valid() || watch->Look(launcher_.get()) != EndWatch::Seen::kSilent) return false;
  SignalPidfd(launcher_.get(), SIGCONT);
  return true;
}

bool Sandbox::LauncherIsGone() const {
  return !launcher_.valid() || ProcessHasEnded(launcher_.get());
}

bool Sandbox::KillHolders() {
  std::vector<Descriptor> found = KillSocketHolders(control_.peer_inode());
  for (Descriptor& each : found) {
    const auto is_same = [number = NumberOfPidfd(each.get())](const Descriptor& other) {
      return NumberOfPidfd(other.get()) == number;
    };
    if (std::ranges::none_of(killed_, is_same)) killed_.push_back(std::move(each));
  }
  return !found.empty();
}

bool Sandbox::AllAreGone() {
  if (!killed_.empty()) rest_poll_.Stop();  // it may watch a pidfd that is closed here
  std::erase_if(killed_, [](const Descriptor& pidfd) { return ProcessHasEnded(pidfd.get()); });
  return killed_.empty() && LauncherIsGone();
}

// Called only after the other ends were seen: most often the processes are gone by then, and need
// no watch.
void Sandbox::WatchRest(Poll::Callback on_end) {
  if (rest_poll_.active()) return;
  const bool is_launcher = launcher_.valid() && (killed_.empty() || !LauncherIsGone());
  const int pidfd = is_launcher ? launcher_.get() : killed_.front().get();
  rest_poll_.Start(loop_, pidfd, UV_READABLE, std::move(on_end));
}

}  // namespace native_runner
