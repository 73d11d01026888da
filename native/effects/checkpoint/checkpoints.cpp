#include "effects/checkpoint/checkpoints.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <utility>

#include "effects/changes/scanned_tree.h"
#include "effects/checkpoint/kept_names.h"
#include "effects/checkpoint/own_directory.h"
#include "effects/checkpoint/second_copy.h"
#include "effects/checkpoint/tree_copier.h"
#include "effects/checkpoint/was_written.h"
#include "effects/tree/kept_file.h"
#include "effects/tree/new_id.h"
#include "policy/transaction/transaction_record.h"
#include "supervise/os/file_clock.h"

namespace native_runner {
namespace {

constexpr const char* kAll = "checkpoints";
constexpr const char* kMaking = "new-";
constexpr const char* kGoing = "gone-";
constexpr const char* kRecord = "record";
constexpr int kMostTries = 3;

std::uint64_t NowNs() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(now.tv_nsec);
}

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
  const auto text = ReadWholeFile(directory.value().get(), kRecord);
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

  const KeptNames& names() const { return copies == nullptr ? kOverlayNames : kCopyNames; }
};

// The text of what goes with the tree.
Result<std::string> CopyInto(const ScannedTree& tree, int to, const Source& source) {
  if (source.copies != nullptr) {
    const auto manifest = CopyOnceMore(tree, ChangedBy::kCommands, to, source.copies);
    if (!manifest) return manifest.error();
    return EncodeManifest(manifest.value());
  }
  if (auto error = TreeCopier().Copy(tree, to)) return *error;
  return EncodeLedger(source.ledger);
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
                                        const Ledger& ledger, CopyManifest* copies) {
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
  const auto failed = CopyAll(transaction, all->get(), staged, {ledger, copies});
  if (copies != nullptr && HasShutFiles(*copies)) {
    // One that can't be kept tells of more changes later, never of less.
    static_cast<void>(ReplaceFile(transaction, kCopyNames.list, EncodeManifest(*copies), false));
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
  auto error = ReplaceFile(made.value().get(), kRecord, EncodeCheckpoint(record), false);
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

}  // namespace native_runner
