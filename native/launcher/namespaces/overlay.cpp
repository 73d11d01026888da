#include "launcher/namespaces/overlay.h"

#include <linux/magic.h>
#include <sys/mount.h>
#include <sys/statvfs.h>

#include <cerrno>

#include "launcher/kernel/calls.h"
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

}  // namespace native_runner
