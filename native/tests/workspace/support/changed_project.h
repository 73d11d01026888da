#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "tests/workspace/support/overlay.h"
#include "workspace/changes/scan.h"
#include "workspace/commit/baselines.h"
#include "workspace/commit/choose.h"
#include "workspace/commit/commit.h"

namespace native_runner {

using TreeText = std::map<std::string, std::string>;

// All that a directory holds: type, permissions and contents, by path.
inline TreeText TextOfTree(const std::string& directory) {
  namespace fs = std::filesystem;
  TreeText tree;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    struct stat status {};
    lstat(entry.path().c_str(), &status);
    std::ostringstream text;
    text << std::oct << status.st_mode << ' ';
    if (entry.is_symlink()) {
      text << fs::read_symlink(entry.path()).string();
    } else if (entry.is_regular_file()) {
      text << std::ifstream(entry.path()).rdbuf();
    }
    tree[entry.path().lexically_relative(directory)] = text.str();
  }
  return tree;
}

// A project with a bit of everything, and a transaction that has changed a bit of everything.
class ChangedProject {
 public:
  // `is_apart`: the transaction is on another file system than the host's directory.
  explicit ChangedProject(bool is_apart = false) : overlay_(is_apart) {
    for (const char* name : {"a", "b", "dir/x", "dir/y", "gone/one", "gone/sub/two", "to-dir",
                             "to-file/inner", "again/old", "again/sub/old", "same"})
      overlay_.Put(name, std::string("host ") + name);
    std::filesystem::create_symlink("a", overlay_.Host("link"));
    chmod(overlay_.Host("b").c_str(), 0600);
    const std::uint64_t since = Overlay::Tick();

    overlay_.Change("a", "mine a");
    chmod(overlay_.Upper("a").c_str(), 0755);
    overlay_.Remove("b");
    overlay_.Change("dir/x", "mine x");
    overlay_.Change("dir/new", "mine new");
    chmod(overlay_.Upper("dir").c_str(), 0700);
    overlay_.Remove("gone");
    overlay_.Change("to-dir/made", "mine made");
    overlay_.Change("to-file", "mine file");
    overlay_.Change("made/deep/file", "mine deep");
    std::filesystem::create_hard_link(overlay_.Upper("made/deep/file"),
                                      overlay_.Upper("made/deep/twin"));
    chmod(overlay_.Upper("made/deep").c_str(), 0750);
    overlay_.Change("same", "host same");
    std::filesystem::create_symlink("dir", overlay_.Upper("link"));
    has_opaque_ = overlay_.Replace("again");
    if (has_opaque_) overlay_.Change("again/sub/new", "mine again");
    ledger_ = Look(since);
  }

  // Returns the host's state of the changed paths, if nothing was changed before `since`.
  Ledger Look(std::uint64_t since) const {
    Ledger ledger;
    ledger.looked_ns = since;
    const auto is_whole = NoteBaselines(overlay_.UpperTree(), overlay_.HostTree(), since, &ledger);
    EXPECT_TRUE(is_whole && is_whole.value());
    return ledger;
  }
  const Ledger& ledger() const { return ledger_; }

  const Overlay& overlay() const { return overlay_; }
  TreeText Host() const { return TextOfTree(overlay_.Host()); }

  std::vector<Change> Changes() const {
    auto changes = ScanChanges(overlay_.UpperTree(), overlay_.HostTree(), Ledger());
    EXPECT_TRUE(changes);
    return changes ? std::move(*changes) : std::vector<Change>();
  }
  std::map<std::string, std::string> ChangedPaths() const {
    std::map<std::string, std::string> paths;
    for (const Change& change : Changes())
      paths[change.path] = std::to_string(change.mode) + " " + std::to_string(change.size);
    return paths;
  }

  // Commits with a look that is taken now.
  CommitEnd Commit(const PathFilter& paths = PathFilter()) const {
    return Commit(paths, Look(Overlay::Tick()));
  }
  CommitEnd Commit(const PathFilter& paths, const Ledger& ledger,
                   const GivenContents& contents = {}) const {
    CommitEnd end;
    end.failed = NormalizeUpper(overlay_.UpperTree(), overlay_.HostTree());
    if (end.failed) return end;
    const auto changes = ScanChanges(overlay_.UpperTree(), overlay_.HostTree(), Ledger());
    if (!changes) {
      end.failed = changes.error();
      return end;
    }
    CommitRequest request;
    request.paths = paths;
    const auto chosen = ChooseChanges(changes.value(), request).chosen;
    end = CommitChanges(State().get(), HostTop().get(), UpperTop().get(), chosen, ledger, nullptr,
                        contents);
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
  // Counts the entries beside the host's directory: none, or the backup of a commit.
  std::size_t BesideHost() const {
    const std::filesystem::directory_iterator names(overlay_.host_place().path());
    return static_cast<std::size_t>(std::distance(begin(names), end(names))) - 1;
  }
  bool Has(const char* name) const { return overlay_.place().Has(std::string("state/") + name); }

  Descriptor State() const { return Overlay::Open(overlay_.place().Path("state")); }
  Descriptor HostTop() const { return Overlay::Open(overlay_.Host()); }
  Descriptor UpperTop() const { return Overlay::Open(overlay_.Upper()); }

 private:
  Overlay overlay_;
  Ledger ledger_;
  bool has_opaque_ = false;
};

}  // namespace native_runner
