#pragma once

#include <map>
#include <string>
#include <utility>

#include "policy/transaction/host_file.h"

namespace native_runner {

// Files of one size that were read and found to differ: whoever asks again, and finds both as they
// were by their ctime, need not read them. Of those that are the same nothing is kept: a write
// through a mapping may leave ctime alone (mmap(2)), and would be lost. Plain data, a copy for each
// thread that adds.
class Differences {
 public:
  bool Has(const std::string& path, const HostFile& now, const HostFile& before) const {
    const auto found = files_.find(path);
    return found != files_.end() && found->second.first == now && found->second.second == before;
  }

  void Add(const std::string& path, const HostFile& now, const HostFile& before) {
    files_.insert_or_assign(path, std::pair(now, before));
  }

  void Merge(Differences* other) { files_.merge(other->files_); }

 private:
  std::map<std::string, std::pair<HostFile, HostFile>> files_;
};

}  // namespace native_runner
