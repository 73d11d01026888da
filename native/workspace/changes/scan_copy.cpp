#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>

#include "workspace/changes/same_file.h"
#include "workspace/changes/scan.h"
#include "workspace/tree/helper_thread.h"

namespace native_runner {
namespace {

// What the host has by now of the directories of a workspace that was copied; each is looked at
// once, and only if somebody asks. Any thread, one at a time.
class HostDirectories {
 public:
  HostDirectories(const ScannedTree& host, const Ledger& ledger) : host_(host), ledger_(ledger) {}

  struct State {
    bool is_there = false;  // as a directory
    bool conflict = false;  // of all below: the host has removed or replaced it, or one above
    // The host had it, and has no directory there any more, but perhaps something else.
    bool was_removed = false;
    std::optional<Node> now;
  };

  // nullptr: it can't be looked at, see `error`.
  const State* StateOf(const std::string& path);

  // True if the host's file at a path has other contents than were noted.
  bool HasOther(const Baseline& baseline, const std::string& path);

  // Open; nullptr where there is none, or it can't be opened. Until the next call.
  const ScannedDirectory* Open(const std::string& path);

  // What the host has in a directory, by its name; nullopt for none and for an error.
  std::optional<Node> Look(const std::string& directory, const std::string& name);

  const std::optional<Error>& error() const { return error_; }

 private:
  State Judge(const std::string& path, const State& above);

  const ScannedTree& host_;
  const Ledger& ledger_;
  std::map<std::string, State, std::less<>> states_;
  std::string opened_path_;
  std::optional<ScannedDirectory> opened_;
  std::optional<Error> error_;
};

const HostDirectories::State* HostDirectories::StateOf(const std::string& path) {
  if (error_) return nullptr;
  const auto known = states_.find(path);
  if (known != states_.end()) return &known->second;
  State state;
  if (path.empty()) {
    state.is_there = true;
  } else {
    const State* above = StateOf(std::string(SplitPath(path).parent));
    if (above == nullptr) return nullptr;
    state = Judge(path, State(*above));
  }
  if (error_) return nullptr;
  return &states_.emplace(path, std::move(state)).first->second;
}

HostDirectories::State HostDirectories::Judge(const std::string& path, const State& above) {
  const auto known = ledger_.baselines.find(path);
  const bool was_there = known != ledger_.baselines.end() && known->second.host;
  const auto [parent, name] = SplitPath(path);
  State state;
  if (above.is_there) state.now = Look(std::string(parent), std::string(name));
  state.is_there = state.now && state.now->is_directory();
  state.conflict = above.conflict;
  if (was_there) {
    state.was_removed = known->second.host->is_directory() && !state.is_there;
    state.conflict |=
        known->second.is_suspect || !state.now || !state.now->IsSameInode(*known->second.host);
  } else {
    state.conflict |= state.now.has_value();
  }
  return state;
}

bool HostDirectories::HasOther(const Baseline& baseline, const std::string& path) {
  if (!baseline.contents) return false;
  const auto [parent, name] = SplitPath(path);
  const ScannedDirectory* directory = Open(std::string(parent));
  return directory != nullptr && !HasNoted(*directory, std::string(name), baseline.contents);
}

const ScannedDirectory* HostDirectories::Open(const std::string& path) {
  if (error_) return nullptr;
  if (opened_ && opened_path_ == path) return &*opened_;
  auto opened = host_.OpenIfThere(path);
  if (!opened) {
    error_ = std::move(opened.error());
    return nullptr;
  }
  opened_.reset();
  if (!*opened) return nullptr;
  opened_.emplace(std::move(**opened));
  opened_path_ = path;
  return &*opened_;
}

std::optional<Node> HostDirectories::Look(const std::string& directory, const std::string& name) {
  const ScannedDirectory* opened = Open(directory);
  if (opened == nullptr) return std::nullopt;
  auto node = opened->Look(name);
  if (node) return *node;
  error_ = std::move(node.error());
  return std::nullopt;
}

constexpr const char* kTopPath = ".";

class CopyScan {
 public:
  CopyScan(const ScannedTree& copy, const ScannedTree& host, const CopyManifest& manifest,
           const Ledger& ledger, std::vector<Change>* as_host)
      : copy_(copy), manifest_(manifest), ledger_(ledger), host_(host, ledger), as_host_(as_host) {}

  Result<std::vector<Change>> Run() {
    ScanTop();
    while (!failed() && !waiting_.empty()) {
      const std::string path = std::move(waiting_.back());
      waiting_.pop_back();
      ScanDirectory(path);
    }
    for (const auto& [path, baseline] : ledger_.baselines) {
      if (failed()) break;
      const bool is_gone = baseline.host && path != kTopPath && seen_.count(&baseline) == 0;
      if (is_gone && manifest_.copies.count(path) != 0) ScanRemoved(path, baseline);
    }
    while (!failed() && !hidden_.empty()) {
      const std::string path = std::move(hidden_.back());
      hidden_.pop_back();
      ScanHidden(path);
    }
    ReportRemovedAbove();
    if (error_) return *error_;
    if (host_.error()) return *host_.error();
    std::sort(changes_.begin(), changes_.end(),
              [](const Change& one, const Change& other) { return one.path < other.path; });
    return std::move(changes_);
  }

 private:
  // What is known of a path that the copy has had from the host; nullptr: nothing. A baseline alone
  // is of a merge that was not done, or that a rollback has taken back: the copy has never had it.
  struct Known {
    const Baseline* baseline = nullptr;
    const HostFile* host = nullptr;
    const HostFile* copy = nullptr;
  };

  bool failed() const { return error_.has_value() || host_.error().has_value(); }

  template <typename T>
  std::optional<T> Taken(Result<T> result) {
    if (result) return std::move(*result);
    if (!error_) error_ = std::move(result.error());
    return std::nullopt;
  }

  Known Find(const std::string& path) const {
    Known known;
    const auto copy = manifest_.copies.find(path);
    if (copy == manifest_.copies.end()) return known;
    known.copy = &copy->second;
    const auto baseline = ledger_.baselines.find(path);
    if (baseline != ledger_.baselines.end()) known.baseline = &baseline->second;
    if (known.baseline != nullptr && known.baseline->host) known.host = &*known.baseline->host;
    return known;
  }

  static Node AsHosts(const Node& now, const Known& known) {
    Node node = now;
    static_cast<HostFile&>(node) = AsOnHost(now, known.copy, known.host);
    return node;
  }

  // A directory's times are those of the names in it, which are looked at by themselves.
  static bool IsUntouched(const Node& now, const Known& known) {
    if (known.copy == nullptr || known.host == nullptr) return false;
    if (!now.is_directory()) return static_cast<const HostFile&>(now) == *known.copy;
    return known.copy->is_directory() && now.HasSameAttributes(*known.copy);
  }

  void ScanTop() {
    const auto top = Taken(copy_.Open(""));
    const auto now = top ? Taken(top->Look("")) : std::nullopt;
    if (!now || !*now) return;
    waiting_.emplace_back();
    const Known known = Find(kTopPath);
    if (IsUntouched(**now, known)) return;
    const auto before = host_.Look("", "");
    const TwoNodes nodes = {AsHosts(**now, known), before};
    if (!before || nodes.now->HasSameAttributes(*before)) return;
    const bool conflict =
        known.baseline != nullptr && HostHasChanged(*known.baseline, before, false);
    Add(kTopPath, nodes, conflict);
  }

  void ScanDirectory(const std::string& path) {
    if (IsStopped()) {
      error_ = Error{ErrorCode::kClosed, "the transaction was closed", ""};
      return;
    }
    const auto directory = Taken(copy_.OpenIfThere(path));
    if (!directory || !*directory) return;  // it has just gone
    const auto names = Taken((*directory)->Names());
    if (!names) return;
    for (const std::string& name : *names) {
      if (failed()) return;
      ScanEntry(path, name, **directory);
    }
  }

  void ScanEntry(const std::string& parent, const std::string& name,
                 const ScannedDirectory& directory) {
    const auto now = Taken(directory.Look(name));
    if (!now || !*now) return;  // it has just gone
    const std::string path = parent.empty() ? name : parent + "/" + name;
    const bool is_directory = (*now)->is_directory();
    if (is_directory) waiting_.push_back(path);
    const Known known = Find(path);
    if (known.baseline != nullptr) seen_.insert(known.baseline);
    if (IsUntouched(**now, known)) return;
    const auto* above = host_.StateOf(parent);
    if (above == nullptr) return;
    TwoNodes nodes = {AsHosts(**now, known), std::nullopt};
    const ScannedDirectory* host = above->is_there ? host_.Open(parent) : nullptr;
    if (host != nullptr) nodes.before = host_.Look(parent, name);
    if (failed()) return;
    const bool was_directory = nodes.before && nodes.before->is_directory();
    if (was_directory && !is_directory) hidden_.push_back(path);
    if (host != nullptr && AreSame(nodes, name, directory, *host)) {
      if (as_host_ != nullptr && !failed()) as_host_->push_back(ChangeOf(path, nodes));
      return;
    }
    Add(path, nodes, above->conflict || HasChanged(path, known, nodes.before, !is_directory));
    if (!(*now)->is_link() || failed()) return;
    auto target = Taken(directory.TargetIfThere(name));
    if (target && *target) {
      changes_.back().target = std::move(**target);
    } else {
      changes_.pop_back();  // it has just gone
    }
  }

  bool HasChanged(const std::string& path, const Known& known, const std::optional<Node>& now,
                  bool is_hidden) {
    if (known.baseline == nullptr) return now.has_value();
    return HostHasChanged(*known.baseline, now, is_hidden) || host_.HasOther(*known.baseline, path);
  }

  // What the copy had, and has not any more.
  void ScanRemoved(const std::string& path, const Baseline& baseline) {
    const auto [parent, name] = SplitPath(path);
    const auto* above = host_.StateOf(std::string(parent));
    if (above == nullptr) return;
    const auto before = above->is_there ? host_.Look(std::string(parent), std::string(name))
                                        : std::optional<Node>();
    if (failed()) return;
    if (!before) {
      if (as_host_ == nullptr) return;
      Change gone;
      gone.path = path;
      gone.kind = Change::Kind::kDeleted;
      as_host_->push_back(std::move(gone));
      return;
    }
    const bool conflict =
        above->conflict || HostHasChanged(baseline, before, true) || host_.HasOther(baseline, path);
    Add(path, {std::nullopt, before}, conflict);
    if (before->is_directory()) hidden_.push_back(path);
  }

  // A directory of the host's that the transaction shows no more: what the host has made in it
  // since would go with it.
  void ScanHidden(const std::string& path) {
    const ScannedDirectory* directory = host_.Open(path);
    if (directory == nullptr) return;
    const auto names = Taken(directory->Names());
    if (!names) return;
    for (const std::string& name : *names) {
      const std::string below = path + "/" + name;
      if (ledger_.baselines.find(below) != ledger_.baselines.end()) continue;
      const auto before = host_.Look(path, name);
      if (!before || failed()) continue;
      Add(below, {std::nullopt, before}, true);
      if (before->is_directory()) hidden_.push_back(below);
    }
  }

  // A directory that the host has removed, and something in which the transaction has changed.
  void ReportRemovedAbove() {
    std::set<std::string> reported;
    for (const Change& change : changes_)
      reported.insert(change.path);
    const std::size_t count = changes_.size();
    for (std::size_t at = 0; at < count && !failed(); ++at) {
      std::string path = changes_[at].path;
      for (std::size_t slash = path.rfind('/'); slash != std::string::npos;
           slash = path.rfind('/')) {
        path.resize(slash);
        const auto* state = host_.StateOf(path);
        if (state == nullptr) return;
        if (!state->was_removed || !reported.insert(path).second) continue;
        const auto now = NowOf(path);
        if (now) Add(path, {AsHosts(*now, Find(path)), state->now}, true);
      }
    }
  }

  std::optional<Node> NowOf(const std::string& path) {
    const auto [parent, name] = SplitPath(path);
    const auto directory = Taken(copy_.OpenIfThere(parent));
    if (!directory || !*directory) return std::nullopt;
    const auto node = Taken((*directory)->Look(std::string(name)));
    return node ? *node : std::nullopt;
  }

  void Add(const std::string& path, const TwoNodes& nodes, bool conflict) {
    if (changes_.size() >= kMostChanges) {
      error_ = Error{ErrorCode::kSetup, "the transaction has more than a million changes", ""};
      return;
    }
    Change change = ChangeOf(path, nodes);
    change.conflict = conflict;
    changes_.push_back(std::move(change));
  }

  const ScannedTree& copy_;
  const CopyManifest& manifest_;
  const Ledger& ledger_;
  HostDirectories host_;
  std::vector<std::string> waiting_;
  std::vector<std::string> hidden_;
  std::unordered_set<const Baseline*> seen_;
  std::vector<Change> changes_;
  std::vector<Change>* as_host_;
  std::optional<Error> error_;
};

}  // namespace

Result<std::vector<Change>> ScanCopy(const ScannedTree& copy, const ScannedTree& host,
                                     const CopyManifest& manifest, const Ledger& ledger,
                                     std::vector<Change>* as_host) {
  return CopyScan(copy, host, manifest, ledger, as_host).Run();
}

}  // namespace native_runner
