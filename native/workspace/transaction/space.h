#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "policy/result.h"

namespace native_runner {

// Says how much a transaction holds on disk, in bytes as the file system allocates them. Extents
// that a reflink shares count in each file that has them.
struct TransactionSpace {
  std::string id;
  // Of files that nothing else holds: removing the transaction frees them.
  std::uint64_t bytes = 0;
  // Of files that something else holds by a hard link: other transactions, or what commits have
  // replaced.
  std::uint64_t shared_bytes = 0;
  // Parts of both: what commands have changed in the workspace, or the copy that they change; its
  // checkpoints; its home with the caches.
  std::uint64_t changes_bytes = 0;
  std::uint64_t checkpoints_bytes = 0;
  std::uint64_t home_bytes = 0;
  // False: it has directories that keep their owner out, in which nothing is counted.
  bool is_whole = true;
};

struct SpaceReport {
  std::vector<TransactionSpace> each;  // the oldest first
  std::uint64_t total_bytes = 0;       // of all of them, each file once
};

// Measures the transactions in a state directory, those of one workspace (a real path), or all for
// "". Looks at each file, so that it takes as long as they have files. What is removed meanwhile
// does not count. The errors of ListTransactions. Any thread; blocks as the file system does.
Result<SpaceReport> MeasureTransactions(const std::string& state, const std::string& workspace);

}  // namespace native_runner
