#include "effects/checkpoint/rollback.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "effects/changes/scanned_tree.h"
#include "effects/checkpoint/checkpoints.h"
#include "effects/checkpoint/own_directory.h"
#include "effects/checkpoint/second_copy.h"
#include "effects/checkpoint/tree_copier.h"
#include "effects/tree/kept_file.h"
#include "policy/text/quote.h"
#include "policy/transaction/copy_manifest.h"

namespace native_runner {
namespace {

constexpr const char* kMark = "rollback";

std::string Next(const char* name) {
  return std::string("next-") + name;
}

std::string Old(const char* name) {
  return std::string("old-") + name;
}

std::optional<Error> RemoveLeftovers(int transaction, const KeptNames& names) {
  for (const std::string& name : {Next(names.tree), Next(names.list), Old(names.tree),
                                  StagedName(Next(names.list)), StagedName(kMark)}) {
    if (auto error = RemoveOwn(transaction, name)) return error;
  }
  return std::nullopt;
}

// Gives the text of what goes with the tree.
Result<std::string> CopyBack(const ScannedTree& kept, const std::string& list, int to,
                             const KeptNames& names) {
  if (!names.is_copy) {
    if (auto error = TreeCopier().Copy(kept, to)) return *error;
    return list;
  }
  auto manifest = DecodeManifest(list);
  if (!manifest) return manifest.error();
  const auto next = CopyOnceMore(kept, ChangedBy::kNobody, to, &*manifest);
  if (!next) return next.error();
  return EncodeManifest(next.value());
}

// All that takes time, and may fail, is done before the mark is there.
std::optional<Error> Prepare(int transaction, const KeptNames& names, const std::string& id) {
  const auto checkpoint = OpenOwn(transaction, "checkpoints/" + id);
  if (!checkpoint) return checkpoint.error();
  const int from = checkpoint.value().get();
  // By O_PATH: the workspace's own mode, which the copy has, may keep its owner out.
  Descriptor kept(openat(from, names.tree, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!kept.valid()) return SystemError("openat", errno);
  const auto list = ReadWholeFile(from, names.list);
  if (!list) return list.error();
  const auto next = MakeOwn(transaction, Next(names.tree));
  if (!next) return next.error();
  const ScannedTree tree(std::move(kept), true);
  const auto text = CopyBack(tree, list.value().value_or(""), next.value().get(), names);
  if (!text) return text.error();
  if (auto error = ReplaceFile(transaction, Next(names.list), text.value(), false)) return error;
  if (syncfs(transaction) != 0) return SystemError("syncfs", errno);
  return ReplaceFile(transaction, kMark, id, true);
}

// What a kill in between has left of it is told by what is there.
std::optional<Error> Swap(int transaction, const char* tree) {
  const auto is_next = HoldsOwn(transaction, Next(tree));
  if (!is_next) return is_next.error();
  if (!is_next.value()) return std::nullopt;
  const auto is_old = HoldsOwn(transaction, tree);
  if (!is_old) return is_old.error();
  if (is_old.value()) {
    if (auto error = RenameOwn(transaction, tree, Old(tree))) return error;
  }
  return RenameOwn(transaction, Next(tree), tree);
}

std::optional<Error> Finish(int transaction, const KeptNames& names, const std::string& id) {
  if (auto error = Swap(transaction, names.tree)) return error;
  const auto is_list = HoldsOwn(transaction, Next(names.list));
  if (!is_list) return is_list.error();
  if (is_list.value()) {
    if (auto error = RenameOwn(transaction, Next(names.list), names.list)) return error;
  }
  if (auto error = DropLater(transaction, id)) return error;
  if (fsync(transaction) != 0) return SystemError("fsync", errno);
  if (unlinkat(transaction, kMark, 0) != 0) return SystemError("unlinkat", errno);
  // It is done, whatever comes of this: of a mark that a loss of power brings back, nothing.
  static_cast<void>(fsync(transaction));
  static_cast<void>(RemoveLeftovers(transaction, names));  // else the next one does it
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

std::optional<Error> RollBackTo(int transaction, const KeptNames& names, const std::string& id) {
  const auto earlier = RecoverRollback(transaction, names);
  if (!earlier) return earlier.error();
  const auto records = ListCheckpoints(transaction);
  if (!records) return records.error();
  const auto is_it = [&id](const CheckpointRecord& record) { return record.id == id; };
  if (std::none_of(records.value().begin(), records.value().end(), is_it)) return NoSuch(id);
  if (auto error = Prepare(transaction, names, id)) {
    // Without the mark, nothing has begun.
    const bool is_gone = unlinkat(transaction, kMark, 0) == 0 || errno == ENOENT;
    if (is_gone) static_cast<void>(RemoveLeftovers(transaction, names));
    return error;
  }
  return Finish(transaction, names, id);
}

Result<bool> RecoverRollback(int transaction, const KeptNames& names) {
  const auto mark = ReadWholeFile(transaction, kMark);
  if (!mark) return mark.error();
  if (mark.value()) {
    if (auto error = Finish(transaction, names, *mark.value())) return *error;
    return true;
  }
  if (auto error = RemoveLeftovers(transaction, names)) return *error;
  return false;
}

}  // namespace native_runner
