#include "supervise/transaction/mounted_workspace.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <iterator>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

#include "policy/bubblewrap/bubblewrap_plan.h"
#include "policy/text/path.h"
#include "policy/text/text.h"
#include "protocol/order.h"
#include "supervise/host/program.h"
#include "supervise/os/file_threads.h"
#include "supervise/os/mounts.h"
#include "supervise/os/process.h"
#include "supervise/sandbox/launcher_channel.h"

namespace native_runner {
namespace {

constexpr int kMostEntries = 10'000;  // limit of examined entries; some 1 us each

Error No(const std::string& why) {
  return Error{ErrorCode::kUnavailable, "no overlay can be mounted here: " + why,
               "see docs/transactions.md for what an overlay needs"};
}

std::optional<Error> CheckMounts(const std::string& workspace) {
  const auto mounts = MountsBelow(workspace);
  if (!mounts) return No(mounts.error().message);
  if (mounts.value().empty()) return std::nullopt;
  return No("another file system is mounted at " + mounts.value().front());
}

bool IsOurs(int directory, const char* name) {
  struct statx status {};
  constexpr int kFlags = AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW;
  if (statx(directory, name, kFlags, STATX_UID | STATX_GID, &status) != 0) return true;  // gone
  return status.stx_uid == geteuid() && status.stx_gid == getegid();
}

struct CloseStream {
  void operator()(DIR* stream) const { closedir(stream); }
};

std::optional<Error> CheckOwners(const Workspace& workspace) {
  const int directory = workspace.directory.get();
  if (!IsOurs(directory, "")) return No("the workspace has another owner or group than the user's");
  const int readable = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, CloseStream> stream(readable < 0 ? nullptr : fdopendir(readable));
  if (!stream) return SystemError("open of the workspace", errno);
  for (int left = kMostEntries; left > 0; --left) {
    const dirent* entry = readdir(stream.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name == ".." || IsOurs(directory, entry->d_name)) continue;
    return No(std::string(name) + " has another owner or group than the user's");
  }
  return std::nullopt;
}

}  // namespace

Result<std::vector<std::string>> MountsBelow(const std::string& path) {
  TRY_ASSIGN(const std::string table, ReadMountTable("/proc/self/mountinfo"));
  std::vector<std::string> mounts;
  MountLines lines(table);
  while (const auto mount = lines.Next()) {
    std::string point = WithoutEscapes(mount->point);
    if (PathCovers(path, point) && !SamePath(path, point)) mounts.push_back(std::move(point));
  }
  return mounts;
}

std::optional<Error> CheckOverlay(const Workspace& workspace) {
  if (workspace.path == "/") return No("the workspace is the root directory");
  if (auto error = CheckMounts(workspace.path)) return error;
  return geteuid() == 0 ? std::nullopt : CheckOwners(workspace);
}

namespace {

constexpr int kDeadlineMs = 5'000;  // the same as for Programs
constexpr std::size_t kMostBytes = std::size_t{64} << 10U;

std::int64_t NowMs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000 + now.tv_nsec / 1'000'000;
}

// Returns true if the descriptor becomes readable before the deadline.
bool WaitUntil(int descriptor, std::int64_t deadline_ms) {
  pollfd entry{descriptor, POLLIN, 0};
  for (;;) {
    const std::int64_t left = deadline_ms - NowMs();
    if (left <= 0) return false;
    const int result = poll(&entry, 1, static_cast<int>(left));
    if (result > 0) return true;
    if (result == 0 || errno != EINTR) return false;
  }
}

std::string ReadUntil(int pipe, std::int64_t deadline_ms) {
  std::string text;
  std::array<char, 4'096> block{};
  while (text.size() < kMostBytes && WaitUntil(pipe, deadline_ms)) {
    const ssize_t got = read(pipe, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(block.data(), static_cast<std::size_t>(got));
  }
  return text;
}

}  // namespace

std::optional<Error> CheckBindFd(const std::string& path) {
  auto null_device = OpenPath("/dev/null", O_RDWR);
  auto output = MakePipe();
  if (!null_device || !output) return std::nullopt;
  SpawnOptions spawn;
  spawn.path = path;
  spawn.argv = {"bwrap", "--help"};
  spawn.inherited = {{null_device->get(), STDIN_FILENO}, {null_device->get(), STDERR_FILENO}};
  spawn.Give(std::move(output->write), STDOUT_FILENO);
  auto child = Child::Spawn(std::move(spawn));
  if (!child) return std::nullopt;
  const std::int64_t deadline = NowMs() + kDeadlineMs;
  const std::string help = ReadUntil(output->read.get(), deadline);
  if (!WaitUntil(child->pidfd(), deadline)) child->Signal(SIGKILL);
  auto status = child->Reap();
  while (!status) {
    WaitUntil(child->pidfd(), NowMs() + kDeadlineMs);
    status = child->Reap();
  }
  const bool has_answered = !status->signaled && status->value == 0;
  if (!has_answered || ParseBwrapHelp(help).bind_fd) return std::nullopt;
  return LacksOption(path, "--bind-fd");
}

namespace {

bool WaitFor(int descriptor) {
  pollfd entry{descriptor, POLLIN, 0};
  int result = 0;
  do {
    result = poll(&entry, 1, -1);
  } while (result < 0 && errno == EINTR);
  return result == 1;
}

// All reports of the launcher, until the last holder of its socket has ended.
struct Answer {
  std::vector<Descriptor> made;
  std::size_t steps = 0;  // number of steps that made something
  bool is_done = false;
  std::string refusal;
};

Answer Listen(LauncherChannel* control) {
  Answer answer;
  while (WaitFor(control->descriptor())) {
    Report report;
    Descriptor carried;
    std::vector<Descriptor> more;
    const auto received = control->Receive(&report, &carried, &more);
    if (received == LauncherChannel::Received::kClosed) break;
    if (received == LauncherChannel::Received::kNothing) continue;
    if (report.kind == ReportKind::kMade && carried.valid()) {
      ++answer.steps;
      answer.made.push_back(std::move(carried));
      std::move(more.begin(), more.end(), std::back_inserter(answer.made));
    } else if (report.kind == ReportKind::kExited) {
      answer.is_done = true;
    } else if (report.kind == ReportKind::kRefused) {
      answer.refusal = report.text;
    }
  }
  return answer;
}

}  // namespace

Result<std::vector<Descriptor>> MakeNamespaces(const std::string& path,
                                               std::span<const std::string> steps,
                                               std::span<const int> given) {
  auto null_device = OpenPath("/dev/null", O_RDWR);
  if (!null_device) return null_device.error();
  Descriptor peer;
  auto control = LauncherChannel::Open(&peer);
  if (!control) return control.error();
  const std::array<std::string, 1> argv = {kNamespacesRole};
  const auto order = EncodeOrder({.flags = kOrderNamespaces}, "", argv, {}, steps);
  if (control->SendOrder(order) != LauncherChannel::Sent::kSent)
    return SystemError("sendmsg", errno);

  SpawnOptions spawn;
  spawn.path = path;
  spawn.argv = {"native-runner-launcher", kNamespacesRole};
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    spawn.inherited.push_back({null_device->get(), number});
  spawn.Give(std::move(peer), kControlDescriptor);
  int number = kFirstGiven;
  for (const int descriptor : given)
    spawn.inherited.push_back({descriptor, number++});
  auto child = Child::Spawn(std::move(spawn));
  if (!child) return child.error();
  Answer answer = Listen(&*control);
  while (!child->Reap())
    WaitFor(child->pidfd());

  const auto wanted = static_cast<std::size_t>(std::count_if(
      steps.begin(), steps.end(),
      [](const std::string& step) { return !step.empty() && MakesSomething(step.front()); }));
  if (answer.is_done && answer.steps == wanted) return std::move(answer.made);
  if (answer.refusal.empty()) answer.refusal = "its launcher ended without a word";
  return Error{ErrorCode::kUnavailable, std::move(answer.refusal), ""};
}

namespace {

std::string Step(char kind, const FileIdentity& identity, const std::string& path) {
  return kind + NamedFile(identity, path);
}

std::optional<Error> AddStep(char kind, const std::string& path, std::vector<std::string>* steps) {
  TRY_ASSIGN(const std::string named, NamedDirectory(path));
  steps->push_back(kind + named);
  return std::nullopt;
}

constexpr mode_t kModeBits = 0777;

std::optional<Error> MakeDirectory(const std::string& path) {
  if (mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return std::nullopt;
  return SystemError("mkdir", errno);
}

// What commands have made under these names hides the host's as well.
std::optional<Error> HideNames(const CacheOverlay& cache, const std::string& upper) {
  for (const std::string& name : cache.hidden) {
    const std::string whiteout = JoinPath(upper, name);
    if (mknodat(AT_FDCWD, whiteout.c_str(), S_IFCHR, 0) != 0 && errno != EEXIST) {
      return SystemError("mknod of a whiteout", errno);
    }
  }
  return std::nullopt;
}

// Makes the cache's upper layer where it is missing, with the mode of the cache and without its
// hidden names. It gets its name once it is whole: one that a death has left half made would show
// what is hidden. One that an earlier version has made may hide less.
std::optional<Error> MakeUpper(const CacheOverlay& cache, const std::string& upper) {
  if (access(upper.c_str(), F_OK) == 0) return HideNames(cache, upper);
  const std::string made = upper + ".new";
  TRY(MakeDirectory(made));
  TRY(HideNames(cache, made));
  struct stat status {};
  if (fstatat(AT_FDCWD, cache.source.c_str(), &status, 0) != 0) {
    return SystemError("stat of a cache", errno);
  }
  if (chmod(made.c_str(), status.st_mode & kModeBits) != 0) return SystemError("chmod", errno);
  if (rename(made.c_str(), upper.c_str()) != 0) return SystemError("rename", errno);
  return std::nullopt;
}

std::optional<Error> AddCacheSteps(const CacheOverlay& cache, std::vector<std::string>* steps) {
  const std::string upper = cache.directory + "/upper";
  const std::string work = cache.directory + "/work";
  for (const std::string& path : {ParentOf(cache.directory), cache.directory, work}) {
    if (auto error = MakeDirectory(path)) return error;
  }
  if (auto error = MakeUpper(cache, upper)) return error;
  if (auto error = AddStep(kStepLower, cache.source, steps)) return error;
  if (auto error = AddStep(kStepUpper, upper, steps)) return error;
  if (auto error = AddStep(kStepWork, work, steps)) return error;
  return AddStep(kStepOverlay, cache.source, steps);
}

// Makes namespaces for overlays: `first` are the steps of the workspace's, which makes one
// descriptor, or none. Fills the namespaces, the root and the caches of `mounted`.
std::optional<Error> MountIn(const std::string& launcher, std::span<const std::string> first,
                             std::span<const CacheOverlay> caches, MountedWorkspace* mounted) {
  const bool needs_user_namespace = geteuid() != 0;
  std::vector<std::string> steps;
  if (needs_user_namespace) steps.emplace_back(1, kStepUserNamespace);
  steps.emplace_back(1, kStepMountNamespace);
  steps.insert(steps.end(), first.begin(), first.end());
  for (const CacheOverlay& cache : caches) {
    if (auto error = AddCacheSteps(cache, &steps)) return error;
  }
  auto made = MakeNamespaces(launcher, steps);
  if (!made) return made.error();
  auto next = made->begin();
  if (needs_user_namespace) mounted->user_namespace = std::move(*next++);
  mounted->mount_namespace = std::move(*next++);
  if (!first.empty()) mounted->root = std::move(*next++);
  for (const CacheOverlay& cache : caches)
    mounted->caches.push_back({cache.source, std::move(*next++)});
  return std::nullopt;
}

Error NotShown(Error why) {
  why.message = "`caches` can't be shown: " + why.message;
  return why;
}

Error NoOverlay(const Error& why) {
  return Error{ErrorCode::kUnavailable, "no overlay can be mounted here: " + why.message,
               "see docs/transactions.md for what an overlay needs"};
}

}  // namespace

std::vector<std::string> ChangesIn(const MountedWorkspace& mounted) {
  std::vector<std::string> places = {mounted.copy.empty() ? mounted.upper : mounted.copy};
  if (!mounted.caches.empty()) places.push_back(mounted.state + "/caches");
  return places;
}

void NoteEntry(const MountedWorkspace& mounted) {
  std::uint64_t never = 0;
  mounted.entered_ns.compare_exchange_strong(never, FileClock());
  mounted.was_entered = true;
}

Result<std::shared_ptr<const MountedWorkspace>> MountOverlay(const std::string& launcher,
                                                             const Workspace& workspace,
                                                             const OverlayDirectories& directories,
                                                             std::span<const CacheOverlay> caches) {
  const auto below = IdentityOf(workspace.directory.get());
  if (!below) return below.error();
  std::vector<std::string> steps;
  steps.push_back(Step(kStepLower, below.value(), workspace.path));
  if (auto error = AddStep(kStepUpper, directories.upper, &steps)) return *error;
  if (auto error = AddStep(kStepWork, directories.work, &steps)) return *error;
  steps.push_back(Step(kStepOverlay, below.value(), workspace.path));
  auto mounted = std::make_shared<MountedWorkspace>();
  mounted->path = workspace.path;
  mounted->below = below.value();
  mounted->state = directories.state;
  mounted->upper = directories.upper;
  if (auto error = MountIn(launcher, steps, caches, mounted.get())) return NoOverlay(*error);
  return std::shared_ptr<const MountedWorkspace>(std::move(mounted));
}

Result<std::shared_ptr<const MountedWorkspace>> OpenCopiedWorkspace(
    const std::string& launcher, const Workspace& workspace, const std::string& state,
    const std::string& copy, std::span<const CacheOverlay> caches) {
  const auto below = IdentityOf(workspace.directory.get());
  if (!below) return below.error();
  auto root = OpenPath(copy.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW);
  if (!root) return root.error();
  auto mounted = std::make_shared<MountedWorkspace>();
  mounted->path = workspace.path;
  mounted->copy = copy;
  mounted->below = below.value();
  mounted->state = state;
  mounted->root = std::move(*root);
  if (caches.empty()) return std::shared_ptr<const MountedWorkspace>(std::move(mounted));
  if (auto error = MountIn(launcher, {}, caches, mounted.get())) return NotShown(*error);
  return std::shared_ptr<const MountedWorkspace>(std::move(mounted));
}

Result<std::shared_ptr<const MountedWorkspace>> MountCaches(const std::string& launcher,
                                                            std::span<const CacheOverlay> caches) {
  auto mounted = std::make_shared<MountedWorkspace>();
  if (auto error = MountIn(launcher, {}, caches, mounted.get())) return NotShown(*error);
  return std::shared_ptr<const MountedWorkspace>(std::move(mounted));
}

std::optional<Error> LookAgain(const std::string& launcher, const MountedWorkspace& mounted) {
  std::vector<int> given;
  std::vector<std::string> steps;
  const auto add = [&](char kind, const Descriptor& descriptor) {
    if (!descriptor.valid()) return;
    steps.push_back(kind + std::to_string(kFirstGiven + static_cast<int>(given.size())));
    given.push_back(descriptor.get());
  };
  add(kStepJoin, mounted.user_namespace);
  add(kStepJoin, mounted.mount_namespace);
  add(kStepLookAgain, mounted.root);
  const auto made = MakeNamespaces(launcher, steps, given);
  return made ? std::nullopt : std::optional(made.error());
}

namespace {

// The lock goes with the overlays: with the last sandbox that shares them.
struct LockedCaches {
  Descriptor lock;
  std::shared_ptr<const MountedWorkspace> mounted;
  std::vector<ShownCache> caches;
};

std::mutex mutex;
std::map<std::string, std::weak_ptr<const LockedCaches>>& SharedCaches() {
  static auto* const shared = new std::map<std::string, std::weak_ptr<const LockedCaches>>();
  return *shared;
}

std::shared_ptr<const MountedWorkspace> MountedIn(std::shared_ptr<const LockedCaches> locked) {
  const MountedWorkspace* const mounted = locked->mounted.get();
  return {std::move(locked), mounted};
}

Error CannotKeep(const std::string& directory, int error) {
  return {ErrorCode::kSetup,
          "nothing can be kept in " + QuotedShort(directory) + ": " + std::strerror(error),
          "make it writable, or use `home: \"private\"`"};
}

// False once the home was cleared.
bool LeadsTo(const std::string& directory, const Descriptor& opened) {
  const Descriptor now(open(directory.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  auto there = IdentityOf(now.get());
  auto held = IdentityOf(opened.get());
  return there && held && *there == *held;
}

// "target" is a path in the home, which is a name of one directory so.
std::string NameOf(const ShownCache& cache) {
  std::string name = cache.target;
  std::ranges::replace(name, '/', '+');
  return name;
}

}  // namespace

Result<std::shared_ptr<const MountedWorkspace>> ShareHomeCaches(
    const std::string& launcher, const std::string& directory,
    const std::vector<ShownCache>& caches) {
  NotePath(directory);
  const std::lock_guard guard(mutex);
  auto& shared = SharedCaches()[directory];
  if (auto locked = shared.lock(); locked && LeadsTo(directory, locked->lock)) {
    if (locked->caches != caches) return std::shared_ptr<const MountedWorkspace>();
    return MountedIn(std::move(locked));
  }
  if (mkdir(directory.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
    return CannotKeep(directory, errno);
  }
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  Descriptor lock(open(directory.c_str(), kFlags));
  if (!lock.valid()) return CannotKeep(directory, errno);
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return std::shared_ptr<const MountedWorkspace>();
  std::vector<CacheOverlay> overlays;
  overlays.reserve(caches.size());
  for (const ShownCache& cache : caches)
    overlays.push_back({cache.source, directory + "/" + NameOf(cache), cache.hidden});
  TRY_ASSIGN(auto mounted, MountCaches(launcher, overlays));
  const auto locked = std::make_shared<const LockedCaches>(
      LockedCaches{std::move(lock), std::move(mounted), caches});
  shared = locked;
  return MountedIn(locked);
}

}  // namespace native_runner
