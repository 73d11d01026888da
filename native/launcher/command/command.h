#pragma once

#include <sys/types.h>

#include "launcher/command/renames.h"
#include "launcher/layers/layers.h"
#include "launcher/order/host_channel.h"
#include "launcher/order/order.h"
#include "launcher/trace/observations.h"
#include "launcher/trace/tracer.h"
#include "protocol/order.h"

namespace native_runner {

// Opens a terminal (pty(7)) of the order's size through the launcher's /dev/ptmx, sends its master
// side to the host, and installs its other side as descriptors 0, 1 and 2, which the command
// inherits. False: `refusal` states the reason.
bool OpenTerminal(const HostChannel& control, const OrderHeader& header, Refusal* refusal);

// Makes the calling process the leader of a new session and, with `with_terminal`, makes its stdin
// the session's terminal. Returns 0 or -errno. Runs in the command's process.
long EnterSession(bool with_terminal);

// The step between clone(2) and the command that failed, and its error.
struct StartFailure {
  enum class Step {
    kNone,
    kProcess,
    kSession,
    kLimits,
    kLandlock,
    kSeccomp,
    kRenames,
    kTrace,
    kExec
  };
  Step step = Step::kNone;
  int error = 0;                // errno
  const char* limit = nullptr;  // kLimits: the limit's name
  bool not_found = false;       // kExec: the command does not exist
};

// Starts the command in a new process that shares the launcher's memory until it execs, as vfork(2)
// does: nothing is copied, and failures are passed through memory. Everything that binds the
// command but not the launcher is done there: session, limits, Landlock, seccomp. `renames` listens
// to its calls if it is set; otherwise `refusals` does, where the kernel allows it. With a tracer
// the command is traced and shares no memory with the launcher. Returns its pid, or -1 and
// `failure`.
pid_t StartCommand(const MappedOrder& order, const Landlock& landlock, Renames* renames,
                   Refusals* refusals, Tracer* tracer, StartFailure* failure);

// Reports to the host why the command did not start. If the command itself is at fault, also writes
// a shell's message to its stderr ("<command>: command not found"), which names a link that leads
// to nothing. `environment`: the command's.
void ReportStartFailure(const HostChannel& control, const char* command, char** environment,
                        const StartFailure& failure);

// Opens the command's terminal, or replaces stderr by stdout, if the order says so. Both change the
// launcher's own descriptors: messages about a command that can't be started go there. Called
// before kReady.
bool PrepareStreams(const HostChannel& control, const OrderHeader& header, Refusal* refusal);

// Runs the order's command as a child until it or its lease has ended, or the host requests an end
// or is gone; then ends the rest of its tree, and reports. Called after all checks, and after
// kReady.
void RunCommand(const HostChannel& control, const MappedOrder& order, const Landlock& landlock,
                const OverlayRenames& overlay, LeaseTimer& lease);

// Enters the directory in which the command starts. Empty: stays in the current one.
bool EnterDirectory(const char* cwd, Refusal* refusal);

// Prepares a session, once for all its commands. Commands can only be distinguished, and ended one
// by one, through /proc. Installs the filter of the order, which a fork inherits: the kernel
// compiles it on each installation. The filter allows the launcher's own calls.
bool PrepareSession(const OrderHeader& order, Refusal* refusal);

// Runs the commands of a session until the host requests its end or is gone; then ends all of them
// and reports. Each command has a launcher process of its own, often made before the order arrives:
// it takes an order from the command's own control socket, runs it as a subreaper, ends its tree,
// and reports. This keeps the processes of different commands apart. The session's launcher has
// entered the layers once, and forks inherit them; each command enters `landlock` by itself, so
// that each is a domain of its own. Each command's own launcher listens to its calls (`overlay`).
void ServeSession(const HostChannel& control, const MappedOrder& session, const Landlock& landlock,
                  const OverlayRenames& overlay, LayerSet enforced);

}  // namespace native_runner
