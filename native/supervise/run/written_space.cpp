#include "supervise/run/written_space.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <uv.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <set>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "policy/text/path.h"
#include "policy/text/text.h"
#include "supervise/os/file.h"
#include "supervise/os/file_threads.h"
#include "supervise/os/mounts.h"
#include "supervise/os/process.h"

namespace native_runner {
namespace {

constexpr std::uint64_t kBlock = 512;     // of st_blocks
constexpr std::size_t kDeepest = 256;     // directories in one another, each with a descriptor
constexpr std::size_t kMostVolumes = 64;  // that are watched
constexpr std::size_t kMostProcesses = 4096;
constexpr std::uint64_t kPartOfTime = 50;  // walks that nothing asks for take one part of so many
constexpr std::size_t kMostMapsRead = std::size_t{8} << 20U;

std::uint64_t FreeBytes(int directory) {
  struct statvfs state {};
  return fstatvfs(directory, &state) == 0 ? state.f_bfree * state.f_frsize : 0;
}

// Without what is kept for root.
std::optional<std::uint64_t> AvailableBytes(int directory) {
  struct statvfs state {};
  if (fstatvfs(directory, &state) != 0) return std::nullopt;
  return state.f_bavail * state.f_frsize;
}

std::uint64_t HeldBytes(int directory) {
  struct statvfs state {};
  if (fstatvfs(directory, &state) != 0) return 0;
  return (state.f_blocks - state.f_bfree) * state.f_frsize;
}

std::uint64_t Over(std::uint64_t now, std::uint64_t before) {
  return now > before ? now - before : 0;
}

// Identifies a file on this machine.
struct FileNumber {
  dev_t device;
  ino_t inode;
  bool operator==(const FileNumber&) const = default;
};
struct FileNumberHash {
  std::size_t operator()(const FileNumber& file) const {
    return std::hash<std::uint64_t>()(file.inode * 0x9E3779B97F4A7C15ULL ^ file.device);
  }
};

// Takes the next field of a line of /proc, which blanks separate.
std::string TakeField(std::string_view* line) {
  while (line->starts_with(' '))
    line->remove_prefix(1);
  return std::string(TakeUntil(line, ' '));
}

// Returns the text of a file of /proc, as far as `most` bytes; nullopt if it can't be read.
std::optional<std::string> ProcText(const std::string& path, std::size_t most) {
  auto file = OpenPath(path.c_str(), O_RDONLY);
  if (!file) return std::nullopt;
  std::string text;
  std::string part(std::size_t{64} << 10U, '\0');
  while (text.size() < most) {
    const ssize_t got = read(file->get(), part.data(), part.size());
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  return text;
}

bool IsInMemory(const std::string& path) {
  constexpr long kHugePages = 0x958458f6;
  struct statfs state {};
  return statfs(path.c_str(), &state) == 0 &&
         (state.f_type == TMPFS_MAGIC || state.f_type == kHugePages);
}

// Deleted files that processes still have, but those of a tmpfs, which says itself what it holds,
// unless a place is on it (`devices`).
class DeletedFiles {
 public:
  explicit DeletedFiles(std::set<dev_t> devices) : devices_(std::move(devices)) {}

  void LookAt(pid_t process) {
    const std::string directory = "/proc/" + std::to_string(process);
    DIR* const files = opendir((directory + "/fd").c_str());
    if (files == nullptr) {
      // One that is ending has none; of another it is unknown.
      if (!IsEnding(process)) may_be_more_ = true;
      return;
    }
    while (const dirent* const entry = readdir(files)) {
      if (entry->d_name[0] != '.') LookAtOpen(directory, entry->d_name);
    }
    closedir(files);
    LookAtMapped(directory);
  }

  // Not all processes were looked at.
  void NoteMore() { may_be_more_ = true; }

  std::uint64_t bytes() const { return bytes_; }
  // True if a process may have further ones: mapped alone, or on their way in messages.
  bool may_be_more() const { return may_be_more_; }

 private:
  void LookAtOpen(const std::string& directory, const char* number) {
    const std::string path = directory + "/fd/" + number;
    struct stat state {};
    if (fstatat(AT_FDCWD, path.c_str(), &state, 0) != 0) return;
    if (S_ISSOCK(state.st_mode)) {
      const auto sent = NumbersInLine(directory + "/fdinfo/" + number, "scm_fds:");
      may_be_more_ |= !sent.empty() && sent[0] > 0;
    }
    Add(path, state);
  }

  void Add(const std::string& path, const struct stat& state) {
    if (!S_ISREG(state.st_mode) || state.st_nlink != 0) return;
    if (!devices_.contains(state.st_dev) && IsInMemory(path)) return;
    if (seen_.insert({state.st_dev, state.st_ino}).second)
      bytes_ += static_cast<std::uint64_t>(state.st_blocks) * kBlock;
    inodes_.insert(state.st_ino);
  }

  void LookAtMapped(const std::string& directory) {
    const auto maps = ProcText(directory + "/maps", kMostMapsRead);
    if (!maps || maps->size() >= kMostMapsRead) may_be_more_ = true;
    if (!maps) return;
    constexpr std::string_view kDeleted = " (deleted)";
    for (std::string_view lines = *maps; !lines.empty();) {
      std::string_view line = TakeUntil(&lines, '\n');
      if (!line.ends_with(kDeleted)) continue;
      const std::string range = TakeField(&line);
      for (int skipped = 0; skipped < 3; ++skipped)  // modes, offset, device
        TakeField(&line);
      const auto inodes = LeadingNumbers(TakeField(&line));
      if (inodes.empty()) continue;
      const std::uint64_t inode = inodes[0];
      const std::string path = TakeField(&line);
      const bool is_memory = path.starts_with("/memfd:") || path.starts_with("/SYSV") ||
                             path.starts_with("/dev/zero") || path.starts_with("/dev/shm/");
      if (is_memory || inodes_.contains(inode)) continue;
      const std::string map = directory + "/map_files/" + range;
      struct stat state {};
      if (fstatat(AT_FDCWD, map.c_str(), &state, 0) == 0) {  // only root may
        Add(map, state);
      } else {
        may_be_more_ = true;
      }
    }
  }

  std::set<dev_t> devices_;
  std::unordered_set<FileNumber, FileNumberHash> seen_;
  std::unordered_set<std::uint64_t> inodes_;  // /proc/PID/maps has other numbers of devices
  std::uint64_t bytes_ = 0;
  bool may_be_more_ = false;
};

// Returns the device of a mount in the kernel's form; 0 if it is none.
dev_t DeviceOf(const MountLine& mount) {
  const std::size_t colon = mount.device.find(':');
  if (colon == std::string_view::npos) return 0;
  const auto major = LeadingNumbers(mount.device.substr(0, colon));
  const auto minor = LeadingNumbers(mount.device.substr(colon + 1));
  if (major.size() != 1 || minor.size() != 1) return 0;
  return makedev(static_cast<unsigned>(major[0]), static_cast<unsigned>(minor[0]));
}

Error CannotSee(const std::string& what) {
  return {ErrorCode::kSetup, "limits.writeBytes can't be kept here: " + what,
          "leave writeBytes out; reserveBytes can be kept everywhere"};
}

// Adds up what is below the roots. A file that is renamed meanwhile counts once, or is missed.
class Walk {
 public:
  // `on_volume` gets a directory of each file system that is met, and the root that it is in.
  using OnVolume = std::function<void(const std::string& root, Descriptor directory)>;
  // `files`: that are expected.
  Walk(OnVolume on_volume, std::size_t files) : on_volume_(std::move(on_volume)) {
    seen_.reserve(files + files / 8);
  }

  void Root(const std::string& path, int root) {
    NotePath(path);
    struct stat state {};
    if (fstat(root, &state) != 0) {
      ++closed_;
      return;
    }
    Count(state);
    Into(path, root, ".", state.st_dev, 0);
  }

  std::uint64_t bytes() const { return bytes_; }
  // Directories that could not be looked into.
  std::uint64_t closed() const { return closed_; }
  std::size_t files() const { return seen_.size(); }

 private:
  void Count(const struct stat& state) {
    if (seen_.insert({state.st_dev, state.st_ino}).second)
      bytes_ += static_cast<std::uint64_t>(state.st_blocks) * kBlock;
  }

  // `device`: of the directory that it is in.
  void Into(const std::string& root, int parent, const char* name, dev_t device,
            std::size_t depth) {
    constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NOATIME;
    int opened = depth == kDeepest ? -1 : openat(parent, name, kFlags);
    if (opened < 0 && errno == EPERM)  // O_NOATIME is for owners
      opened = openat(parent, name, kFlags & ~O_NOATIME);
    DIR* const entries = opened < 0 ? nullptr : fdopendir(opened);
    if (entries == nullptr) {
      if (errno != ENOENT) ++closed_;
      if (opened >= 0) close(opened);
      return;
    }
    NoteVolume(root, opened, device);
    while (const dirent* const entry = readdir(entries)) {
      const std::string_view each = entry->d_name;
      if (each == "." || each == "..") continue;
      struct stat state {};
      if (fstatat(opened, entry->d_name, &state, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) != 0)
        continue;  // it has been removed
      Count(state);
      if (S_ISDIR(state.st_mode)) Into(root, opened, entry->d_name, state.st_dev, depth + 1);
    }
    closedir(entries);
  }

  // Something mounted in a place is another file system, which is watched like the place's own.
  void NoteVolume(const std::string& root, int directory, dev_t device) {
    if (!devices_.insert(device).second) return;
    auto copy = DuplicateOf(directory);
    if (copy) on_volume_(root, std::move(*copy));
  }

  OnVolume on_volume_;
  std::set<dev_t> devices_;
  std::unordered_set<FileNumber, FileNumberHash> seen_;
  std::uint64_t bytes_ = 0;
  std::uint64_t closed_ = 0;
};

}  // namespace

WrittenSpace::WrittenSpace(WrittenPlaces places, const Limits& limits)
    : places_(std::move(places)),
      write_bytes_(limits.write_bytes),
      reserve_bytes_(limits.reserve_bytes) {}

std::optional<Error> WrittenSpace::AddVolume(const std::string& path, Descriptor directory) {
  struct statvfs state {};
  if (fstatvfs(directory.get(), &state) != 0)
    return SystemError(("statvfs " + path).c_str(), errno);
  const auto is_same = [&state](const Volume& volume) { return volume.id == state.f_fsid; };
  if (std::ranges::any_of(volumes_, is_same)) return std::nullopt;
  if (volumes_.size() == kMostVolumes) {
    return Error{ErrorCode::kSetup,
                 "limits.writeBytes and limits.reserveBytes can't be kept here: what commands may "
                 "write is on more than " +
                     std::to_string(kMostVolumes) + " file systems",
                 "leave both out, or mount fewer writable places"};
  }
  const std::uint64_t free = state.f_bfree * state.f_frsize;
  volumes_.push_back({std::move(directory), path, state.f_fsid, free, free});
  return std::nullopt;
}

std::optional<Error> WrittenSpace::Begin() {
  constexpr int kFlags = O_PATH | O_DIRECTORY;
  std::vector<std::string> roots;
  for (const std::string& path : places_.counted) {
    const auto holds = [&path](const std::string& other) {
      return other != path && PathCovers(other, path);
    };
    if (std::ranges::any_of(places_.counted, holds) || std::ranges::count(roots, path) != 0)
      continue;
    roots.push_back(path);
  }
  for (const auto* paths : {&roots, &places_.watched}) {
    for (const std::string& path : *paths) {
      NotePath(path);
      auto opened = OpenPath(path.c_str(), kFlags);
      if (!opened && paths == &places_.watched) continue;  // a file, or nothing
      if (!opened)
        return Error{ErrorCode::kSetup,
                     "cannot measure " + QuotedShort(path) + ": " + opened.error().message, ""};
      TRY_ASSIGN(auto copy, DuplicateOf(opened->get()));
      TRY(AddVolume(path, std::move(copy)));
      if (paths == &roots) roots_.emplace_back(path, std::move(*opened));
    }
  }
  if (const Volume* const full = BelowReserve()) {
    const std::uint64_t free = AvailableBytes(full->directory.get()).value_or(0);
    return Error{ErrorCode::kSetup,
                 "limits.reserveBytes can't be kept: " + std::to_string(free) +
                     " bytes are free on the file system of " + QuotedShort(full->path) + ", and " +
                     std::to_string(*reserve_bytes_) + " must stay so",
                 "remove files there, or lower reserveBytes"};
  }
  if (!write_bytes_) return std::nullopt;
  WalkAll(Moment::kBefore);
  return std::nullopt;
}

std::optional<Error> WrittenSpace::AddMemory(const std::string& path, bool is_new) {
  auto opened = OpenPath(path.c_str(), O_PATH | O_NOFOLLOW | O_DIRECTORY);
  if (!opened) return opened.error();
  const std::uint64_t before = is_new ? 0 : HeldBytes(opened->get());
  memory_.push_back({std::move(*opened), before});
  return std::nullopt;
}

std::optional<Error> WrittenSpace::Enter(pid_t process, bool is_new) {
  if (!write_bytes_ || !places_.has_memory || !memory_.empty()) return std::nullopt;
  const std::string directory = "/proc/" + std::to_string(process);
  const auto inside = ReadMountTable(directory + "/mountinfo");
  const auto outside = ReadMountTable("/proc/self/mountinfo");
  if (!inside || !outside) {
    if (IsEnding(process)) return std::nullopt;
    return CannotSee("the sandbox's mounts can't be read");
  }
  std::set<dev_t> known;  // the host's, and those that are open already
  MountLines hosts(outside.value());
  while (const auto mount = hosts.Next())
    known.insert(DeviceOf(*mount));
  MountLines lines(inside.value());
  while (const auto mount = lines.Next()) {
    const dev_t device = DeviceOf(*mount);
    if (mount->kind != "tmpfs" || !mount->is_writable() || known.contains(device)) continue;
    const std::string point = WithoutEscapes(mount->point);
    const std::string path = directory + "/root" + point;
    struct stat state {};
    if (fstatat(AT_FDCWD, path.c_str(), &state, AT_SYMLINK_NOFOLLOW) != 0) {
      const int error = errno;
      if (IsEnding(process)) return std::nullopt;
      if (error == EACCES || error == EPERM)
        return CannotSee("the sandbox's " + point + " can't be looked at: " + std::strerror(error));
      continue;
    }
    if (state.st_dev != device) continue;  // another mount covers it
    if (auto error = AddMemory(path, is_new)) {
      if (IsEnding(process)) return std::nullopt;
      return error;
    }
    known.insert(device);
  }
  if (!places_.memory_overlay.empty()) {
    auto error = AddMemory(directory + "/root" + places_.memory_overlay, is_new);
    if (error && !IsEnding(process)) return error;
  }
  if (memory_.empty() && !IsEnding(process)) return CannotSee("the sandbox's /tmp can't be found");
  return std::nullopt;
}

std::uint64_t WrittenSpace::InMemory() const {
  std::uint64_t sum = 0;
  for (const Memory& each : memory_)
    sum += Over(HeldBytes(each.directory.get()), each.before);
  return sum;
}

std::uint64_t WrittenSpace::Shrunk() const {
  std::uint64_t sum = 0;
  for (const Volume& volume : volumes_)
    sum += Over(volume.free_at_walk, FreeBytes(volume.directory.get()));
  return sum;
}

const WrittenSpace::Volume* WrittenSpace::BelowReserve() const {
  if (!reserve_bytes_) return nullptr;
  for (const Volume& volume : volumes_) {
    const auto free = AvailableBytes(volume.directory.get());
    if (free && *free < *reserve_bytes_) return &volume;
  }
  return nullptr;
}

bool WrittenSpace::MustWalk(std::uint64_t in_memory) const {
  return added_ + hidden_ + in_memory + Shrunk() > *write_bytes_ ||
         uv_hrtime() - walked_at_ns_ >= kPartOfTime * walk_ns_;
}

void WrittenSpace::WalkAll(Moment moment) {
  const std::uint64_t begun = uv_hrtime();
  for (Volume& volume : volumes_)
    volume.free_at_walk = FreeBytes(volume.directory.get());
  const auto on_volume = [this](const std::string& root, Descriptor directory) {
    static_cast<void>(AddVolume(root, std::move(directory)));
  };
  Walk walk(on_volume, files_);
  for (const auto& [path, root] : roots_)
    walk.Root(path, root.get());
  files_ = walk.files();
  added_ = Over(walk.bytes(), bytes_before_);
  if (moment == Moment::kBefore) {
    bytes_before_ = walk.bytes();
    closed_before_ = walk.closed();
    added_ = 0;
    for (Volume& volume : volumes_)
      volume.free_before = volume.free_at_walk;
  }
  std::set<dev_t> devices;
  for (const Volume& volume : volumes_) {
    struct stat state {};
    if (fstat(volume.directory.get(), &state) == 0) devices.insert(state.st_dev);
  }
  DeletedFiles deleted(std::move(devices));
  if (moment == Moment::kMeanwhile && launcher_ != 0) {
    const auto processes = DescendantsOf(launcher_, kMostProcesses);
    for (const pid_t process : processes)
      deleted.LookAt(process);
    if (processes.size() >= kMostProcesses) deleted.NoteMore();
  }
  hidden_ = deleted.bytes();
  if (deleted.may_be_more() || walk.closed() > closed_before_) {
    std::uint64_t missing = 0;  // what can't be seen is no more than this
    for (const Volume& volume : volumes_)
      missing += Over(volume.free_before, volume.free_at_walk);
    hidden_ = std::max(hidden_, Over(missing, added_));
  }
  walked_at_ns_ = uv_hrtime();
  walk_ns_ = walked_at_ns_ - begun;
}

const char* WrittenSpace::Look() {
  if (BelowReserve() != nullptr) return "reserveBytes";
  if (!write_bytes_) return nullptr;
  const std::uint64_t in_memory = InMemory();
  if (in_memory > *write_bytes_) return "writeBytes";
  if (!MustWalk(in_memory)) return nullptr;
  WalkAll(Moment::kMeanwhile);
  return added_ + hidden_ + InMemory() > *write_bytes_ ? "writeBytes" : nullptr;
}

const char* WrittenSpace::LookAtEnd() {
  if (!write_bytes_) return nullptr;
  WalkAll(Moment::kAtEnd);
  return added_ + hidden_ + InMemory() > *write_bytes_ ? "writeBytes" : nullptr;
}

SpaceWatch::SpaceWatch(SupervisorContext& shared, WrittenPlaces places, const Limits& limits)
    : shared_(shared), space_(std::make_shared<WrittenSpace>(std::move(places), limits)) {}

SpaceWatch::~SpaceWatch() = default;

// A walk takes long, so that it is never the supervisor's own.
void SpaceWatch::Do(std::function<void()> look,
                    std::function<void(const std::optional<Error>&)> done) {
  if (shared_.files == nullptr) {
    look();
    return done(std::nullopt);
  }
  // The work keeps its key alive.
  const auto work = [space = space_, look = std::move(look)] { look(); };
  shared_.files->Do(space_.get(), work, std::move(done));
}

void SpaceWatch::Begin(std::function<void(const std::optional<Error>&)> done) {
  const auto failed = std::make_shared<std::optional<Error>>();
  Do([space = space_, failed] { *failed = space->Begin(); },
     [failed, done = std::move(done)](const std::optional<Error>& unanswered) {
       done(unanswered ? unanswered : *failed);
     });
}

std::optional<Error> SpaceWatch::Enter(const Sandbox& sandbox, bool is_ready) {
  const auto number = [](int pidfd) { return pidfd < 0 ? 0 : NumberOfPidfd(pidfd); };
  if (is_ready) space_->SetLauncher(number(sandbox.launcher_pidfd()));
  if (has_entered_) return std::nullopt;
  // One that has ended already is looked at when it is gone.
  const pid_t with_mounts = number(sandbox.mounts_pidfd());
  if (with_mounts == 0) return std::nullopt;
  has_entered_ = true;
  return space_->Enter(with_mounts, is_ready);
}

void SpaceWatch::Start(std::function<void(const char*)> over) {
  over_ = std::move(over);
  timer_.Start(shared_.loop, kEveryMs, kEveryMs, [this] { LookNow(); });
}

void SpaceWatch::LookNow() {
  if (is_looking_) return;
  is_looking_ = true;
  const auto found = std::make_shared<const char*>(nullptr);
  Do([space = space_, found] { *found = space->Look(); },
     [this, alive = std::weak_ptr(alive_), found](const std::optional<Error>& /*unanswered*/) {
       if (alive.expired()) return;
       is_looking_ = false;
       if (*found == nullptr || !timer_.active()) return;
       timer_.Stop();
       const auto over = std::move(over_);
       over(*found);
     });
}

void SpaceWatch::Finish(std::function<void(const char*)> done) {
  Stop();
  const auto found = std::make_shared<const char*>(nullptr);
  Do([space = space_, found] { *found = space->LookAtEnd(); },
     [found, done = std::move(done)](const std::optional<Error>& /*unanswered*/) { done(*found); });
}

}  // namespace native_runner
