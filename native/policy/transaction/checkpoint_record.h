#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "policy/result.h"

namespace native_runner {

// What is kept on disk of a checkpoint besides the files. Plain data.
struct CheckpointRecord {
  std::string id;                // as a transaction's: IsTransactionId
  std::string name;              // its user's; "" where it was given none
  std::uint64_t order = 0;       // later ones have greater numbers
  std::uint64_t created_ns = 0;  // since 1970 (CLOCK_REALTIME)
  // Which commit was the transaction's last when it was made: once there is another, or it was
  // taken back, the checkpoint is none any more. "" for none.
  std::string commit;
};

// As a transaction's record (transaction_record.h). Decoding takes nothing but what encoding gives:
// kSetup.
std::string EncodeCheckpoint(const CheckpointRecord& record);
Result<CheckpointRecord> DecodeCheckpoint(std::string_view text);

}  // namespace native_runner
