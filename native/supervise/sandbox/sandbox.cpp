#include "supervise/sandbox/sandbox.h"

#include <csignal>
#include <utility>

#include "supervise/proc/net_table.h"

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

// Most often it goes before what is waited for first. Only after that is it worth a watch.
void Sandbox::WatchLauncher(Poll::Callback on_end) {
  if (launcher_poll_.active()) return;
  launcher_poll_.Start(loop_, launcher_.get(), UV_READABLE, std::move(on_end));
}

}  // namespace native_runner
