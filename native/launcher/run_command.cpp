#include "launcher/run_command.h"

#include <cerrno>

#include "launcher/children.h"
#include "launcher/command.h"
#include "launcher/kernel/calls.h"
#include "launcher/start_failure.h"
#include "launcher/tree.h"
#include "launcher/usage.h"

namespace native_runner {
namespace {

// Returns when the command has ended, or when the host wants an end or is gone itself.
void Watch(const Control& control, Children* children) {
  while (!children->command_ended()) {
    const Control::Wake wake = control.Wait(children->signal_descriptor());
    children->Reap();
    if (wake == Control::Wake::kEnd) return;
  }
}

}  // namespace

void RunCommand(const Control& control, const MappedOrder& order, const Landlock& landlock) {
  StartFailure failure;
  const pid_t command = StartCommand(order, landlock, &failure);
  if (command < 0) return ReportStartFailure(control, order.argv[0], failure);

  Children children(command);
  Watch(control, &children);
  const bool is_init = (order.header.flags & kOrderIsInit) != 0;
  const bool all_gone = KillTree(is_init, &children);

  Report report;
  report.kind = ReportKind::kExited;
  report.error = all_gone ? 0 : EBUSY;
  report.wait_status = children.command_status();
  report.killed = children.killed() ? 1 : 0;
  report.at_ns = children.command_ended_ns();
  AddUsage(&report);
  control.SendLast(report);
}

bool EnterDirectory(const char* cwd, Refusal* refusal) {
  if (*cwd == '\0') return true;
  const long result = kernel::ChangeDirectory(cwd);
  if (result == 0) return true;
  refusal->text.Add("cannot enter ");
  return refusal->Because(cwd, result);
}

}  // namespace native_runner
