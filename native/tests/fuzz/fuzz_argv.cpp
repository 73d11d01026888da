// Policies, host facts and command lines made of arbitrary bytes: whatever CheckPolicy lets through
// becomes an argv that bwrap reads as it was meant. The options are read back here the way bwrap
// reads them, so data that bends them shows as an unknown option or a wrong mount.
#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/bubblewrap/bubblewrap_plan.h"
#include "policy/options/environment.h"
#include "policy/options/validate.h"
#include "policy/policy_text.h"
#include "policy/text/path.h"

namespace {

using namespace native_runner;  // NOLINT(google-build-using-namespace): a test of one room
using Texts = std::vector<std::string>;

void Require(bool condition) {
  if (!condition) std::abort();
}

// Words that would bend a command line if they were ever read as options or paths.
constexpr const char* kTricky[] = {"--",      "--bind",     "--chdir",    "-",        "/",
                                   "//",      "/dev/null",  "/etc",       "/usr/bin", "/bin",
                                   "/tmp",    "/dev/shm/x", "/workspace", "/proc",    "--args",
                                   "usr/bin", ".."};

std::string Text(FuzzedDataProvider& data) {
  return data.ConsumeBool() ? std::string(data.PickValueInArray(kTricky))
                            : data.ConsumeRandomLengthString(40);
}

std::string Path(FuzzedDataProvider& data) {
  const std::string text = Text(data);
  return data.ConsumeBool() ? "/" + text : text;
}

Texts Several(FuzzedDataProvider& data, std::string (*make)(FuzzedDataProvider&)) {
  Texts texts;
  const auto count = data.ConsumeIntegralInRange<std::size_t>(0, 5);
  for (std::size_t i = 0; i < count; ++i)
    texts.push_back(make(data));
  return texts;
}

BubblewrapPolicy MakePolicy(FuzzedDataProvider& data) {
  BubblewrapPolicy policy;
  if (data.ConsumeBool()) policy.bwrap_path = Text(data);
  policy.shadow_dir = Text(data);
  policy.ro_binds_named = data.ConsumeBool();
  policy.ro_binds = policy.ro_binds_named ? Several(data, Path) : DefaultRoBinds();
  policy.network = data.ConsumeBool() ? Network::kAllow : Network::kDeny;
  policy.isolation = data.ConsumeBool() ? Isolation::kStrict : Isolation::kCompat;
  policy.environment.mode = static_cast<EnvironmentPolicy::Mode>(data.ConsumeIntegralInRange(0, 3));
  policy.environment.names = Several(data, Text);
  return policy;
}

HostFacts MakeFacts(FuzzedDataProvider& data, const BubblewrapPolicy& policy) {
  HostFacts facts;
  for (const std::string& path : policy.ro_binds) {
    if (data.ConsumeBool()) facts.links.push_back({.target = Text(data), .path = path});
    if (data.ConsumeBool()) facts.missing.push_back(path);
  }
  facts.secret_files = Several(data, Path);
  facts.secret_directories = Several(data, Path);
  facts.is_root = data.ConsumeBool();
  facts.bwrap_disable_userns = data.ConsumeBool();
  facts.bwrap_bind_fd = data.ConsumeBool();
  return facts;
}

std::size_t Arity(std::string_view option) {
  for (const char* flag :
       {"--die-with-parent", "--new-session", "--unshare-net", "--unshare-user", "--unshare-pid",
        "--unshare-ipc", "--unshare-uts", "--unshare-cgroup", "--disable-userns", "--as-pid-1"}) {
    if (option == flag) return 0;
  }
  for (const char* one :
       {"--cap-drop", "--proc", "--dev", "--tmpfs", "--dir", "--remount-ro", "--size", "--chdir"}) {
    if (option == one) return 1;
  }
  for (const char* two : {"--ro-bind", "--bind", "--bind-fd", "--symlink"}) {
    if (option == two) return 2;
  }
  std::abort();  // an option that nobody meant
}

using Steps = std::vector<Texts>;

// bwrap's own reading: options until "--", each followed by its values whatever they look like.
Steps ReadAsBwrap(const Texts& args, Texts* command) {
  Steps steps;
  std::size_t i = 0;
  while (args.at(i) != "--") {
    const std::size_t end = i + 1 + Arity(args[i]);
    Require(end < args.size());
    steps.emplace_back(args.begin() + static_cast<std::ptrdiff_t>(i),
                       args.begin() + static_cast<std::ptrdiff_t>(end));
    i = end;
  }
  command->assign(args.begin() + static_cast<std::ptrdiff_t>(i) + 1, args.end());
  return steps;
}

void CheckArgs(const BubblewrapPlan& plan, const Texts& command, bool is_denied, bool is_strict) {
  Texts args = BubblewrapOptions(plan);
  Require(args == BubblewrapOptions(plan));
  args.emplace_back("--");
  args.insert(args.end(), command.begin(), command.end());

  Texts read_command;
  const Steps steps = ReadAsBwrap(args, &read_command);
  Require(read_command == command);
  const auto count = [&steps](const char* option) {
    return std::count_if(steps.begin(), steps.end(),
                         [option](const Texts& step) { return step.front() == option; });
  };
  Require(count("--chdir") == 1 && count("--bind") + count("--bind-fd") == 1);
  Require(count("--unshare-net") == (is_denied ? 1 : 0));
  Require(count("--unshare-user") == (is_strict ? 1 : 0));
  Require(count("--proc") == 1 && count("--dev") == 1);
  Require(steps.size() >= 2 && steps.back() == (Texts{"--chdir", plan.chdir}));
  const Texts& workspace = steps[steps.size() - 2];
  Require(workspace[0] == "--bind" || workspace[0] == "--bind-fd");
  Require(workspace[2] == kWorkspace);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  FuzzedDataProvider data(bytes, size);
  const BubblewrapPolicy policy = MakePolicy(data);
  if (CheckPolicy(policy)) return 0;
  const HostFacts facts = MakeFacts(data, policy);
  const auto descriptor = data.ConsumeIntegralInRange(-1, 9);
  const auto tmp_bytes = data.ConsumeIntegral<std::uint64_t>();
  const std::string workspace = Path(data);
  const std::string cwd = Text(data);
  const Texts command = Several(data, Text);
  std::vector<Variable> named;
  for (const std::string& name : Several(data, Text))
    named.emplace_back(name, Text(data));

  const Result<std::string> relative = WorkspaceRelative(cwd, "NativeRunner.exec");
  if (!relative.ok() || CheckArgv(command)) return 0;
  const std::string inside = JoinPath(kWorkspace, relative.value());
  Require(("/" + relative.value() + "/").find("/../") == std::string::npos);

  const bool is_denied = policy.network == Network::kDeny;
  const bool is_strict = policy.isolation == Isolation::kStrict;
  CheckArgs(PlanPureBubblewrap(policy, inside), command, is_denied, is_strict);
  const BubblewrapPlan plan =
      PlanBubblewrap(policy, facts, workspace, descriptor, inside, tmp_bytes);
  CheckArgs(plan, command, is_denied, is_strict);
  Require(BubblewrapLayers(plan).front() == Layer::kMountNamespace);
  Require(PolicyText(policy) == PolicyText(BubblewrapPolicy(policy)));

  for (const std::string& text :
       BuildEnvironment(PassedVariables(policy.environment, named), named, inside)) {
    Require(text.find('=') != std::string::npos);
  }
  return 0;
}
