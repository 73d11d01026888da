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

// State shared by the keepers of a supervisor.
struct TemplateTraffic {
  std::size_t templates = 0;  // including those in set-up or ending
};

// Makes a template for a runner's sandboxes from the second run on, and replaces it when it no
// longer matches new sandboxes. Supervisor thread only; owned by its pool.
class TemplateKeeper {
 public:
  // `on_gone`: a template is gone; may destroy this.
  TemplateKeeper(SupervisorContext& shared, TemplateTraffic& traffic,
                 std::shared_ptr<const Backend> runtime, std::function<void()> on_gone);
  ~TemplateKeeper();
  TemplateKeeper(const TemplateKeeper&) = delete;
  TemplateKeeper& operator=(const TemplateKeeper&) = delete;

  // See Templates::Find.
  std::shared_ptr<SandboxTemplate> Find(const Fingerprint& wanted, std::string* why);

  // Makes a template at once if there is none. `done` is called when it is ready or could not be
  // made, possibly before this returns.
  void Warm(std::function<void()> done);

  // Retire ends the template once its last clone is gone; another is made on the next request.
  // Close does so for good.
  void Retire(const std::string& reason);
  void Close();

  // Returns true if no process of a template is left.
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
  std::shared_ptr<SandboxTemplate> template_;  // the newest, unless retired
  std::shared_ptr<bool> is_there_ = std::make_shared<bool>(true);
  std::size_t living_ = 0;
  std::string reason_;         // why there is no template
  std::uint64_t asked_ = 0;    // number of requests so far
  std::uint64_t next_at_ = 2;  // request number from which another template is made
  std::uint64_t wait_ = 1;     // requests to skip before the next one; doubles after each failed or
                               // little used template
  std::vector<std::function<void()>> waiting_;
  bool is_making_ = false;
  bool is_closed_ = false;
};

}  // namespace native_runner
