#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "policy/bubblewrap/bubblewrap_argv.h"
#include "policy/denials/observation.h"
#include "policy/network/record/connection_record.h"
#include "policy/options/policy.h"
#include "policy/options/request.h"
#include "policy/outcome/outcome.h"

namespace native_runner {

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

}  // namespace native_runner
