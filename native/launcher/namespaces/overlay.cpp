#include "launcher/namespaces/overlay.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>

#include <cerrno>

#include "launcher/kernel/calls.h"
#include "launcher/kernel/text.h"
#include "protocol/identity.h"

namespace native_runner {

int OpenNamed(const char* file, Refusal* refusal) {
  FileIdentity wanted;
  const char* const path = ParseIdentity(file, &wanted);
  if (path == nullptr) {
    refusal->Because("the order has a step without a file", -EINVAL);
    return -1;
  }
  const int descriptor = kernel::Open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW);
  if (descriptor < 0) {
    refusal->Because(path, descriptor);
    return -1;
  }
  struct stat status {};
  const long result = kernel::Stat(descriptor, &status);
  if (result == 0 && wanted == FileIdentity{status.st_dev, status.st_ino}) return descriptor;
  kernel::Close(descriptor);
  refusal->text.Add(path);
  refusal->Because(" is another directory than a moment ago", result == 0 ? -ESTALE : result);
  return -1;
}

DescriptorPath PathOf(int descriptor) {
  DescriptorPath path;
  path.Add("/proc/self/fd/").AddNumber(descriptor);
  return path;
}

// statfs(2) uses the flag names of statvfs(3).
bool ForbidsPrograms(int directory) {
  struct statfs status {};
  return kernel::StatFs(directory, &status) == 0 &&
         (static_cast<unsigned long>(status.f_flags) & ST_NOEXEC) != 0;
}

namespace {

constexpr Layer kOverlayLayer = Layer::kTransactionOverlay;

// Opens the root that is now mounted at the path of `file`; -1 with a refusal.
int OpenMounted(const char* file, Refusal* refusal) {
  const char* path = file;
  while (*path != '\0' && *path != '/')
    ++path;
  const int root = kernel::Open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW);
  if (root < 0) {
    refusal->Because(kOverlayLayer, path, root);
    return -1;
  }
  struct statfs status {};
  const long result = kernel::StatFs(root, &status);
  if (result == 0 && status.f_type == OVERLAYFS_SUPER_MAGIC) return root;
  kernel::Close(root);
  refusal->Because(kOverlayLayer, "it is not what its path leads to");
  return -1;
}

}  // namespace

bool Overlay::Open(const char* file, int* descriptor, Refusal* refusal) {
  *descriptor = OpenNamed(file, refusal);
  return *descriptor >= 0;
}

bool Overlay::AddLower(const char* file, Refusal* refusal) {
  if (lower_count_ == kMostLowers) return refusal->Because(kOverlayLayer, "too many layers");
  return Open(file, &lowers_[lower_count_++], refusal);
}

bool Overlay::SetUpper(const char* file, Refusal* refusal) {
  return Open(file, &upper_, refusal);
}

bool Overlay::SetWork(const char* file, Refusal* refusal) {
  return Open(file, &work_, refusal);
}

bool Overlay::AddOptions(Refusal* refusal) {
  if (lower_count_ == 0 || upper_ < 0 || work_ < 0) {
    return refusal->Because(kOverlayLayer, "the order names not all of its directories", -EINVAL);
  }
  options_.Add("userxattr,index=off,lowerdir=");
  for (int at = 0; at < lower_count_; ++at) {
    if (at > 0) options_.Add(":");
    options_.Add(PathOf(lowers_[at]).c_str());
  }
  options_.Add(",upperdir=").Add(PathOf(upper_).c_str());
  options_.Add(",workdir=").Add(PathOf(work_).c_str());
  return !options_.cut() || refusal->Because(kOverlayLayer, "too many layers");
}

int Overlay::MountOn(const char* file, Refusal* refusal) {
  if (!AddOptions(refusal)) return -1;
  const int place = OpenNamed(file, refusal);
  if (place < 0) return -1;
  unsigned long flags = MS_NOSUID | MS_NODEV;
  if (ForbidsPrograms(place)) flags |= MS_NOEXEC;
  const long result =
      kernel::Mount("overlay", PathOf(place).c_str(), "overlay", flags, options_.c_str());
  kernel::Close(place);
  if (result != 0) {
    refusal->Because(kOverlayLayer, "mount", result);
    return -1;
  }
  return OpenMounted(file, refusal);
}

long Overlay::LookAgain(int root) {
  const long picked = kernel::PickMounted(root);
  if (picked < 0) return picked;
  const long result = kernel::Reconfigure(static_cast<int>(picked));
  kernel::Close(static_cast<int>(picked));
  return result;
}

namespace {

constexpr mode_t kModeBits = 0777;
constexpr int kLeastNumber = 4;  // 3 is the control socket
constexpr int kMostNumber = 1023;

bool RefuseCache(Refusal* refusal, const char* what, long result) {
  refusal->text.Add("caches: ");
  return refusal->Because(what, result);
}

bool RefuseText(Refusal* refusal) {
  return refusal->Because("the order has a step without a cache", -EINVAL);
}

std::size_t LineLength(const char* text) {
  std::size_t size = 0;
  while (text[size] != '\0' && text[size] != '\n')
    ++size;
  return size;
}

// Opens what is mounted at a path, if it is of this type (statfs(2)). -errno on failure.
int OpenMountedAt(const char* path, long type) {
  const int root = kernel::Open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW);
  if (root < 0) return root;
  struct statfs status {};
  long result = kernel::StatFs(root, &status);
  if (result == 0 && status.f_type != type) result = -ESTALE;
  if (result == 0) return root;
  kernel::Close(root);
  return static_cast<int>(result);
}

using HostPath = FixedText<PATH_MAX>;

HostPath LineOf(const char* text) {
  HostPath line;
  line.Add(text, LineLength(text));
  return line;
}

// An overlay keeps what it must know of a directory in extended attributes. Without them a
// directory that was removed could not be made anew.
long CheckAttributes(int upper) {
  constexpr const char* kName = "user.native-runner";
  const long result = kernel::SetAttribute(upper, kName, "1", 1);
  return result == 0 ? kernel::RemoveAttribute(upper, kName) : result;
}

// The directory's entry in the upper layer, made with the mode that it has below; -errno on
// failure. It is ours, whoever has the directory: bwrap makes what stands for a hidden file.
int OpenUpperEntry(int lower, int upper, const char* name) {
  struct stat status {};
  long result = kernel::Stat(lower, &status);
  const long made = result == 0 ? kernel::MakeDirectory(upper, name, 0700) : result;
  if (made != 0 && made != -EEXIST) return static_cast<int>(made);
  const int opened = kernel::OpenIn(upper, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (opened < 0 || made == -EEXIST) return opened;
  result = kernel::SetMode(opened, status.st_mode & kModeBits);
  if (result == 0) return opened;
  kernel::Close(opened);
  return static_cast<int>(result);
}

bool IsWhiteout(int directory, const char* name) {
  struct stat status {};
  return kernel::StatEntry(directory, name, &status) == 0 && S_ISCHR(status.st_mode);
}

// Hides what the lower directory has at `path`, now or later: by a whiteout at its end, or at the
// first name that is missing there. Returns 0, or -errno.
long HideBelow(int lower, int upper, const char* path) {
  int below = kernel::OpenIn(lower, ".", O_PATH | O_DIRECTORY);
  int above = kernel::OpenIn(upper, ".", O_RDONLY | O_DIRECTORY);
  long result = below < 0 ? below : above < 0 ? above : 0;
  while (result == 0) {
    FixedText<NAME_MAX + 1> name;
    std::size_t size = 0;
    while (path[size] != '\0' && path[size] != '/')
      ++size;
    name.Add(path, size);
    if (size == 0 || name.cut()) {
      result = -EINVAL;
      break;
    }
    path += size;
    const int next = *path == '\0'
                         ? -ENOENT
                         : kernel::OpenIn(below, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW);
    if (next < 0) {
      result = kernel::MakeWhiteout(above, name.c_str());
      // Another path may have the same missing name; but not go on below it.
      if (result == -EEXIST && IsWhiteout(above, name.c_str())) result = 0;
      break;
    }
    ++path;
    const int entry = OpenUpperEntry(next, above, name.c_str());
    kernel::Close(below);
    kernel::Close(above);
    below = next;
    above = entry;
    if (entry < 0) result = entry;
  }
  kernel::Close(below);
  kernel::Close(above);
  return result;
}

}  // namespace

bool CacheOverlays::Keep(const char* text, Refusal* refusal) {
  FileIdentity identity;
  const char* const path = ParseIdentity(text, &identity);
  if (path == nullptr || kept_count_ == static_cast<int>(kMostKept)) return RefuseText(refusal);
  const int directory = OpenNamed(text, refusal);
  if (directory < 0) return false;
  kept_[kept_count_++] = {directory, path};
  return true;
}

bool CacheOverlays::Add(const char* text, Refusal* refusal) {
  std::uint64_t number = 0;
  if (count_ == static_cast<int>(kMostCaches) || !TakeDecimal(&text, &number) ||
      number < kLeastNumber || number > kMostNumber || *text++ != ':') {
    return RefuseText(refusal);
  }
  FixedText<PATH_MAX + 64> file;
  const std::size_t size = LineLength(text);
  file.Add(text, size);
  FileIdentity identity;
  const char* const path = ParseIdentity(file.c_str(), &identity);
  if (path == nullptr || file.cut()) return RefuseText(refusal);
  const int lower = OpenNamed(file.c_str(), refusal);
  if (lower < 0) return false;
  caches_[count_++] = {static_cast<int>(number), lower, text + (path - file.c_str()),
                       text + size + (text[size] == '\n' ? 1 : 0)};
  return true;
}

// Returns the root of a new tmpfs that is mounted over the first directory; -1 with a refusal.
int CacheOverlays::MountUppers(const char* size, Refusal* refusal) const {
  std::uint64_t bytes = 0;
  if (count_ == 0 || !TakeDecimal(&size, &bytes) || *size != '\0' || bytes > INT64_MAX) {
    RefuseText(refusal);
    return -1;
  }
  FixedText<48> options;
  options.Add("mode=0700");
  if (bytes != 0) options.Add(",size=").AddNumber(static_cast<long>(bytes));
  const Cache& first = caches_[0];
  const long result = kernel::Mount("tmpfs", PathOf(first.lower).c_str(), "tmpfs",
                                    MS_NOSUID | MS_NODEV, options.c_str());
  const int uppers = result == 0 ? OpenMountedAt(LineOf(first.path).c_str(), TMPFS_MAGIC)
                                 : static_cast<int>(result);
  if (uppers < 0) RefuseCache(refusal, "tmpfs", uppers);
  return uppers < 0 ? -1 : uppers;
}

bool CacheOverlays::Hide(const Cache& cache, int upper, Refusal* refusal) const {
  for (const char* path = cache.hidden; *path != '\0';) {
    const HostPath line = LineOf(path);
    const long result = HideBelow(cache.lower, upper, line.c_str());
    if (result != 0) return RefuseCache(refusal, "a file can't be hidden", result);
    path += line.size();
    if (*path == '\n') ++path;
  }
  return true;
}

bool CacheOverlays::ShowKept(Refusal* refusal) {
  for (int at = 0; at < kept_count_; ++at) {
    const Kept& kept = kept_[at];
    const long result =
        kernel::Mount(PathOf(kept.directory).c_str(), kept.path, nullptr, MS_BIND | MS_REC);
    if (result != 0) return RefuseCache(refusal, kept.path, result);
    kernel::Close(kept.directory);
  }
  kept_count_ = 0;
  return true;
}

// `at`: the cache's index, which names its directories in the tmpfs.
bool CacheOverlays::MountOne(const Cache& cache, int uppers, int at, Refusal* refusal) const {
  FixedText<16> upper_name;
  FixedText<16> work_name;
  upper_name.Add("u").AddNumber(at);
  work_name.Add("w").AddNumber(at);
  struct stat status {};
  long result = kernel::Stat(cache.lower, &status);
  if (result == 0) result = kernel::MakeDirectory(uppers, upper_name.c_str(), 0700);
  if (result == 0) result = kernel::MakeDirectory(uppers, work_name.c_str(), 0700);
  const int upper = kernel::OpenIn(uppers, upper_name.c_str(), O_RDONLY | O_DIRECTORY);
  const int work = kernel::OpenIn(uppers, work_name.c_str(), O_PATH | O_DIRECTORY);
  if (result == 0) result = upper < 0 ? upper : kernel::SetMode(upper, status.st_mode & kModeBits);
  if (result == 0 && work < 0) result = work;
  if (result != 0) return RefuseCache(refusal, "upper layer", result);
  if (const long checked = CheckAttributes(upper); checked != 0) {
    return RefuseCache(
        refusal, "this kernel's tmpfs has no extended attributes (Linux has them from 6.6 on)",
        checked);
  }
  if (!Hide(cache, upper, refusal)) return false;
  FixedText<192> options;
  options.Add("userxattr,index=off,lowerdir=").Add(PathOf(cache.lower).c_str());
  options.Add(",upperdir=").Add(PathOf(upper).c_str());
  options.Add(",workdir=").Add(PathOf(work).c_str());
  unsigned long flags = MS_NOSUID | MS_NODEV;
  if (ForbidsPrograms(cache.lower)) flags |= MS_NOEXEC;
  const int place = at == 0 ? uppers : cache.lower;
  result = kernel::Mount("overlay", PathOf(place).c_str(), "overlay", flags, options.c_str());
  kernel::Close(upper);
  kernel::Close(work);
  if (result != 0) {
    FixedText<96> what;  // the report has room for no more
    what.Add("overlay over ").Add(cache.path, LineLength(cache.path));
    return RefuseCache(refusal, what.c_str(), result);
  }
  const int root = OpenMountedAt(LineOf(cache.path).c_str(), OVERLAYFS_SUPER_MAGIC);
  if (root < 0) return RefuseCache(refusal, LineOf(cache.path).c_str(), root);
  result = kernel::Duplicate(root, cache.number);
  kernel::Close(root);
  return result >= 0 || RefuseCache(refusal, "root", result);
}

bool CacheOverlays::Show(const char* text, Refusal* refusal) {
  const int uppers = MountUppers(text, refusal);
  if (uppers < 0) return false;
  for (int at = 0; at < count_; ++at) {
    if (!MountOne(caches_[at], uppers, at, refusal)) return false;
    kernel::Close(caches_[at].lower);
  }
  kernel::Close(uppers);
  count_ = 0;
  return ShowKept(refusal);
}

}  // namespace native_runner
