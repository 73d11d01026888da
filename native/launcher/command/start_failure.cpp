#include "launcher/command/start_failure.h"

#include <unistd.h>

#include <climits>

#include "launcher/kernel/calls.h"

namespace native_runner {
namespace {

// A command's name can be as long as an argument; cut to what an empty pipe takes without waiting.
constexpr std::size_t kMaxNameBytes = PATH_MAX;

void WriteMessage(const char* command, const char* reason) {
  FixedText<kMaxNameBytes> name;
  name.Add(command);
  FixedText<kMaxNameBytes + 128> line;
  line.Add(name.c_str(), name.size()).Add(": ").Add(reason).Add("\n");
  kernel::Write(STDERR_FILENO, line.c_str(), line.size());
}

}  // namespace

void ReportStartFailure(const Control& control, const char* command, const StartFailure& failure) {
  Refusal refusal;
  switch (failure.step) {
    case StartFailure::Step::kNone:
    case StartFailure::Step::kExec: {
      WriteMessage(command, failure.not_found ? "command not found" : ErrnoText(failure.error));
      Report report;
      report.kind = ReportKind::kFailed;
      report.error = failure.error;
      report.at_ns = kernel::Now();
      report.not_found = failure.not_found ? 1 : 0;
      control.SendLast(report);
      return;
    }
    case StartFailure::Step::kProcess:
      refusal.Because("cannot start a process", -failure.error);
      break;
    case StartFailure::Step::kSession:
      refusal.Because("terminal: cannot make a session", -failure.error);
      break;
    case StartFailure::Step::kLimits:
      refusal.Because(Layer::kRlimits, failure.limit, -failure.error);
      break;
    case StartFailure::Step::kLandlock:
      refusal.Because(Layer::kLandlockFiles, -failure.error);
      break;
    case StartFailure::Step::kSeccomp:
      refusal.Because(Layer::kSeccomp, -failure.error);
      break;
    case StartFailure::Step::kTrace:
      refusal.Because("explain: cannot trace the command", -failure.error);
      break;
    case StartFailure::Step::kRenames:
      refusal.Because(Layer::kRenameDirectories, -failure.error);
      break;
  }
  control.SendRefused(refusal);
}

}  // namespace native_runner
