#include "workspace/tree/access_lists.h"

#include <sys/types.h>
#include <sys/xattr.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

#include "workspace/tree/beneath.h"

namespace native_runner {
namespace {

constexpr const char* kAccessList = "system.posix_acl_access";
constexpr std::string_view kDefaultList = "system.posix_acl_default";

// As <linux/posix_acl_xattr.h> has it, which not every C library's headers bring: a version, then
// entries of a tag, permissions and an id.
constexpr std::size_t kListHeader = 4;
constexpr std::size_t kListEntry = 8;
constexpr std::size_t kMostListBytes = std::size_t{64} << 10U;  // of an attribute (xattr(7))
enum : std::uint16_t { kOwnerTag = 0x01, kMaskTag = 0x10, kOthersTag = 0x20 };

// Empty if there is none; nullopt, with errno(3), if it can't be read.
std::optional<std::string> ListOf(int file) {
  std::string list(kMostListBytes, '\0');
  // A path, since fgetxattr(2) takes no O_PATH descriptor.
  const ssize_t size =
      getxattr(DescriptorPath(file).c_str(), kAccessList, list.data(), list.size());
  if (size < 0) {
    return errno == ENODATA || errno == ENOTSUP ? std::optional<std::string>("") : std::nullopt;
  }
  list.resize(static_cast<std::size_t>(size));
  return list;
}

// Without the permissions that chmod(2) sets.
std::string Fixed(std::string list) {
  for (std::size_t at = kListHeader; at + kListEntry <= list.size(); at += kListEntry) {
    std::uint16_t tag = 0;
    std::memcpy(&tag, list.data() + at, sizeof(tag));
    const bool is_set_by_mode = tag == kOwnerTag || tag == kMaskTag || tag == kOthersTag;
    if (is_set_by_mode) std::memset(list.data() + at + sizeof(tag), 0, sizeof(tag));
  }
  return list;
}

}  // namespace

bool IsAccessList(std::string_view attribute) {
  return attribute == kAccessList || attribute == kDefaultList;
}

bool CopyAccessList(int from, int to) {
  const auto list = ListOf(from);
  if (!list) return false;
  const std::string place = DescriptorPath(to);
  if (!list->empty())
    return setxattr(place.c_str(), kAccessList, list->data(), list->size(), 0) == 0;
  return removexattr(place.c_str(), kAccessList) == 0 || errno == ENODATA || errno == ENOTSUP;
}

bool HaveAlikeAccessLists(int one, int other) {
  const auto first = ListOf(one);
  const auto second = ListOf(other);
  return first && second && Fixed(*first) == Fixed(*second);
}

}  // namespace native_runner
