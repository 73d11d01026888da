#pragma once

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policy/denials/observation.h"
#include "protocol/order.h"
#include "protocol/report.h"
#include "tests/support/slow.h"

namespace native_runner {

// How a test starts the launcher: as the subreaper of an ordinary process tree, by bwrap as process
// 1 of a pid namespace, as a subreaper where no further pid namespace may be made, or by bwrap as a
// template, which is process 1 with all capabilities in its user namespace.
enum class Mode { kSubreaper, kInit, kNoNamespaces, kTemplate };

struct OrderSpec {
  std::vector<std::string> argv;
  std::vector<std::string> environment = {};
  std::string cwd = {};
  OrderHeader header = {};  // kOrderIsInit is added by the mode
  std::vector<std::string> rules = {};
};

// The result of a whole run.
struct RunResult {
  std::vector<Report> reports;
  std::string out;
  std::string err;
  int launcher_status = -1;
  std::vector<Observation> observations;
  std::uint64_t observations_omitted = 0;

  const Report& last() const { return reports.back(); }
};

// The host's side of one launcher, for tests: plays the supervisor. Everything is closed, and the
// launcher killed, by the destructor. Descriptors of the launcher: 0 is /dev/null, 1 and 2 are
// pipes, 3 the control socket, and `leaked` is an extra one that should not reach the command.
class LauncherHost {
 public:
  explicit LauncherHost(Mode mode, int leaked = -1);
  ~LauncherHost();
  LauncherHost(const LauncherHost&) = delete;
  LauncherHost& operator=(const LauncherHost&) = delete;

  void SendOrder(const OrderSpec& spec);
  void SendBytes(const std::vector<std::byte>& order);      // as a file
  void SendInMessage(const std::vector<std::byte>& order);  // as small ones come
  void SendKill() { SendMessage(kKillMessage); }
  void SendSignal(int signal);
  void SendText(const std::string& message);
  void SendMessage(char kind);
  // `bytes`: what follows the kind in the message.
  void SendDescriptors(char kind, std::span<const int> descriptors,
                       std::span<const std::byte> bytes = {});
  void CloseChannel();

  // The next report, but for kObserved, whose records are kept; empty at end of file, or when none
  // came in time. kAwaitingOrder, which comes or not depending on who is quicker, is passed over.
  std::optional<Report> Receive(int timeout_ms = Slow(60'000));
  // Waits until the launcher has said kAwaitingOrder.
  bool WaitStanding(int timeout_ms = Slow(60'000));
  // Hands over the descriptor that becomes stdin.
  void SendInput(int descriptor);
  int pidfd() const { return pidfd_; }        // -1 unless a report brought one
  int terminal() const { return terminal_; }  // its master side, from kTerminal on
  pid_t pid() const { return pid_; }          // the process that was started

  // A template's: asks for a clone, and is that one's host. `cgroup`: not kept; -1: none.
  std::unique_ptr<LauncherHost> Clone(const CloneRequest& request = {}, int cgroup = -1);
  // True if the started process ends in time.
  bool Ends(int timeout_ms = Slow(60'000)) const;

  // Returns the command's stdout so far, once it has `bytes` bytes.
  std::string ReadOut(std::size_t bytes);
  // True when no process holds the command's stdout any more.
  bool OutputEnds(int timeout_ms);
  // Receives to the end and collects all there is.
  RunResult Finish();

 private:
  struct Pipes;
  LauncherHost(Mode mode, const Pipes& pipes);
  std::optional<Report> ReceiveAny(int timeout_ms);

  Mode mode_;
  pid_t pid_ = -1;
  int control_ = -1;
  int out_ = -1;
  int err_ = -1;
  int pidfd_ = -1;
  int terminal_ = -1;
  std::vector<Observation> observations_;
  std::uint64_t omitted_ = 0;
  std::vector<int> made_;  // what came with kMade: kept, as a host would
  std::string out_text_;
};

RunResult RunCommand(Mode mode, const OrderSpec& spec);

// Empty when bwrap can make the sandbox that Mode::kInit needs, else what it said.
const std::string& BwrapProblem();

// Empty when unshare(1) can make the place that Mode::kNoNamespaces needs, else what it said.
std::string NoNamespacesProblem();

// $NATIVE_RUNNER_LAUNCHER_PROBE (probe.cpp) and $NATIVE_RUNNER_LAUNCHER, else where the build put
// them.
std::string ProbePath();
std::string LauncherPath();

}  // namespace native_runner
