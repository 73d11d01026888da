#include "launcher/namespaces/named_directory.h"

#include <cerrno>

#include "launcher/kernel/calls.h"
#include "protocol/file_identity.h"

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

}  // namespace native_runner
