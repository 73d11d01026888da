#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "policy/options/request.h"
#include "policy/result.h"
#include "supervise/preparation/preparation.h"

namespace native_runner {

// What the commands of a session have in common: what is left of the preparation that its sandbox
// was spawned by.
class CommandTemplate {
 public:
  CommandTemplate() = default;
  // `of_session`: also the part of a plan that is the session's own.
  explicit CommandTemplate(const Preparation& of_session);

  const RunRecord& record() const { return record_; }

  // Adds the layers that its launcher has found to be in force.
  void AddEnforced(LayerSet enforced);

  // One command, without its slot. `cwd`: where it starts; `others`: launchers of commands that
  // RLIMIT_NPROC counts too. kSetup when a limit can't be enforced.
  Result<Preparation> Make(const ExecRequest& request, std::string cwd, std::size_t others) const;

  // A directory below the workspace, as the command sees it.
  std::string InWorkspace(const std::string& relative) const;

 private:
  std::uint32_t flags_ = 0;
  RunRecord record_;
  std::string workspace_;
  std::shared_ptr<const DenialScene> scene_;
  bool counts_processes_ = false;
};

}  // namespace native_runner
