#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "policy/result.h"
#include "protocol/identity.h"

namespace native_runner {

inline constexpr char kOverlayBackend[] = "overlay";
inline constexpr char kCopyBackend[] = "copy";

// The record on disk of a transaction besides its files: enough to list it and to resume it in
// another process. Plain data.
struct TransactionRecord {
  std::string id;            // see IsTransactionId
  std::string workspace;     // the real path
  FileIdentity identity;     // of the workspace when the transaction was opened
  std::string backend;       // one of the above
  std::uint64_t created_ns;  // since 1970 (CLOCK_REALTIME)
  std::string parent = {};   // the transaction that it was forked from; "": none
};

// True for twelve of 0-9a-f, which is a valid file name, and not an option, everywhere.
bool IsTransactionId(std::string_view id);

// Encode and decode lines of NAME=VALUE, each ended by a NUL, since a path may contain any other
// byte. Decoding accepts only text that encoding makes, else returns kSetup with the fault.
std::string EncodeRecord(const TransactionRecord& record);
Result<TransactionRecord> DecodeRecord(std::string_view text);

// The record on disk of a checkpoint besides its files. Plain data.
struct CheckpointRecord {
  std::string id;                // like a transaction's: IsTransactionId
  std::string name;              // given by the user; "" if none was given
  std::uint64_t order = 0;       // later checkpoints have greater numbers
  std::uint64_t created_ns = 0;  // since 1970 (CLOCK_REALTIME)
  // The transaction's last commit when the checkpoint was made; "" for none. Another commit, or
  // taking this one back, makes the checkpoint invalid.
  std::string commit;
};

// Encode and decode like a transaction's record. Decoding accepts only text that encoding makes,
// else returns kSetup.
std::string EncodeCheckpoint(const CheckpointRecord& record);
Result<CheckpointRecord> DecodeCheckpoint(std::string_view text);

}  // namespace native_runner
