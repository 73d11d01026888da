#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "policy/result.h"
#include "protocol/identity.h"

namespace native_runner {

inline constexpr char kOverlayBackend[] = "overlay";
inline constexpr char kCopyBackend[] = "copy";

// What is kept on disk of a transaction besides the files: enough to list it, and to go on with it
// in another process. Plain data.
struct TransactionRecord {
  std::string id;            // see IsTransactionId
  std::string workspace;     // the real path
  FileIdentity identity;     // of the workspace, as the transaction was opened
  std::string backend;       // one of the above
  std::uint64_t created_ns;  // since 1970 (CLOCK_REALTIME)
};

// Twelve of 0-9a-f, so that it is a file's name, and no option, everywhere.
bool IsTransactionId(std::string_view id);

// Lines of NAME=VALUE, each ended by a NUL: a path may hold anything else. Decoding takes nothing
// but what encoding gives; kSetup says what is wrong.
std::string EncodeRecord(const TransactionRecord& record);
Result<TransactionRecord> DecodeRecord(std::string_view text);

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

// As a transaction's record. Decoding takes nothing but what encoding gives: kSetup.
std::string EncodeCheckpoint(const CheckpointRecord& record);
Result<CheckpointRecord> DecodeCheckpoint(std::string_view text);

}  // namespace native_runner
