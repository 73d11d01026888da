#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "policy/result.h"
#include "policy/transaction/host_file.h"

namespace native_runner {

// What the host had at a path when the transaction was seen to have changed it.
struct Baseline {
  // Nothing had changed it in the transaction before this moment. What lies below a directory that
  // the transaction has removed is judged by it.
  std::uint64_t since_ns = 0;
  // The host may have changed it between the transaction's change and the look: it counts as if it
  // had, for good.
  bool is_suspect = false;
  std::optional<HostFile> host;  // nullopt: it had nothing
};

// The baselines of all that a transaction has changed, by path ("." is the workspace). A path is
// noted once, and forgotten only when the transaction has no change there any more. Plain data.
struct Ledger {
  // When the last look began: what it has not noted was changed later.
  std::uint64_t looked_ns = 0;
  std::map<std::string, Baseline, std::less<>> baselines;
};

// Whether the host has something else at a path than the baseline says. `now`: what it has;
// `is_hidden`: a directory of the host's there, if it is one, is no longer seen in the transaction,
// so that a name more or less in it is a change too.
bool HostHasChanged(const Baseline& baseline, const std::optional<HostFile>& now, bool is_hidden);

// From when on a change of the host's to a path counts that has no baseline: as for the lowest
// directory above it that has one, or from the last look on.
std::uint64_t SinceAbove(const Ledger& ledger, std::string_view path);

// As it is kept on disk. Decoding takes nothing but what encoding gives: kSetup.
std::string EncodeLedger(const Ledger& ledger);
Result<Ledger> DecodeLedger(std::string_view text);

}  // namespace native_runner
