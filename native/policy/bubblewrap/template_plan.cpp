#include "policy/bubblewrap/template_plan.h"

#include <algorithm>
#include <utility>

#include "policy/text/path.h"
#include "protocol/step.h"

namespace native_runner {
namespace {

using Kind = Mount::Kind;

Error CannotClone(std::string why) {
  return {ErrorCode::kUnavailable, std::move(why), ""};
}

// Makes nothing that could lie under a clone's own mount, or hide the place of one.
bool IsNoMount(const Mount& mount) {
  return mount.kind == Kind::kRemountReadOnly || mount.kind == Kind::kDirectory;
}

class Planner {
 public:
  explicit Planner(const BubblewrapPlan& plan) : from_(plan) {}

  Result<TemplatePlan> Plan(const CloneFacts& facts) {
    const Hardening& hardening = from_.hardening;
    if (!hardening.isolate || !hardening.as_pid_1) return CannotClone("isolation is not strict");
    made_.plan = {.hardening = hardening, .mounts = {}, .chdir = from_.chdir};
    Hardening& of_template = made_.plan.hardening;
    of_template.is_template = true;
    of_template.disable_userns = false;
    of_template.net_by_domain = false;
    of_template.unshare_net = hardening.unshare_net || hardening.net_by_domain;
    for (const Mount& mount : from_.mounts) {
      if (mount.kind == Kind::kProgram || mount.kind == Kind::kWord) {
        return CannotClone(mount.kind == Kind::kWord ? "it has options of the caller's own"
                                                     : "it has no /proc");
      }
      Take(mount);
    }
    if (!has_proc_) return CannotClone("it has no /proc");
    if (!hidden_.empty()) return CannotClone("it has a mount of the policy's at " + hidden_);
    if (hardening.unshare_net) made_.steps.emplace_back(1, kStepNetworkNamespace);
    for (const std::string& step : facts.network_steps)
      made_.steps.push_back(step);
    std::string leave(1, kStepLeave);
    leave += std::to_string(facts.uid) + ":" + std::to_string(facts.gid);
    if (hardening.disable_userns) leave += '-';
    made_.steps.push_back(std::move(leave));
    return std::move(made_);
  }

 private:
  void Take(const Mount& mount) {
    if (!IsNoMount(mount) && !IsState(mount)) CheckPlace(mount);
    switch (mount.kind) {
      case Kind::kProc:
        return TakeProc(mount);
      case Kind::kDev:
        Own(kStepTerminals, mount.target + "/pts");
        devices_ = mount.target;
        break;
      case Kind::kTmpfs:
        return TakeTmpfs(mount);
      case Kind::kRemountReadOnly:
        if (has_proc_ && SamePath(mount.target, proc_)) return;
        break;
      default:
        break;
    }
    made_.plan.mounts.push_back(mount);
  }

  void TakeProc(const Mount& mount) {
    has_proc_ = true;
    proc_ = mount.target;
    Own(kStepProc, mount.target, IsRemounted(mount) ? "r" : "");
    made_.plan.mounts.push_back(mount);
  }

  bool IsRemounted(const Mount& mount) const {
    return std::any_of(from_.mounts.begin(), from_.mounts.end(), [&mount](const Mount& each) {
      return each.kind == Kind::kRemountReadOnly && SamePath(each.target, mount.target);
    });
  }

  // One that nobody can write to hides something, and stays empty.
  bool IsState(const Mount& mount) const {
    return mount.kind == Kind::kTmpfs && !IsRemounted(mount);
  }

  // Its place is there with bwrap's /dev; elsewhere it is made.
  void TakeTmpfs(const Mount& mount) {
    if (!IsState(mount)) return made_.plan.mounts.push_back(mount);
    Own(kStepTmpfs, mount.target);
    if (!devices_.empty() && PathCovers(devices_, mount.target)) return;
    made_.plan.mounts.push_back({.kind = Kind::kDirectory, .source = "", .target = mount.target});
  }

  void Own(char step, const std::string& path, const char* before = "") {
    made_.steps.push_back(std::string(1, step) + before + path);
    own_.push_back(path);
  }

  void CheckPlace(const Mount& mount) {
    for (const std::string& own : own_) {
      if (PathCovers(own, mount.target) || PathCovers(mount.target, own)) hidden_ = mount.target;
    }
  }

  const BubblewrapPlan& from_;
  TemplatePlan made_;
  bool has_proc_ = false;
  std::string proc_;
  std::string devices_;
  std::vector<std::string> own_;
  std::string hidden_;
};

}  // namespace

Result<TemplatePlan> PlanTemplate(const BubblewrapPlan& plan, const CloneFacts& facts) {
  return Planner(plan).Plan(facts);
}

}  // namespace native_runner
