#include "launcher/layers/files.h"

#include <sys/statvfs.h>

#include <cerrno>

#include "launcher/kernel/calls.h"
#include "protocol/file_identity.h"

namespace native_runner {
namespace {

bool Fail(const char* layer, const char* path, const char* why, Refusal* refusal) {
  refusal->text.Add(layer).Add(path);
  return refusal->Because(why);
}

bool CheckIdentity(const char* rule, Refusal* refusal) {
  FileIdentity hosts;
  const char* const path = ParseIdentity(rule + 1, &hosts);
  if (path == nullptr) return refusal->Because("the order has a rule without a file");
  const bool hidden = *rule == kRuleHidden;
  struct stat status {};
  const long result = kernel::Stat(path, &status);
  if (result != 0) {
    if (hidden && (result == -ENOENT || result == -EACCES || result == -ENOTDIR)) return true;
    refusal->text.Add(hidden ? "hidden-files: " : "the workspace is not there: ");
    return refusal->Because(path, result);
  }
  const bool same = hosts == FileIdentity{status.st_dev, status.st_ino};
  if (same != hidden) return true;
  return hidden ? Fail("hidden-files: ", path, " is the host's own", refusal)
                : Fail("the workspace is not there: ", path, " is another directory", refusal);
}

bool CheckReadOnly(const char* path, Refusal* refusal) {
  struct statfs status {};
  const long result = kernel::StatFs(path, &status);
  if (result != 0) {
    return refusal->Because(Layer::kReadOnlyRoot, path, result);
  }
  if ((static_cast<unsigned long>(status.f_flags) & ST_RDONLY) != 0) return true;
  return Fail("read-only-root: ", path, " is not mounted read-only", refusal);
}

}  // namespace

bool CheckFiles(const MappedOrder& order, Refusal* refusal) {
  if ((order.header.flags & kOrderCheckFiles) == 0) return true;
  for (char** rule = order.rules; *rule != nullptr; ++rule) {
    const char kind = **rule;
    if (kind == kRuleHidden || kind == kRuleShown) {
      if (!CheckIdentity(*rule, refusal)) return false;
    } else if (kind == kRuleReadOnly) {
      if (!CheckReadOnly(*rule + 1, refusal)) return false;
    } else {
      return refusal->Because("the order has a rule that can't be checked");
    }
  }
  return true;
}

}  // namespace native_runner
