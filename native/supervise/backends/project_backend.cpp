#include "supervise/backends/project_backend.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "supervise/backends/bubblewrap_backend.h"
#include "supervise/backends/launcher_backends.h"
#include "supervise/host/fingerprint.h"
#include "supervise/host/host.h"
#include "supervise/project/project_scene.h"

namespace native_runner {
namespace {

// Before this version, files could not be renamed from one directory into another.
constexpr int kLeastLandlockAbi = 2;

// Refuses folders that have changed since the runner was made and checked them.
Result<std::vector<Workspace>> OpenFolders(const std::vector<std::string>& folders) {
  std::vector<Workspace> opened;
  for (const std::string& folder : folders) {
    auto workspace = OpenWorkspace(folder);
    if (!workspace || workspace->path != folder) {
      return Error{ErrorCode::kSetup, "the folder " + folder + " is no longer a directory",
                   "make the Bwrap anew, with folders that exist"};
    }
    opened.push_back(std::move(*workspace));
  }
  return opened;
}

}  // namespace

RunRecord ProjectBackend::Unprepared(const ExecRequest& request) const {
  const BubblewrapPlan plan = PlanProject(policy_, {}, -1, 0);
  RunRecord record = RecordOf(policy_.bwrap_path, TextOf(plan), plan.chdir, request);
  record.is_by_domain = policy_.network == Network::kByDomain;
  return record;
}

void ProjectBackend::Prepare(const ExecRequest& request, SupervisorContext& shared,
                             Ready ready) const {
  shared.programs->Get(policy_.bwrap_path, [this, &request, &shared, ready = std::move(ready)](
                                               Result<std::shared_ptr<const Program>> program) {
    if (!program) return ready(program.error());
    std::optional<std::vector<std::string>> home_mounts;
    if (!policy_.home.empty()) home_mounts = shared.mount_table.PointsBelow(policy_.home);
    PlanFromHost(
        request, shared,
        [this, program = std::move(*program), &shared, home_mounts = std::move(home_mounts)](
            const ExecRequest& asked, const HostView& view) {
          return Plan(asked, *program, shared, view, home_mounts);
        },
        ready);
  });
}

Result<Preparation> ProjectBackend::Plan(const ExecRequest& request, const Program& program,
                                         const SupervisorContext& shared, const HostView& view,
                                         const HomeMounts& home_mounts) const {
  if (!program.features.as_pid_1) {
    return LacksOption(program.path, "--as-pid-1");
  }
  TRY_ASSIGN(auto folders, OpenFolders(policy_.folders));
  TRY_ASSIGN(const auto mounted, MountedOf(transaction_));
  if (mounted && !folders.empty()) {
    // A bind by path could reach the host's own directory.
    if (!program.features.bind_fd) return LacksOption(program.path, "--bind-fd");
    TRY(TakeMounted(*mounted, program, &folders.front()));
  }
  std::vector<PlacedDirectory> places;
  for (const Workspace& folder : folders) {
    TRY_ASSIGN(const auto identity, IdentityOf(folder.directory.get()));
    places.push_back({folder.path, identity});
  }
  if (mounted && !folders.empty() && !mounted->copy.empty()) {
    places.push_back({mounted->path, mounted->below});
    folders.front().path = mounted->path;  // in the sandbox
  }
  TRY_ASSIGN(auto scene, LookAtProject(policy_, program.features, folders, view.host.FindSecrets(),
                                       home_mounts, request.Is<ExplainCall>()));

  Preparation preparation;
  SpawnPlan& spawns = preparation.plan.emplace<SpawnPlan>();
  spawns.own_pid_namespace = true;
  preparation.order.flags = kOrderNoNewPrivs | kOrderSeccomp | kOrderIsInit | kOrderNoCapabilities;
  const bool is_root = scene.facts.host.is_root;
  preparation.places.has_memory = true;
  if (mounted) preparation.places.counted = ChangesIn(*mounted);
  for (std::size_t i = mounted ? 1 : 0; i < folders.size(); ++i)
    preparation.places.counted.push_back(folders[i].path);
  TRY(ApplyLimits(request.limits, shared.cgroups, !is_root, &preparation));
  const LayerRecord limit_layers = std::move(preparation.record.layers);
  const bool size_tmp = program.features.size && request.limits.memory_bytes;
  // The mounts that keep links are the launcher's: a folder's descriptor leads past them.
  const bool binds_by_fd = program.features.bind_fd && scene.links.empty();
  const int first = binds_by_fd ? kFirstFolderDescriptor : -1;
  const std::uint64_t tmp_bytes = size_tmp ? *request.limits.memory_bytes : 0;
  BubblewrapPlan plan = PlanProject(policy_, scene.facts, first, tmp_bytes);
  if (policy_.network == Network::kByDomain && policy_.by_domain) {
    const std::size_t bound = binds_by_fd ? folders.size() : 0;
    TRY(FindNameFiles(*policy_.by_domain, plan.mounts,
                      kFirstFolderDescriptor + static_cast<int>(bound), &scene.facts.host));
    plan = PlanProject(policy_, scene.facts, first, tmp_bytes);
  }
  if (!scene.home.path.empty()) {
    const std::size_t bound = binds_by_fd ? folders.size() : 0;
    scene.facts.home_descriptor =
        kFirstFolderDescriptor + static_cast<int>(bound + scene.facts.host.name_files.size());
    TRY(OrderHome(scene.home, places, scene.facts.home_descriptor, shared.launcher.get(), &spawns));
    spawns.cache_bytes = tmp_bytes;
    plan = PlanProject(policy_, scene.facts, first, tmp_bytes);
  }
  const PlanText text = TextOf(plan);
  spawns.mounted = std::make_shared<const std::vector<std::string>>(PathsOf(PlanFingerprint(plan)));
  preparation.scene = std::make_shared<const DenialScene>(DenialScene{
      .wall = DenialScene::Wall::kProject, .mounts = plan.mounts, .network = policy_.network});
  preparation.record = RecordOf(policy_.bwrap_path, text, plan.chdir, request);
  auto& layers = preparation.record.layers;
  layers.Add(BubblewrapLayers(plan));
  for (const Layer layer :
       {Layer::kReadOnlyPaths, Layer::kNoNewPrivs, Layer::kSeccomp, Layer::kTreeKillPidNamespace}) {
    layers.Add(layer);
  }
  if (mounted) layers.Add(LayerOf(*mounted));
  layers.Add(limit_layers);
  if (request.limits.memory_bytes && !size_tmp) layers.Add(Layer::kTmpWithoutSize);

  if (LandlockAbi() >= kLeastLandlockAbi) {
    preparation.order.flags |= kOrderLandlock;
    preparation.rules = std::move(scene.rules);
  }
  if (mounted && mounted->copy.empty()) OrderRenames(mounted->path, &preparation);
  if (binds_by_fd) {
    int number = kFirstFolderDescriptor;
    for (Workspace& folder : folders)
      spawns.spawn.Give(std::move(folder.directory), number++);
  }
  TRY(GiveNameFiles(scene.facts.host.name_files, &spawns.spawn));
  spawns.links = std::move(scene.links);
  spawns.holds = std::make_shared<const ProjectScene>(std::move(scene));
  TRY(OrderSpawn(program, text, shared.launcher.get(), true, &spawns));
  TRY(OrderNetwork(policy_.network, policy_.by_domain, &preparation, &spawns));
  TRY(EnterMounted(mounted, program, shared.launcher.get(), &spawns));
  return preparation;
}

std::optional<Error> ProjectBackend::AttachOptions(SpawnPlan* plan) const {
  return AttachBubblewrapOptions(plan);
}

}  // namespace native_runner
