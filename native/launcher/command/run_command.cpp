#include "launcher/command/run_command.h"

#include <unistd.h>

#include <cerrno>

#include "launcher/command/command.h"
#include "launcher/command/start_failure.h"
#include "launcher/command/terminal.h"
#include "launcher/kernel/calls.h"
#include "launcher/renames/renames.h"
#include "launcher/trace/observations.h"
#include "launcher/trace/refusals.h"
#include "launcher/trace/tracer.h"
#include "launcher/tree/children.h"
#include "launcher/tree/tree.h"
#include "launcher/tree/usage.h"

namespace native_runner {
namespace {

// Returns when the command has ended, or its lease has, or when the host wants an end or is gone
// itself. `group`: the command's own process group, which signals are for; 0: it has none. True:
// the lease is why.
bool Watch(const Control& control, LeaseTimer& lease, pid_t group, Children* children,
           Renames* renames, Refusals* refusals) {
  using Wake = Control::Wake;
  while (!children->command_ended()) {
    // At most one of them listens.
    const int listener =
        renames->descriptor() >= 0 ? renames->descriptor() : refusals->descriptor();
    Control::Said said;
    const Wake wake = control.Wait({.child_signal = children->signal_descriptor(),
                                    .other = listener,
                                    .lease = lease.descriptor(),
                                    .most_ns = children->patience_ns()},
                                   &said);
    if (wake == Wake::kLeaseExtended) lease.Extend(said.lease_until_ns);
    children->Reap();
    if (wake == Wake::kLeaseEnded) return !children->command_ended();
    renames->Look();
    refusals->Look();
    if (wake == Wake::kEnd || (wake == Wake::kSignal && group == 0)) return false;
    // While its leader is not reaped, no other process can have its number.
    if (wake == Wake::kSignal && !children->command_ended()) kernel::Kill(-group, said.signal);
  }
  return false;
}

// The host first, as in Control::Wait.
bool HasEnded(const Control& control, LeaseTimer& lease) {
  while (lease.HasEnded()) {
    Control::Said said;
    const Control::Wake wake = control.Wait({.lease = lease.descriptor()}, &said);
    if (wake != Control::Wake::kLeaseExtended) return true;
    lease.Extend(said.lease_until_ns);
  }
  return false;
}

// Its lease has ended before it could be started.
void ReportNotStarted(const Control& control) {
  Report report;
  report.kind = ReportKind::kExited;
  report.lease_expired = 1;
  report.at_ns = kernel::Now();
  control.SendLast(report);
}

// Lets go of our stdin once the command has it, where the host feeds it for as long as it runs: the
// host is to hear when the command has closed it.
void CloseInput(const OrderHeader& order) {
  const bool is_pipe = (order.flags & (kOrderOwnSession | kOrderTerminal)) == kOrderOwnSession;
  if (is_pipe) kernel::Close(STDIN_FILENO);
}

}  // namespace

void RunCommand(const Control& control, const MappedOrder& order, const Landlock& landlock,
                const OverlayRenames& overlay, LeaseTimer& lease) {
  if (HasEnded(control, lease)) return ReportNotStarted(control);
  static constinit Observations observations;  // large, and most often untouched
  static constinit Tracer tracer(&observations);
  const bool is_traced = (order.header.flags & kOrderExplain) != 0;
  StartFailure failure;
  Refusals refusals(&observations);
  Renames renames(overlay, landlock, &refusals);
  const pid_t command = StartCommand(order, landlock, overlay.is_there() ? &renames : nullptr,
                                     &refusals, is_traced ? &tracer : nullptr, &failure);
  if (command < 0) {
    observations.Send(control);
    return ReportStartFailure(control, order.argv[0], failure);
  }

  CloseInput(order.header);
  Children children(command, is_traced ? &tracer : nullptr);
  const pid_t group = (order.header.flags & kOrderOwnSession) != 0 ? command : 0;
  const bool lease_expired = Watch(control, lease, group, &children, &renames, &refusals);
  const bool is_init = (order.header.flags & kOrderIsInit) != 0;
  const bool all_gone = KillTree(is_init, &children);
  renames.PutBack();
  observations.Send(control);

  Report report;
  report.kind = ReportKind::kExited;
  report.error = all_gone ? 0 : EBUSY;
  report.wait_status = children.command_status();
  report.killed = children.killed() ? 1 : 0;
  report.lease_expired = lease_expired ? 1 : 0;
  report.at_ns = children.command_ended_ns();
  AddUsage(&report);
  control.SendLast(report);
}

bool PrepareStreams(const Control& control, const OrderHeader& header, Refusal* refusal) {
  if ((header.flags & kOrderMergeStderr) != 0) {
    const long result = kernel::Duplicate(STDOUT_FILENO, STDERR_FILENO);
    return result >= 0 || refusal->Because("cannot merge stderr with stdout", result);
  }
  return (header.flags & kOrderTerminal) == 0 || OpenTerminal(control, header, refusal);
}

bool EnterDirectory(const char* cwd, Refusal* refusal) {
  if (*cwd == '\0') return true;
  const long result = kernel::ChangeDirectory(cwd);
  if (result == 0) return true;
  refusal->no_directory = true;
  refusal->text.Add("cannot enter ");
  return refusal->Because(cwd, result);
}

}  // namespace native_runner
