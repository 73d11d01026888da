#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "policy/result.h"
#include "protocol/file_identity.h"

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

}  // namespace native_runner
