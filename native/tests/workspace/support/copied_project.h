#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "supervise/os/file.h"
#include "tests/workspace/support/changed_project.h"
#include "workspace/changes/scan.h"
#include "workspace/commit/choose.h"
#include "workspace/commit/commit.h"
#include "workspace/transaction/copied_workspace.h"

namespace native_runner {

// A project, and a copy of it, in which a bit of everything may be changed. The directory of the
// overlay's that holds changes is the copy.
class CopiedProject {
 public:
  explicit CopiedProject(bool is_apart = false) : overlay_(is_apart, "tree") {
    for (const char* name : {"a", "b", "dir/x", "dir/y", "gone/one", "gone/sub/two", "to-dir",
                             "to-file/inner", "same"})
      overlay_.Put(name, std::string("host ") + name);
    std::filesystem::create_symlink("a", overlay_.Host("link"));
    std::filesystem::create_hard_link(overlay_.Host("a"), overlay_.Host("hard"));
    Copy();
  }

  void Copy() {
    const Descriptor to = UpperTop();
    auto copied = CopyTree(overlay_.HostTree(), to.get(), kMost, &progress_);
    ASSERT_TRUE(copied) << copied.error().message;
    copied_ = std::move(*copied);
    WaitForTick();
  }

  void Change() const {
    namespace fs = std::filesystem;
    overlay_.Change("a", "mine a");
    chmod(Mine("b").c_str(), 0750);
    overlay_.Change("dir/x", "mine x");
    overlay_.Change("dir/new", "mine new");
    chmod(Mine("dir").c_str(), 0700);
    fs::remove_all(Mine("gone"));
    fs::remove(Mine("to-dir"));
    overlay_.Change("to-dir/made", "mine made");
    fs::remove_all(Mine("to-file"));
    overlay_.Change("to-file", "mine file");
    overlay_.Change("made/deep/file", "mine deep");
    fs::remove(Mine("link"));
    fs::create_symlink("dir", Mine("link"));
  }

  std::string Mine(std::string_view name) const { return overlay_.Upper(name); }
  const Overlay& overlay() const { return overlay_; }
  const CopiedTree& copied() const { return copied_; }
  TreeText Host() const { return TextOfTree(overlay_.Host()); }
  TreeText Copies() const { return TextOfTree(overlay_.Upper()); }

  std::vector<struct Change> Changes() const {
    auto changes =
        ScanCopy(overlay_.UpperTree(), overlay_.HostTree(), copied_.manifest, copied_.ledger);
    EXPECT_TRUE(changes) << changes.error().message;
    return changes ? std::move(*changes) : std::vector<struct Change>();
  }
  // Lists the changes by their paths, with a mark for each conflict.
  std::string Paths() const {
    std::string paths;
    for (const auto& change : Changes())
      paths += change.path + (change.conflict ? "! " : " ");
    return paths;
  }

  CommitEnd Commit() const {
    const auto chosen = ChooseChanges(Changes(), CommitRequest()).chosen;
    CommitEnd end = CommitChanges(State().get(), HostTop().get(), UpperTop().get(), chosen,
                                  copied_.ledger, &copied_.manifest);
    if (!end.failed) ForgetPlan(State().get());
    return end;
  }
  CommitEnd Undo() const {
    CommitEnd end = UndoCommit(State().get(), HostTop().get(), UpperTop().get());
    if (!end.failed) ForgetUndone(State().get());
    return end;
  }
  Result<Recovery> Recover() const {
    return RecoverCommit(State().get(), HostTop().get(), UpperTop().get());
  }
  std::size_t BesideHost() const {
    const std::filesystem::directory_iterator names(overlay_.host_place().path());
    return static_cast<std::size_t>(std::distance(begin(names), end(names))) - 1;
  }

  Descriptor State() const { return Overlay::Open(overlay_.place().Path("state")); }
  Descriptor HostTop() const { return Overlay::Open(overlay_.Host()); }
  Descriptor UpperTop() const { return Overlay::Open(overlay_.Upper()); }

 private:
  static constexpr std::uint64_t kMost = std::uint64_t{1} << 30U;

  Overlay overlay_;
  CopyProgress progress_;
  CopiedTree copied_;
};

}  // namespace native_runner
