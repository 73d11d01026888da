#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "supervise/preparation/backend.h"
#include "supervise/sandbox/sandbox_template.h"

namespace native_runner {

// What the keepers of a supervisor share.
struct TemplateTraffic {
  std::size_t standing = 0;  // templates, in set-up or ending too
};

// Has a template made for a runner's sandboxes once there is a second run, and another where what
// would be made now is no longer like it. Supervisor thread only; owned by its pool.
class TemplateKeeper {
 public:
  // `on_gone`: a template is gone; this may be destroyed in it.
  TemplateKeeper(SupervisorContext& shared, TemplateTraffic& traffic,
                 std::shared_ptr<const Backend> runtime, std::function<void()> on_gone);
  ~TemplateKeeper();
  TemplateKeeper(const TemplateKeeper&) = delete;
  TemplateKeeper& operator=(const TemplateKeeper&) = delete;

  // See Templates::Find.
  std::shared_ptr<SandboxTemplate> Find(const Fingerprint& wanted, std::string* why);

  // Has one made at once, if there is none. `done`: there is one, or none can be had; possibly from
  // in here.
  void Warm(std::function<void()> done);

  // Ends it as soon as no clone of it is left. Another is made when one is asked for, unless this
  // is for good.
  void Retire(const std::string& reason);
  void Close();

  // No process of a template is left.
  bool empty() const { return living_ == 0; }

 private:
  bool MayMake() const;
  bool IsFull() const;
  void Make();
  void Spawn(Result<Preparation> prepared);
  void OnGone(const SandboxTemplate* gone);
  void WaitLonger(const std::string& reason);
  void ReportIfSettled();

  SupervisorContext& shared_;
  TemplateTraffic& traffic_;
  std::shared_ptr<const Backend> runtime_;
  std::function<void()> on_gone_;
  std::shared_ptr<SandboxTemplate> template_;  // the newest, unless it was retired
  std::shared_ptr<bool> is_there_ = std::make_shared<bool>(true);
  std::size_t living_ = 0;
  std::string reason_;         // why there is none
  std::uint64_t asked_ = 0;    // how often one was asked for
  std::uint64_t next_at_ = 2;  // of that: from there on another is made
  std::uint64_t wait_ = 1;     // to be let pass before the one after it: more each time in vain
  std::vector<std::function<void()>> waiting_;
  bool is_making_ = false;
  bool is_closed_ = false;
};

}  // namespace native_runner
