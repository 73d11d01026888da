#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "effects/commit/commit.h"
#include "policy/result.h"
#include "policy/transaction/transaction_record.h"

namespace native_runner {

// A transaction as it lies on disk.
struct ListedTransaction {
  enum class State : std::uint8_t {
    kOpen,    // a living process has it
    kClosed,  // it can be resumed
    kTorn,    // it can, but what a commit could not put back is still there (see commit.h)
  };
  TransactionRecord record;
  State state = State::kClosed;
  Recovered recovered = Recovered::kNothing;  // of one that nobody has: ForeseeRecovery
  bool has_commit = false;                    // that could be taken back
};

// Those in a state directory, the oldest first; none where that is missing. What is no whole
// transaction is passed over: one that is being made or removed, links, other files. Changes
// nothing, and follows no link below the directory. kInvalidValue or kSetup for the directory
// itself. Any thread; blocks as the file system does.
Result<std::vector<ListedTransaction>> ListTransactions(const std::string& state);

}  // namespace native_runner
