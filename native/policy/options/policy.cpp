#include "policy/options/policy.h"

namespace native_runner {

const std::vector<std::string>& DefaultRoBinds() {
  static const std::vector<std::string> binds = {"/usr", "/bin", "/lib", "/lib64", "/etc"};
  return binds;
}

const std::vector<std::string>& DefaultReadDirs() {
  static const std::vector<std::string> dirs = {"/usr", "/lib",  "/lib64", "/etc",
                                                "/bin", "/sbin", "/tmp"};
  return dirs;
}

const std::vector<std::string>& DefaultWriteDirs() {
  static const std::vector<std::string> dirs = {"/tmp"};
  return dirs;
}

const std::vector<std::string>& DefaultFirejailReadDirs() {
  static const std::vector<std::string> dirs = {"/usr", "/lib", "/lib64", "/etc", "/bin", "/sbin"};
  return dirs;
}

bool CanStand(const BubblewrapPolicy& policy) {
  return policy.isolation == Isolation::kStrict && policy.extra_args.empty();
}

}  // namespace native_runner
