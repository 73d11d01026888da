#include "effects/changes/note_baselines.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace native_runner {
namespace {

constexpr const char* kTop = ".";

class Look {
 public:
  Look(const ScannedTree& upper, const ScannedTree& lower, std::uint64_t since_ns, Ledger* ledger,
       std::set<std::string, std::less<>>* seen, const std::set<std::string, std::less<>>& unseen)
      : upper_(upper),
        lower_(lower),
        since_ns_(since_ns),
        ledger_(*ledger),
        seen_(seen),
        unseen_(unseen) {}

  std::optional<Error> Run() {
    NoteTop();
    while (!error_ && !waiting_.empty()) {
      const std::string path = std::move(waiting_.back());
      waiting_.pop_back();
      LookInto(path);
    }
    return std::move(error_);
  }

 private:
  template <typename T>
  std::optional<T> Taken(Result<T> result) {
    if (result) return std::move(*result);
    if (!error_) error_ = std::move(result.error());
    return std::nullopt;
  }

  void NoteTop() {
    const auto lower = Taken(lower_.Open(""));
    if (!lower) return;
    const auto host = Taken(lower->Look(""));
    if (!host || !*host) return;
    if (seen_ != nullptr) seen_->insert(kTop);
    if (ledger_.baselines.find(kTop) == ledger_.baselines.end()) {
      ledger_.baselines.emplace(kTop, Baseline{since_ns_, false, **host});
    }
    waiting_.emplace_back();
  }

  void LookInto(const std::string& path) {
    const auto upper = Taken(upper_.OpenIfThere(path));
    if (!upper) return;
    if (!*upper) return;  // it has just gone
    const auto names = Taken((*upper)->Names());
    if (!names || names->empty()) return;  // the host's may be one that can't be read
    const auto lower = Taken(lower_.OpenIfThere(path));
    if (!lower) return;
    if (!*lower) return;  // as its own baseline says
    for (const std::string& name : *names) {
      if (error_) return;
      LookAt(path.empty() ? name : path + "/" + name, name, **upper, **lower);
    }
  }

  void LookAt(std::string path, const std::string& name, const ScannedDirectory& upper,
              const ScannedDirectory& lower) {
    const auto looked = Taken(upper.Look(name));
    if (!looked || !*looked) return;
    const Node& now = **looked;
    if (seen_ != nullptr) seen_->insert(path);
    if (ledger_.baselines.find(path) == ledger_.baselines.end()) {
      const auto host = Taken(lower.Look(name));
      if (!host) return;
      // After the name: what has just gone has changed it by now.
      const auto parent = Taken(lower.Look(""));
      if (!parent) return;
      Note(path, now, *host, *parent);
    }
    if (now.is_directory()) waiting_.push_back(std::move(path));
  }

  void Note(const std::string& path, const Node& now, const std::optional<Node>& host,
            const std::optional<Node>& parent) {
    Baseline baseline;
    baseline.since_ns = since_ns_;
    const bool parent_changed = !parent || parent->changed_ns >= since_ns_;
    if (!host) {
      baseline.is_suspect = parent_changed && !now.is_whiteout();
    } else {
      baseline.host = *host;
      const bool is_merged = host->is_directory() && now.is_directory();
      const bool is_as_it_was = is_merged && !parent_changed && now.HasSameAttributes(*host);
      baseline.is_suspect = host->changed_ns >= since_ns_ && !is_as_it_was;
    }
    baseline.is_suspect = baseline.is_suspect || unseen_.count(path) != 0;
    ledger_.baselines.emplace(path, baseline);
  }

  const ScannedTree& upper_;
  const ScannedTree& lower_;
  std::uint64_t since_ns_;
  Ledger& ledger_;
  std::set<std::string, std::less<>>* seen_;
  const std::set<std::string, std::less<>>& unseen_;
  std::vector<std::string> waiting_;
  std::optional<Error> error_;
};

// Whether a path is in a directory of the upper tree: one path after the other, and those of a
// directory on end.
class Parents {
 public:
  explicit Parents(const ScannedTree& upper) : upper_(upper) {}

  Result<bool> HasParentOf(std::string_view path) {
    const std::string_view parent = SplitPath(path).parent;
    if (last_ && *last_ == parent) return is_there_;
    const auto opened = upper_.OpenIfThere(parent);
    if (!opened) return opened.error();
    last_ = parent;
    is_there_ = opened.value().has_value();
    return is_there_;
  }

 private:
  const ScannedTree& upper_;
  std::optional<std::string> last_;
  bool is_there_ = false;
};

}  // namespace

Result<bool> NoteHidden(const ScannedTree& upper, const ScannedTree& lower,
                        const std::vector<Change>& changes, Ledger* ledger) {
  bool has_noted = false;
  Parents parents(upper);
  for (const Change& change : changes) {
    if (change.mode != 0 || ledger->baselines.find(change.path) != ledger->baselines.end()) {
      continue;
    }
    const auto is_hidden = parents.HasParentOf(change.path);
    if (!is_hidden) return is_hidden.error();
    if (!is_hidden.value()) continue;
    const auto [parent, name] = SplitPath(change.path);
    const auto directory = lower.OpenIfThere(parent);
    if (!directory) return directory.error();
    Baseline baseline{SinceAbove(*ledger, change.path), true, std::nullopt};
    if (directory.value()) {
      const auto host = directory.value()->Look(std::string(name));
      if (!host) return host.error();
      baseline.host = host.value();
    }
    const bool is_as_it_was = baseline.host && baseline.host->changed_ns < baseline.since_ns;
    baseline.is_suspect = change.conflict || !is_as_it_was;
    ledger->baselines.emplace(change.path, baseline);
    has_noted = true;
  }
  return has_noted;
}

std::optional<Error> NoteBaselines(const ScannedTree& upper, const ScannedTree& lower,
                                   std::uint64_t since_ns, Ledger* ledger,
                                   std::set<std::string, std::less<>>* seen,
                                   const std::set<std::string, std::less<>>& unseen) {
  return Look(upper, lower, since_ns, ledger, seen, unseen).Run();
}

}  // namespace native_runner
