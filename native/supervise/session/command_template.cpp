#include "supervise/session/command_template.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "policy/options/workspace_path.h"
#include "supervise/preparation/runtime.h"

namespace native_runner {
namespace {

// What a session does once is not each command's to do: its launcher's layers come with the fork.
constexpr std::uint32_t kOfCommands =
    kOrderLandlock | kOrderScoped | kOrderNoNewPrivs | kOrderNoCapabilities;

}  // namespace

CommandTemplate::CommandTemplate(const Preparation& of_session)
    : flags_(of_session.order.flags & kOfCommands), record_(of_session.record) {
  if (const auto* plan = std::get_if<SpawnPlan>(&of_session.plan)) {
    workspace_ = plan->workspace;
    counts_processes_ = plan->counts_processes;
  }
}

// A run adds how its own tree is ended to these.
void CommandTemplate::AddEnforced(std::uint32_t enforced) {
  std::vector<std::string>& layers = record_.layers;
  std::erase_if(layers, [](const std::string& layer) {
    return layer.starts_with("tree-kill:") || layer == "rlimits" || layer == "cgroup";
  });
  for (std::uint32_t rest = enforced; rest != 0; rest &= rest - 1) {
    const std::string name = EnforcedLayerName(rest & (~rest + 1));
    if (std::find(layers.begin(), layers.end(), name) == layers.end()) layers.push_back(name);
  }
  layers.emplace_back("session");
}

Result<Preparation> CommandTemplate::Make(const ExecRequest& request, std::string cwd,
                                          std::size_t others) const {
  Preparation made;
  made.plan.emplace<SessionPlan>();
  made.order.flags = flags_;
  made.record = record_;
  made.cwd = std::move(cwd);
  if (auto error = ApplyLimits(request.limits, {}, counts_processes_, &made)) return *error;
  if (made.order.processes != kNoLimit) made.order.processes += others;
  RunRecord& record = made.record;
  if (record.command_at == 0) record.cmd = request.argv[0];
  record.argv.resize(record.command_at);
  record.argv.insert(record.argv.end(), request.argv.begin(), request.argv.end());
  record.cwd = made.cwd;
  return made;
}

std::string CommandTemplate::InWorkspace(const std::string& relative) const {
  return JoinPath(workspace_, relative);
}

}  // namespace native_runner
