#include "effects/checkpoint/rollback.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "effects/changes/scanned_tree.h"
#include "effects/checkpoint/checkpoints.h"
#include "effects/checkpoint/own_directory.h"
#include "effects/checkpoint/tree_copier.h"
#include "effects/tree/kept_file.h"
#include "policy/text/quote.h"

namespace native_runner {
namespace {

constexpr const char* kMark = "rollback";
constexpr const char* kNext = "next-";
constexpr const char* kOldUpper = "old-upper";
constexpr const char* kUpper = "upper";
constexpr const char* kLedger = "ledger";

std::string Next(const char* name) {
  return std::string(kNext) + name;
}

std::optional<Error> RemoveLeftovers(int transaction) {
  for (const std::string& name : {Next(kUpper), Next(kLedger), std::string(kOldUpper)}) {
    if (auto error = RemoveOwn(transaction, name)) return error;
  }
  return std::nullopt;
}

std::optional<Error> CopyBack(int transaction, int checkpoint) {
  // By O_PATH: the workspace's own mode, which the copy has, may keep its owner out.
  Descriptor kept(openat(checkpoint, kUpper, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!kept.valid()) return SystemError("openat", errno);
  const auto next = MakeOwn(transaction, Next(kUpper));
  if (!next) return next.error();
  return TreeCopier().Copy(ScannedTree(std::move(kept), true), next.value().get());
}

// All that takes time, and may fail, is done before the mark is there.
std::optional<Error> Prepare(int transaction, const std::string& id) {
  const auto checkpoint = OpenOwn(transaction, "checkpoints/" + id);
  if (!checkpoint) return checkpoint.error();
  if (auto error = CopyBack(transaction, checkpoint.value().get())) return error;
  const auto ledger = ReadWholeFile(checkpoint.value().get(), kLedger);
  if (!ledger) return ledger.error();
  const std::string& text = ledger.value().value_or("");
  if (auto error = ReplaceFile(transaction, Next(kLedger), text, false)) return error;
  if (syncfs(transaction) != 0) return SystemError("syncfs", errno);
  return ReplaceFile(transaction, kMark, id, true);
}

// What a kill in between has left of it is told by what is there.
std::optional<Error> Swap(int transaction) {
  const auto is_next = HoldsOwn(transaction, Next(kUpper));
  if (!is_next) return is_next.error();
  if (!is_next.value()) return std::nullopt;
  const auto is_old = HoldsOwn(transaction, kUpper);
  if (!is_old) return is_old.error();
  if (is_old.value()) {
    if (auto error = RenameOwn(transaction, kUpper, kOldUpper)) return error;
  }
  return RenameOwn(transaction, Next(kUpper), kUpper);
}

std::optional<Error> Finish(int transaction, const std::string& id) {
  if (auto error = Swap(transaction)) return error;
  const auto is_ledger = HoldsOwn(transaction, Next(kLedger));
  if (!is_ledger) return is_ledger.error();
  if (is_ledger.value()) {
    if (auto error = RenameOwn(transaction, Next(kLedger), kLedger)) return error;
  }
  if (auto error = DropLater(transaction, id)) return error;
  if (fsync(transaction) != 0) return SystemError("fsync", errno);
  if (unlinkat(transaction, kMark, 0) != 0) return SystemError("unlinkat", errno);
  if (fsync(transaction) != 0) return SystemError("fsync", errno);
  static_cast<void>(RemoveLeftovers(transaction));  // else the next one does it
  return std::nullopt;
}

Error NoSuch(const std::string& id) {
  return Error{ErrorCode::kInvalidValue, "there is no checkpoint " + QuotedShort(id) + " any more",
               "`checkpoints()` tells which there are; a commit and an undo end all of them"};
}

}  // namespace

bool NeedsRollback(int transaction) {
  const auto is_marked = HoldsOwn(transaction, kMark);
  return !is_marked || is_marked.value();
}

std::optional<Error> RollBackTo(int transaction, const std::string& id) {
  const auto records = ListCheckpoints(transaction);
  if (!records) return records.error();
  const auto is_it = [&id](const CheckpointRecord& record) { return record.id == id; };
  if (std::none_of(records.value().begin(), records.value().end(), is_it)) return NoSuch(id);
  if (auto error = RemoveLeftovers(transaction)) return error;
  if (auto error = Prepare(transaction, id)) {
    // Without the mark, nothing has begun.
    const bool is_gone = unlinkat(transaction, kMark, 0) == 0 || errno == ENOENT;
    if (is_gone) static_cast<void>(RemoveLeftovers(transaction));
    return error;
  }
  return Finish(transaction, id);
}

Result<bool> RecoverRollback(int transaction) {
  const auto mark = ReadWholeFile(transaction, kMark);
  if (!mark) return mark.error();
  if (mark.value()) {
    if (auto error = Finish(transaction, *mark.value())) return *error;
    return true;
  }
  if (auto error = RemoveLeftovers(transaction)) return *error;
  return false;
}

}  // namespace native_runner
