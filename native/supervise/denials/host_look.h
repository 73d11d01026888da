#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>

#include "policy/denials/scene.h"

namespace native_runner {

// What the host has at paths, for the user of this process. Nothing is opened, so that no FIFO,
// device or automounter is woken; each path is looked at once, and a bounded number of them. Any
// thread, one at a time.
class HostLook {
 public:
  HostLookup At(const std::string& path);

 private:
  static constexpr std::size_t kMostLooks = 16'384;

  std::unordered_map<std::string, HostLookup> known_;
};

}  // namespace native_runner
