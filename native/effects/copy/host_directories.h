#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "effects/changes/scanned_tree.h"
#include "policy/changes/change.h"
#include "policy/result.h"
#include "policy/transaction/ledger.h"

namespace native_runner {

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

}  // namespace native_runner
