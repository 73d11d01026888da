#include "supervise/runtimes/bubblewrap_spawn.h"

#include <fcntl.h>

#include <cerrno>
#include <utility>

#include "policy/options/workspace_path.h"
#include "supervise/network/own_network.h"

namespace native_runner {
namespace {

// What bwrap and the launcher find at which number; 3 is the control socket.
constexpr int kOptionsDescriptor = 4;

constexpr std::size_t kDefaultPipe = std::size_t{64} << 10U;  // pipe(7)

std::string JoinWithNul(const std::vector<std::string>& options) {
  std::size_t size = 0;
  for (const std::string& option : options)
    size += option.size() + 1;
  std::string joined;
  joined.reserve(size);
  for (const std::string& option : options) {
    joined += option;
    joined += '\0';
  }
  return joined;
}

// With /proc the sealed image itself is executed, and no mount shows it. Without, bwrap makes a
// read-only file of it, for which it reads the image from an offset that must be no other run's.
std::optional<Error> HandOverLauncher(bool with_proc, int launcher, SpawnOptions* spawn) {
  const std::string image = "/proc/self/fd/" + std::to_string(launcher);
  if (with_proc) {
    spawn->argv.push_back("/proc/self/fd/" + std::to_string(kLauncherDescriptor));
    spawn->inherited.push_back({launcher, kLauncherDescriptor});
    return std::nullopt;
  }
  auto copy = OpenPath(image.c_str(), O_RDONLY);
  if (!copy) return copy.error();
  spawn->argv.emplace_back(kLauncherFile);
  spawn->Give(std::move(*copy), kLauncherDescriptor);
  return std::nullopt;
}

}  // namespace

PlanText TextOf(const BubblewrapPlan& plan) {
  BubblewrapPlan recorded = plan;
  std::erase_if(recorded.mounts, [](const Mount& mount) {
    // Neither the launcher nor a text has a path of the host's to be recorded by.
    return mount.kind == Mount::Kind::kProgram || mount.kind == Mount::Kind::kText;
  });
  for (Mount& mount : recorded.mounts)
    mount.descriptor = -1;  // the record names paths, not numbers
  return {JoinWithNul(BubblewrapOptions(plan)), BubblewrapOptions(recorded)};
}

RunRecord RecordOf(const std::string& bwrap_path, const PlanText& text, const std::string& cwd,
                   const ExecRequest& request) {
  RunRecord record;
  record.runtime = "bubblewrap";
  record.cmd = bwrap_path;
  record.argv.reserve(text.recorded.size() + 1 + request.argv.size());
  record.argv = text.recorded;
  record.argv.back() = cwd;  // of --chdir, which stands last
  record.argv.emplace_back("--");
  record.command_at = record.argv.size();
  record.argv.insert(record.argv.end(), request.argv.begin(), request.argv.end());
  if (!request.cwd.empty()) record.cwd = request.cwd;
  return record;
}

std::optional<Error> OrderSpawn(const Program& program, const PlanText& text, int launcher,
                                bool with_proc, SpawnPlan* plan) {
  SpawnOptions& spawn = plan->spawn;
  spawn.path = program.exec_path();
  spawn.makes_mounts = plan->own_pid_namespace;  // strict isolation
  plan->shows_proc = with_proc;
  spawn.argv = {"bwrap", "--args", std::to_string(kOptionsDescriptor), "--"};
  plan->options = text.options;
  return HandOverLauncher(with_proc, launcher, &spawn);
}

std::optional<Error> GiveNameFiles(const std::vector<NameFile>& files, SpawnOptions* spawn) {
  for (const NameFile& file : files) {
    auto made = MemoryFile("names", file.text.data(), file.text.size(), false);
    if (!made) return made.error();
    spawn->Give(std::move(*made), file.descriptor);
  }
  return std::nullopt;
}

std::optional<Error> OrderNetwork(Network network, std::shared_ptr<const NetworkPolicy> by_domain,
                                  Preparation* preparation, SpawnPlan* plan) {
  if (network != Network::kByDomain) return std::nullopt;
  if (!by_domain) return Error{ErrorCode::kSetup, "a network by domain has no rules", ""};
  plan->network = std::move(by_domain);
  preparation->record.is_by_domain = true;
  return OrderOwnNetwork(&preparation->order);
}

void OrderTemplate(const std::string& options, const std::vector<std::string>& steps,
                   Preparation* preparation) {
  preparation->order = {.flags = kOrderTemplate};
  preparation->cwd.clear();
  preparation->rules = steps;
  auto& plan = std::get<SpawnPlan>(preparation->plan);
  plan.options = options;
  plan.wants_cgroup = false;
}

// A memory file is the quickest; where bwrap must be put into a cgroup before it has children, a
// pipe that is filled later holds it back.
std::optional<Error> AttachBubblewrapOptions(SpawnPlan* plan) {
  std::string options = std::move(plan->options);
  if (!plan->wants_cgroup) {
    auto file = MemoryFile("options", options.data(), options.size(), false);
    if (!file) return file.error();
    plan->spawn.Give(std::move(*file), kOptionsDescriptor);
    return std::nullopt;
  }
  auto pipe = MakePipe();
  if (!pipe) return pipe.error();
  if (options.size() > kDefaultPipe && fcntl(pipe->write.get(), F_SETPIPE_SZ, options.size()) < 0) {
    return SystemError("fcntl(F_SETPIPE_SZ) for bwrap's options", errno);
  }
  plan->spawn.Give(std::move(pipe->read), kOptionsDescriptor);
  plan->gate = {std::move(pipe->write), std::move(options)};
  return std::nullopt;
}

}  // namespace native_runner
