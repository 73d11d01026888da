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
    : flags_(of_session.order.flags & kOfCommands),
      record_(of_session.record),
      scene_(of_session.scene) {
  if (const auto* plan = std::get_if<SpawnPlan>(&of_session.plan)) {
    workspace_ = plan->workspace;
    counts_processes_ = plan->counts_processes;
  }
}

// A run adds how its own tree is ended to these.
void CommandTemplate::AddEnforced(LayerSet enforced) {
  LayerRecord& layers = record_.layers;
  layers.Remove(
      {Layer::kTreeKillPidNamespace, Layer::kTreeKillSubreaper, Layer::kRlimits, Layer::kCgroup});
  layers.AddEnforced(enforced);
  layers.Add(Layer::kSession);
}

Result<Preparation> CommandTemplate::Make(const ExecRequest& request, std::string cwd,
                                          std::size_t others) const {
  Preparation made;
  made.plan.emplace<SessionPlan>();
  made.order.flags = flags_;
  made.record = record_;
  made.scene = scene_;
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
