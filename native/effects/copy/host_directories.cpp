#include "effects/copy/host_directories.h"

#include <utility>

namespace native_runner {

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

}  // namespace native_runner
