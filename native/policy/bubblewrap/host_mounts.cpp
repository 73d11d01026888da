#include "policy/bubblewrap/host_mounts.h"

#include <utility>

#include "policy/options/workspace_path.h"
#include "policy/text/path.h"

namespace native_runner {
namespace {

bool IsBind(const Mount& mount) {
  return mount.kind == Mount::Kind::kBind || mount.kind == Mount::Kind::kReadOnlyBind;
}

bool Covers(const Mount& mount) {
  return IsBind(mount) || mount.kind == Mount::Kind::kTmpfs;
}

MountPoint PointIn(const Mount& base, const Mount& mount) {
  MountPoint point;
  point.mount = *mount.number;
  if (base.number) {
    point.base = MountPoint::Base::kMount;
    point.base_mount = *base.number;
    point.may_make = base.kind == Mount::Kind::kBind;
  } else if (SamePath(base.target, kWorkspace)) {
    point.base = MountPoint::Base::kWorkspaceBind;
    point.may_make = true;
  }
  point.base_path = base.source;
  const std::string above = NormalPath(base.target);
  const std::size_t skip = above == "/" ? 1 : above.size() + 1;
  if (mount.target.size() > skip) point.below = mount.target.substr(skip);
  return point;
}

}  // namespace

HostMounts PlanHostMounts(const BubblewrapPolicy& policy, const HostFacts& facts,
                          int first_descriptor) {
  HostMounts planned;
  for (std::size_t i = 0; i < policy.mounts.size(); ++i) {
    const HostMount& mount = policy.mounts[i];
    auto& list = PathCovers(kWorkspace, mount.guest_path) ? planned.in_workspace : planned.outside;
    list.push_back(
        {.kind = mount.writable ? Mount::Kind::kBind : Mount::Kind::kReadOnlyBind,
         .source = i < facts.mounts.size() ? facts.mounts[i] : mount.host_path,
         .target = NormalPath(mount.guest_path),
         .descriptor = first_descriptor < 0 ? -1 : first_descriptor + static_cast<int>(i),
         .number = i});
  }
  return planned;
}

std::vector<MountPoint> FindMountPoints(const BubblewrapPlan& plan) {
  std::vector<MountPoint> points;
  for (auto mount = plan.mounts.begin(); mount != plan.mounts.end(); ++mount) {
    if (!mount->number) continue;
    auto base = mount;  // the last one before it that covers it
    while (base != plan.mounts.begin()) {
      --base;
      if (!Covers(*base) || !PathCovers(base->target, mount->target)) continue;
      if (IsBind(*base)) points.push_back(PointIn(*base, *mount));
      break;
    }
  }
  return points;
}

}  // namespace native_runner
