#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "policy/bubblewrap/bubblewrap_plan.h"
#include "policy/denials/observation.h"
#include "policy/network/connections.h"
#include "policy/options/policy.h"
#include "policy/options/request.h"
#include "policy/run/outcome.h"

namespace native_runner {

// Which wall said no.
enum class DeniedBy { kBubblewrap, kLandlock, kFirejail, kSeccomp, kNetwork, kLimits };

// "bubblewrap", "landlock", "firejail", "seccomp", "network", "limits".
const char* DeniedByName(DeniedBy by);

// The least that would have let a command do what it was refused: an option of the runner's or of
// the call's limits, with what to add to it.
struct Grant {
  enum class Kind {
    kNone,
    kMount,    // `mounts`: host_path at guest_path
    kPath,     // an option that is a list of host paths: host_path
    kText,     // another list, or a mode: text
    kList,     // a list of texts: text
    kNumber,   // limits: number
    kBoolean,  // number != 0
  };
  Kind kind = Kind::kNone;
  std::string option = {};  // "mounts", "fsReadDirs", "network.allow", "limits.memoryBytes"
  std::string host_path = {};
  std::string guest_path = {};
  bool writable = false;
  std::string text = {};
  std::uint64_t number = 0;

  bool operator==(const Grant&) const = default;
};

// One refusal by a wall of the sandbox's, or several alike. A plain value; types/denials.d.ts says
// what its fields mean.
struct Denial {
  const char* kind = "other";  // "read", "write", "exec", "connect", "resolve", "other"
  std::string operation;
  std::string path;
  std::string host_path;
  std::string host;
  std::uint16_t port = 0;
  std::string program;
  std::string error;  // errno's name, or empty
  DeniedBy by = DeniedBy::kBubblewrap;
  std::uint64_t count = 1;
  Grant grant;
  std::string not_advised;  // in place of a grant: a clause
};

inline constexpr std::size_t kMostDenials = 256;

struct DenialLog {
  std::vector<Denial> denials;
  std::uint64_t omitted = 0;
};

// The walls of a sandbox, as far as they explain a refusal. Made with a run's plan; a plain value.
struct DenialScene {
  enum class Wall { kBubblewrap, kProject, kLandlock, kFirejail, kNone };
  Wall wall = Wall::kNone;
  std::vector<Mount> mounts = {};       // of the first two: bwrap's, in order
  std::vector<std::string> rules = {};  // Landlock's, in the order's form (protocol/order.h)
  std::string workspace = {};           // on the host
  bool may_write_workspace = true;
  Network network = Network::kDeny;
};

// What the host has at a path, for the user that the command ran as; links are followed.
struct HostLookup {
  enum class Type { kNone, kFile, kDirectory, kOther };
  Type type = Type::kNone;
  std::string link;  // the text of a link that it is; empty: it is none
  std::string real;  // behind all links; empty: not there
  bool readable = false;
  bool writable = false;
  bool executable = false;

  bool is_there() const { return type != Type::kNone; }
};
// May look at a bounded number of paths; of those beyond nothing is there.
using LookAtHostPath = std::function<HostLookup(const std::string& path)>;

// One run, with what it was refused.
struct DeniedRun {
  std::shared_ptr<const DenialScene> scene;  // or none: it had no sandbox
  std::vector<std::string> argv;
  std::vector<std::string> environment;
  Limits limits;
  bool explain = false;
  std::shared_ptr<const AdviceLists> advice;  // with explain
  bool is_root = false;                       // uid 0, whose commands have no capabilities
  Outcome outcome;
  std::vector<Observation> observations = {};
  std::uint64_t observations_omitted = 0;
  const ConnectionLog* connections = nullptr;  // or none
};

// What a run was denied by its sandbox, in the order in which it first was, with the smallest grant
// for each; an error that the command would have met on the host as well, and what programs look
// for by themselves (Probes), is none. `look` is called with `explain` only. Pure.
DenialLog ReportDenials(const DeniedRun& run, const LookAtHostPath& look);

// Whether the host's files have a say in what the run was denied: most commands are refused
// nothing.
bool NeedsLook(const DeniedRun& run);

}  // namespace native_runner
