#include "supervise/sandbox/sandbox.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "supervise/proc/net_table.h"
#include "supervise/proc/proc_file.h"
#include "supervise/sandbox/socket_holders.h"

namespace native_runner {

void Sandbox::Receive() {
  while (!control_closed_) {
    Report report;
    Descriptor carried;
    std::vector<Descriptor> made;
    Control::Records records;
    switch (control_.Receive(&report, &carried, AwaitsMade() ? &made : nullptr, &records)) {
      case Control::Received::kNothing:
        return;
      case Control::Received::kClosed:
        control_closed_ = true;
        control_poll_.Stop();
        return;
      case Control::Received::kReport:
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
  if (!killed_.empty()) rest_poll_.Stop();  // it may watch one that is closed here
  std::erase_if(killed_, [](const Descriptor& pidfd) { return ProcessHasEnded(pidfd.get()); });
  return killed_.empty() && LauncherIsGone();
}

// Most often they go before what is waited for first. Only after that is it worth a watch.
void Sandbox::WatchRest(Poll::Callback on_end) {
  if (rest_poll_.active()) return;
  const bool is_launcher = launcher_.valid() && (killed_.empty() || !LauncherIsGone());
  const int pidfd = is_launcher ? launcher_.get() : killed_.front().get();
  rest_poll_.Start(loop_, pidfd, UV_READABLE, std::move(on_end));
}

}  // namespace native_runner
