#include "policy/denials/grants/smallest_grants.h"

#include <set>
#include <string>

#include "policy/denials/grants/advice.h"
#include "policy/denials/probes.h"
#include "policy/text/path.h"

namespace native_runner {
namespace {

constexpr std::size_t kSeveral = 3;

bool IsPath(const Grant& grant) {
  return grant.kind == Grant::Kind::kMount || grant.kind == Grant::Kind::kPath;
}

// Of what has the same name inside and outside, so that the directories are alike too.
bool IsSibling(const Grant& one, const Grant& other) {
  return IsPath(other) && one.option == other.option && one.writable == other.writable &&
         ParentOf(one.host_path) == ParentOf(other.host_path) &&
         ParentOf(one.guest_path) == ParentOf(other.guest_path);
}

bool Brings(const Grant& large, const Grant& small) {
  if (!IsPath(large) || large.kind != small.kind) return false;
  if (small.writable && !large.writable) return false;
  if (large.kind == Grant::Kind::kPath && large.option != small.option) return false;
  const std::string host = NormalPath(large.host_path);
  if (!PathCovers(host, small.host_path)) return false;
  if (large.kind == Grant::Kind::kPath) return true;
  const std::string rest = NormalPath(small.host_path).substr(host == "/" ? 0 : host.size());
  return SamePath(large.guest_path + rest, small.guest_path);
}

}  // namespace

void FindSmallestGrants(const AdviceLists& lists, std::vector<Denial>* denials) {
  const std::vector<Denial> before = *denials;
  for (Denial& denial : *denials) {
    if (!IsPath(denial.grant)) continue;
    std::set<std::string> siblings;
    for (const Denial& other : before) {
      if (IsSibling(denial.grant, other.grant)) siblings.insert(other.grant.host_path);
    }
    const std::string directory = ParentOf(denial.grant.host_path);
    // A host's /tmp is no place to mount over the private one.
    const bool is_scratch = SamePath(directory, "/tmp") || SamePath(directory, "/var/tmp");
    if (siblings.size() < kSeveral || is_scratch) continue;
    if (!WhyNotGrant(directory, denial.grant.writable, true, lists).empty()) continue;
    denial.grant.host_path = directory;
    if (!denial.grant.guest_path.empty())
      denial.grant.guest_path = ParentOf(denial.grant.guest_path);
  }
  const std::vector<Denial> large = *denials;
  for (Denial& denial : *denials) {
    for (const Denial& other : large) {
      if (IsPath(denial.grant) && Brings(other.grant, denial.grant)) denial.grant = other.grant;
    }
  }
}

}  // namespace native_runner
