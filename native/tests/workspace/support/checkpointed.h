#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/workspace/support/changed_project.h"
#include "tests/workspace/support/copied_project.h"
#include "tests/workspace/support/listing.h"
#include "tests/workspace/support/stepping.h"
#include "workspace/transaction/checkpoints.h"

namespace native_runner {

// A transaction with changes, an overlay or a copy, whose directory has all that one has on disk.
class Checkpointed {
 public:
  explicit Checkpointed(const CheckpointNames& names) : names_(names) {
    if (names.is_copy) {
      copy_.emplace().Change();
      KeepManifest(copy_->copied().manifest);
      // Changes of the host alone, which are not reported as long as the copy is known to have none
      // there.
      at().Put("same", "of the host since");
      at().Put("dir/y", "of the host since");
    } else {
      overlay_.emplace();
      ledger_.looked_ns = 7;
      std::filesystem::create_directories(at().place().Path("state/work"));
      at().place().Write("state/ledger", EncodeLedger(ledger_));
    }
    state_ = Overlay::Open(at().place().Path("state"));
  }

  const Overlay& at() const { return names_.is_copy ? copy_->overlay() : overlay_->overlay(); }
  int state() const { return state_.get(); }
  const CheckpointNames& names() const { return names_; }
  bool Has(const std::string& name) const { return at().place().Has("state/" + name); }

  Result<CheckpointRecord> Make(const std::string& name = "") const {
    CopyManifest manifest = Manifest();
    return Make(name, &manifest);
  }
  // Makes a checkpoint with the manifest that the copy already has.
  Result<CheckpointRecord> Make(const std::string& name, CopyManifest* manifest) const {
    if (!names_.is_copy) return MakeCheckpoint(state(), name, ledger_);
    return MakeCheckpoint(state(), name, copy_->copied().ledger, manifest);
  }
  std::optional<Error> RollBack(const std::string& id) const {
    auto error = RollBackTo(state(), names_, id);
    if (!error) Settled(state());
    return error;
  }
  Result<bool> Recover() const { return RecoverRollback(state(), names_); }
  std::vector<std::string> Ids() const {
    std::vector<std::string> ids;
    const auto records = ListCheckpoints(state());
    EXPECT_TRUE(records);
    if (!records) return ids;
    for (const CheckpointRecord& record : records.value())
      ids.push_back(record.id);
    return ids;
  }

  // Makes changes of all kinds after the checkpoint.
  void ChangeMore() const {
    namespace fs = std::filesystem;
    at().Change("a", "later");
    at().Change("later/deep/file", "new");
    fs::remove_all(at().Upper("made"));
    fs::remove(at().Upper("link"));
    fs::create_symlink("elsewhere", at().Upper("link"));
    chmod(at().Upper("dir").c_str(), 0711);
    if (names_.is_copy) {
      at().Change("same", "later");
    } else {
      at().place().Write("state/ledger", "another");
    }
  }

  // Returns everything that a rollback restores: the tree, and as "" the ledger. For a copy, "" is
  // the report of its changes, since the files of another copy have other inodes.
  std::map<std::string, std::string> Seen() const {
    auto seen = ListingOf(at().Upper());
    seen[""] = names_.is_copy ? Reported() : at().place().Read("state/ledger");
    return seen;
  }
  // Returns the changes that are reported of a copy.
  std::string Reported() const {
    const auto changes =
        ScanCopy(at().UpperTree(), at().HostTree(), Manifest(), copy_->copied().ledger);
    EXPECT_TRUE(changes) << changes.error().message;
    std::string told;
    if (!changes) return told;
    for (const Change& change : changes.value())
      told += change.path + (change.conflict ? "! " : " ");
    return told;
  }

  // Empty of an overlay.
  CopyManifest Manifest() const {
    if (!names_.is_copy) return CopyManifest();
    auto manifest = DecodeManifest(at().place().Read("state/copies"));
    EXPECT_TRUE(manifest);
    return manifest ? std::move(*manifest) : CopyManifest();
  }
  void KeepManifest(const CopyManifest& manifest) const {
    at().place().Write("state/copies", EncodeManifest(manifest));
  }

  // A rollback leaves the files that it has replaced to RemoveReplaced.
  bool HasReplaced() const { return Has("old-" + std::string(names_.tree)); }
  void RemoveReplaced() const { native_runner::RemoveReplaced(state_.get(), names_); }

  // Expects no file that exists only during a rollback, once what was done is noted.
  void ExpectTidy() const {
    Settled(state());
    const std::string tree = names_.tree;
    const std::string list = names_.list;
    std::set<std::string> expected = {tree, list, "checkpoints"};
    if (!names_.is_copy) expected.insert("work");
    if (Has("commit")) expected.insert("commit");
    std::set<std::string> left;
    for (const auto& entry : std::filesystem::directory_iterator(at().place().Path("state")))
      left.insert(entry.path().filename());
    EXPECT_EQ(left, expected);
  }

 private:
  CheckpointNames names_;
  std::optional<ChangedProject> overlay_;
  std::optional<CopiedProject> copy_;
  Descriptor state_;
  native_runner::Ledger ledger_;
};

// The tests that are the same for both.
class EachKindTest : public testing::TestWithParam<CheckpointNames> {
 protected:
  EachKindTest() : project(GetParam()) {}

  const Checkpointed project;
};

// As StepsApart, but four times as far for a copy, which takes more calls, most of them alike.
inline int StepsApart(const CheckpointNames& names, int usual) {
  constexpr int kFactor = 4;
  return StepsApart(names.is_copy ? kFactor * usual : usual);
}

inline std::string KindOf(const testing::TestParamInfo<CheckpointNames>& given) {
  return given.param.is_copy ? "Copy" : "Overlay";
}

}  // namespace native_runner
