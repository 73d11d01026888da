#include "effects/transaction/transaction_list.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "effects/changes/scanned_tree.h"
#include "effects/transaction/state_directory.h"
#include "effects/tree/kept_file.h"
#include "supervise/os/descriptor.h"

namespace native_runner {
namespace {

constexpr int kNoLink = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

// Whether a process has the transaction open; nullopt where it has no lock, and so is not whole.
// Nobody can look at a lock but by taking it: shared, so that others may look too, and for a moment
// that whoever opens it waits for (TransactionDirectory::Open).
std::optional<bool> IsHeld(int transaction) {
  const Descriptor lock(openat(transaction, "lock", kNoLink));
  if (!lock.valid()) return std::nullopt;
  return flock(lock.get(), LOCK_SH | LOCK_NB) != 0;
}

// nullopt: there is none of this name, or it is not whole.
std::optional<ListedTransaction> Look(int state, const std::string& id) {
  if (!IsTransactionId(id)) return std::nullopt;
  const Descriptor directory(openat(state, id.c_str(), kNoLink | O_DIRECTORY));
  if (!directory.valid()) return std::nullopt;
  const auto text = ReadWholeFile(directory.get(), "record");
  if (!text || !text.value()) return std::nullopt;
  auto record = DecodeRecord(*text.value());
  if (!record || record->id != id) return std::nullopt;
  const auto is_held = IsHeld(directory.get());
  if (!is_held) return std::nullopt;
  ListedTransaction listed;
  listed.record = std::move(*record);
  listed.recovered = ForeseeRecovery(directory.get());
  listed.has_commit = HasCommit(directory.get());
  if (*is_held) {
    // A journal that is there may be of a commit under way.
    if (listed.recovered != Recovered::kTorn) listed.recovered = Recovered::kNothing;
    listed.state = ListedTransaction::State::kOpen;
  } else if (listed.recovered == Recovered::kTorn) {
    listed.state = ListedTransaction::State::kTorn;
  }
  return listed;
}

}  // namespace

Result<std::vector<ListedTransaction>> ListTransactions(const std::string& state) {
  const auto found = FindStateDirectory(state);
  if (!found) return found.error();
  std::vector<ListedTransaction> all;
  if (!found.value()) return all;
  auto readable = OpenPath(found.value()->path.c_str(), O_RDONLY | O_DIRECTORY);
  if (!readable) return readable.error();
  const ScannedDirectory directory(std::move(*readable));
  const auto names = directory.Names();
  if (!names) return names.error();
  for (const std::string& name : names.value())
    if (auto listed = Look(directory.descriptor(), name)) all.push_back(std::move(*listed));
  std::stable_sort(all.begin(), all.end(), [](const auto& one, const auto& other) {
    return one.record.created_ns < other.record.created_ns;
  });
  return all;
}

}  // namespace native_runner
