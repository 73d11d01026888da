#include "workspace/transaction/checkpoints.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <utility>

#include "policy/text/text.h"
#include "supervise/os/descriptor.h"
#include "supervise/os/file.h"
#include "workspace/copy/tree_copier.h"
#include "workspace/transaction/transaction_directory.h"
#include "workspace/tree/scanned_tree.h"
#include "workspace/tree/staged_file.h"

namespace native_runner {
namespace {

bool IsLater(const Node& node, std::uint64_t since_ns) {
  const std::uint32_t wanted = node.is_directory() ? S_IRWXU : S_IRUSR;
  const bool is_shut = (node.is_directory() || node.is_file()) && (node.mode & wanted) != wanted;
  return (is_shut ? node.modified_ns : node.changed_ns) >= since_ns;
}

// Whether anything in the tree was changed at that moment, by the clock of files' times
// (FileClock), or later. Of a file or directory that keeps its owner out the mode may have been
// changed by who has looked at it: of these, only a change of what is in them is told. kSetup where
// something can't be read.
Result<bool> WasWritten(const ScannedTree& tree, std::uint64_t since_ns) {
  const auto top = NodeOf(tree.root());
  if (!top) return top.error();
  if (IsLater(top.value(), since_ns)) return true;
  std::vector<std::string> waiting = {""};
  while (!waiting.empty()) {
    const std::string path = std::move(waiting.back());
    waiting.pop_back();
    const auto directory = tree.OpenIfThere(path);
    if (!directory) return directory.error();
    if (!directory.value()) return true;
    const auto names = directory.value()->Names();
    if (!names) return names.error();
    for (const std::string& name : names.value()) {
      const auto node = directory.value()->Look(name);
      if (!node) return node.error();
      if (!node.value() || IsLater(*node.value(), since_ns)) return true;
      if (node.value()->is_directory()) waiting.push_back(path.empty() ? name : path + "/" + name);
    }
  }
  return false;
}

constexpr const char* kAll = "checkpoints";
constexpr const char* kMaking = "new-";
constexpr const char* kGoing = "gone-";
constexpr const char* kRecordFile = "record";
constexpr int kMostTries = 3;

// Tells the transaction's last commit, if it has one that was not taken back, from every other.
Result<std::string> LastCommit(int transaction) {
  struct stat status {};
  if (fstatat(transaction, "commit/done", &status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return std::string();
    return SystemError("fstatat", errno);
  }
  return std::to_string(status.st_ino) + ":" + std::to_string(status.st_mtim.tv_sec) + "." +
         std::to_string(status.st_mtim.tv_nsec);
}

// Empty where there are none yet.
Result<std::vector<std::string>> NamesIn(int transaction) {
  const auto is_there = HoldsOwn(transaction, kAll);
  if (!is_there) return is_there.error();
  if (!is_there.value()) return std::vector<std::string>();
  auto all = OpenOwn(transaction, kAll);
  if (!all) return all.error();
  return ScannedDirectory(std::move(*all)).Names();
}

// One whose name it is; nullopt: it is none any more.
Result<std::optional<CheckpointRecord>> Read(int transaction, const std::string& id) {
  const auto directory = OpenOwn(transaction, std::string(kAll) + "/" + id);
  if (!directory) return directory.error();
  const auto text = ReadWholeFile(directory.value().get(), kRecordFile);
  if (!text) return text.error();
  auto record = DecodeCheckpoint(text.value().value_or(""));
  // As a loss of power leaves what had just been made.
  if (!record) return std::optional<CheckpointRecord>();
  const auto commit = LastCommit(transaction);
  if (!commit) return commit.error();
  if (record->commit != commit.value()) return std::optional<CheckpointRecord>();
  return std::optional(std::move(*record));
}

// At once for whoever looks for it, then in as long as it takes.
std::optional<Error> Drop(int transaction, const std::string& id) {
  const auto all = OpenOwn(transaction, kAll);
  if (!all) return all.error();
  const std::string gone = kGoing + id;
  if (auto error = RenameOwn(all.value().get(), id, gone)) return error;
  return RemoveOwn(all.value().get(), gone);
}

// What a checkpoint is made of.
struct Source {
  const Ledger& ledger;
  CopyManifest* copies;  // nullptr: an overlay
  const FileSystemList& file_systems;

  const CheckpointNames& names() const { return copies == nullptr ? kOverlayNames : kCopyNames; }
};

// The text of what goes with the tree.
Result<std::string> CopyInto(const ScannedTree& tree, int to, const Source& source) {
  if (source.copies != nullptr) {
    const auto manifest = CopyOnceMore(tree, ChangedBy::kCommands, to, source.copies);
    if (!manifest) return manifest.error();
    return WithFileSystems(source.file_systems, EncodeManifest(manifest.value()));
  }
  if (auto error = TreeCopier().Copy(tree, to)) return *error;
  return WithFileSystems(source.file_systems, EncodeLedger(source.ledger));
}

std::optional<Error> Fill(const ScannedTree& tree, int checkpoint, const Source& source) {
  const auto copy = MakeOwn(checkpoint, source.names().tree);
  if (!copy) return copy.error();
  const auto text = CopyInto(tree, copy.value().get(), source);
  if (!text) return text.error();
  return ReplaceFile(checkpoint, source.names().list, text.value(), false);
}

Result<ScannedTree> OpenTree(int transaction, const char* name) {
  Descriptor tree(openat(transaction, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!tree.valid()) return SystemError("openat", errno);
  return ScannedTree(std::move(tree), true);
}

// Nothing is left of one that fails.
std::optional<Error> CopyAll(int transaction, int all, const std::string& name,
                             const Source& source) {
  const auto tree = OpenTree(transaction, source.names().tree);
  if (!tree) return tree.error();
  for (int left = kMostTries; left > 0; --left) {
    const auto checkpoint = MakeOwn(all, name);
    if (!checkpoint) return checkpoint.error();
    const std::uint64_t since = WaitForTick();
    auto failed = Fill(tree.value(), checkpoint.value().get(), source);
    const auto was_written = WasWritten(tree.value(), since);
    if (!failed && was_written && !was_written.value()) return std::nullopt;
    if (auto error = RemoveOwn(all, name)) return error;
    if (!was_written) return was_written.error();
    if (!was_written.value()) return failed;
  }
  return Error{ErrorCode::kSetup, "something in the transaction goes on writing to its files",
               "end it, then make the checkpoint"};
}

}  // namespace

Result<CheckpointRecord> MakeCheckpoint(int transaction, const std::string& name,
                                        const Ledger& ledger, CopyManifest* copies,
                                        const FileSystemList& file_systems) {
  if (auto error = TidyCheckpoints(transaction)) return *error;
  const auto earlier = ListCheckpoints(transaction);
  if (!earlier) return earlier.error();
  auto id = NewId();
  if (!id) return id.error();
  const auto is_there = HoldsOwn(transaction, kAll);
  if (!is_there) return is_there.error();
  auto commit = LastCommit(transaction);
  if (!commit) return commit.error();
  auto all = is_there.value() ? OpenOwn(transaction, kAll) : MakeOwn(transaction, kAll);
  if (!all) return all.error();
  const std::string staged = kMaking + *id;
  const auto failed = CopyAll(transaction, all->get(), staged, {ledger, copies, file_systems});
  if (copies != nullptr && HasShutFiles(*copies)) {
    // One that can't be kept tells of more changes later, never of less.
    const std::string text = WithFileSystems(file_systems, EncodeManifest(*copies));
    static_cast<void>(ReplaceFile(transaction, kCopyNames.list, text, false));
  }
  if (failed) return *failed;
  CheckpointRecord record;
  record.id = std::move(*id);
  record.name = name;
  record.order = earlier.value().empty() ? 1 : earlier.value().back().order + 1;
  record.created_ns = NowNs();
  record.commit = std::move(*commit);
  const auto made = OpenOwn(all->get(), staged);
  if (!made) return made.error();
  auto error = ReplaceFile(made.value().get(), kRecordFile, EncodeCheckpoint(record), false);
  if (!error) error = RenameOwn(all->get(), staged, record.id);
  if (!error) return record;
  static_cast<void>(RemoveOwn(all->get(), staged));
  return *error;
}

Result<std::vector<CheckpointRecord>> ListCheckpoints(int transaction) {
  const auto names = NamesIn(transaction);
  if (!names) return names.error();
  std::vector<CheckpointRecord> records;
  for (const std::string& name : names.value()) {
    if (!IsTransactionId(name)) continue;
    auto record = Read(transaction, name);
    if (!record) return record.error();
    if (*record) records.push_back(std::move(**record));
  }
  std::sort(records.begin(), records.end(),
            [](const auto& one, const auto& other) { return one.order < other.order; });
  return records;
}

std::optional<Error> TidyCheckpoints(int transaction) {
  const auto names = NamesIn(transaction);
  if (!names) return names.error();
  for (const std::string& name : names.value()) {
    std::optional<Error> error;
    if (IsTransactionId(name)) {
      const auto record = Read(transaction, name);
      if (!record) return record.error();
      if (!record.value()) error = Drop(transaction, name);
    } else {
      const auto all = OpenOwn(transaction, kAll);
      error = all ? RemoveOwn(all.value().get(), name) : std::optional(all.error());
    }
    if (error) return error;
  }
  return std::nullopt;
}

std::optional<Error> DropLater(int transaction, const std::string& id) {
  const auto records = ListCheckpoints(transaction);
  if (!records) return records.error();
  std::uint64_t order = 0;
  for (const CheckpointRecord& record : records.value())
    if (record.id == id) order = record.order;
  for (const CheckpointRecord& record : records.value()) {
    if (order == 0 || record.order <= order) continue;
    if (auto error = Drop(transaction, record.id)) return error;
  }
  return std::nullopt;
}

namespace {

constexpr const char* kMark = "rollback";
constexpr const char* kSettling = "settling";

std::string Next(const char* name) {
  return std::string("next-") + name;
}

std::string Old(const char* name) {
  return std::string("old-") + name;
}

std::optional<Error> RemoveLeftovers(int transaction, const CheckpointNames& names,
                                     bool may_stop = false) {
  for (const std::string& name : {Next(names.tree), Next(names.list), Old(names.tree), NextWork(),
                                  StagedName(Next(names.list)), StagedName(kMark)}) {
    if (auto error = RemoveOwn(transaction, name, may_stop)) return error;
  }
  return std::nullopt;
}

// Gives the text of what goes with the tree.
Result<std::string> CopyBack(const ScannedTree& kept, const std::string& list, int to,
                             const CheckpointNames& names, const FileSystemList& file_systems) {
  if (!names.is_copy) {
    if (auto error = TreeCopier().Copy(kept, to)) return *error;
    return list;
  }
  auto manifest = DecodeRenumbered(list, file_systems, DecodeManifest);
  if (!manifest) return manifest.error();
  const auto next = CopyOnceMore(kept, ChangedBy::kNobody, to, &*manifest);
  if (!next) return next.error();
  return WithFileSystems(file_systems, EncodeManifest(next.value()));
}

using FillNext = std::function<Result<std::string>(int tree)>;

// Gives what fills the tree with what a checkpoint has.
FillNext FromCheckpoint(int transaction, const CheckpointNames& names, const std::string& id,
                        const FileSystemList& file_systems) {
  return [=, &file_systems](int next) -> Result<std::string> {
    const auto checkpoint = OpenOwn(transaction, "checkpoints/" + id);
    if (!checkpoint) return checkpoint.error();
    const int from = checkpoint.value().get();
    // By O_PATH: the workspace's own mode, which the copy has, may keep its owner out.
    Descriptor kept(openat(from, names.tree, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!kept.valid()) return SystemError("openat", errno);
    const auto list = ReadWholeFile(from, names.list);
    if (!list) return list.error();
    const ScannedTree tree(std::move(kept), true);
    return CopyBack(tree, list.value().value_or(""), next, names, file_systems);
  };
}

std::optional<Error> CopyCheckpoint(int from, int all, CheckpointRecord record,
                                    const CheckpointNames& names,
                                    const FileSystemList& file_systems) {
  const auto made = MakeOwn(all, record.id);
  if (!made) return made.error();
  const auto tree = MakeOwn(made.value().get(), names.tree);
  if (!tree) return tree.error();
  const auto text = FromCheckpoint(from, names, record.id, file_systems)(tree.value().get());
  if (!text) return text.error();
  if (auto error = ReplaceFile(made.value().get(), names.list, text.value(), false)) return error;
  record.commit.clear();
  return ReplaceFile(made.value().get(), kRecordFile, EncodeCheckpoint(record), false);
}

// All that takes time, and may fail, is done before the mark is there.
std::optional<Error> Prepare(int transaction, const CheckpointNames& names, const std::string& mark,
                             const FillNext& fill) {
  const auto next = MakeOwn(transaction, Next(names.tree));
  if (!next) return next.error();
  const auto text = fill(next.value().get());
  if (!text) return text.error();
  if (auto error = ReplaceFile(transaction, Next(names.list), text.value(), false)) return error;
  if (syncfs(transaction) != 0) return SystemError("syncfs", errno);
  return ReplaceFile(transaction, kMark, mark, true);
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

std::optional<Error> Finish(int transaction, const CheckpointNames& names, const std::string& id) {
  if (auto error = Swap(transaction, names.tree)) return error;
  const auto is_list = HoldsOwn(transaction, Next(names.list));
  if (!is_list) return is_list.error();
  if (is_list.value()) {
    if (auto error = RenameOwn(transaction, Next(names.list), names.list)) return error;
  }
  if (auto error = DropLater(transaction, id)) return error;
  if (fsync(transaction) != 0) return SystemError("fsync", errno);
  if (auto error = RenameOwn(transaction, kMark, kSettling)) return error;
  // It is done, whatever comes of this: of a mark that a loss of power brings back, nothing.
  static_cast<void>(fsync(transaction));
  return std::nullopt;
}

std::optional<Error> Replace(int transaction, const CheckpointNames& names, const std::string& mark,
                             const FillNext& fill) {
  if (auto error = Prepare(transaction, names, mark, fill)) {
    // Without the mark, nothing has begun.
    const bool is_gone = unlinkat(transaction, kMark, 0) == 0 || errno == ENOENT;
    if (is_gone) static_cast<void>(RemoveLeftovers(transaction, names));
    return error;
  }
  return Finish(transaction, names, mark);
}

Error NoSuchCheckpoint(const std::string& id) {
  return Error{ErrorCode::kInvalidValue, "there is no checkpoint " + QuotedShort(id) + " any more",
               "`checkpoints()` tells which there are; a commit and an undo end all of them"};
}

}  // namespace

std::optional<Error> CopyCheckpoints(int transaction, int to, const CheckpointNames& names,
                                     const FileSystemList& file_systems) {
  const auto records = ListCheckpoints(transaction);
  if (!records) return records.error();
  if (records.value().empty()) return std::nullopt;
  const auto all = MakeOwn(to, kAll);
  if (!all) return all.error();
  for (const CheckpointRecord& record : records.value()) {
    if (auto error = CopyCheckpoint(transaction, all.value().get(), record, names, file_systems)) {
      return error;
    }
  }
  return std::nullopt;
}

bool NeedsRollback(int transaction) {
  const auto is_marked = HoldsOwn(transaction, kMark);
  return !is_marked || is_marked.value();
}

std::optional<Error> RollBackTo(int transaction, const CheckpointNames& names,
                                const std::string& id, const FileSystemList& file_systems) {
  const auto earlier = RecoverRollback(transaction, names);
  if (!earlier) return earlier.error();
  const auto records = ListCheckpoints(transaction);
  if (!records) return records.error();
  const auto is_it = [&id](const CheckpointRecord& record) { return record.id == id; };
  if (std::none_of(records.value().begin(), records.value().end(), is_it))
    return NoSuchCheckpoint(id);
  return Replace(transaction, names, id, FromCheckpoint(transaction, names, id, file_systems));
}

std::optional<Error> ReplaceChanges(int transaction, const CheckpointNames& names,
                                    const std::string& mark, const FillNext& fill) {
  const auto earlier = RecoverRollback(transaction, names);
  if (!earlier) return earlier.error();
  return Replace(transaction, names, mark, fill);
}

Result<std::optional<std::string>> ToBeSettled(int transaction) {
  return ReadWholeFile(transaction, kSettling);
}

void Settled(int transaction) {
  static_cast<void>(unlinkat(transaction, kSettling, 0));
}

std::string NextWork() {
  return Next("work");
}

std::string NextTree(const CheckpointNames& names) {
  return Next(names.tree);
}

void RemoveReplaced(int transaction, const CheckpointNames& names) {
  if (NeedsRollback(transaction)) return;  // it is still to be completed, by what is left of them
  static_cast<void>(RemoveLeftovers(transaction, names, true));  // else the next one does it
}

Result<bool> RecoverRollback(int transaction, const CheckpointNames& names) {
  const auto mark = ReadWholeFile(transaction, kMark);
  if (!mark) return mark.error();
  if (mark.value()) {
    if (auto error = Finish(transaction, names, *mark.value())) return *error;
    RemoveReplaced(transaction, names);
    return true;
  }
  if (auto error = RemoveLeftovers(transaction, names)) return *error;
  return false;
}

}  // namespace native_runner
