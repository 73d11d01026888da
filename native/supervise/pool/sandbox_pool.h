#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "supervise/host/fingerprint.h"
#include "supervise/preparation/backend.h"
#include "supervise/sandbox/sandbox.h"
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

// A sandbox that waits for its single order. Owned by its pool, then by the run that takes it;
// supervisor thread only.
class PrewarmedSandbox final : public SandboxSource, private Sandbox::User {
 public:
  struct Listener {
    std::function<void()> on_ready;  // its launcher waits for the order; only if watched
    std::function<void()> on_gone;   // its end is proved: destroy it, possibly in this call
  };

  // Spawns the plan's sandbox. kSetup if the host refuses.
  static Result<std::unique_ptr<PrewarmedSandbox>> Make(const Backend& runtime,
                                                        SupervisorContext& shared, SpawnPlan plan,
                                                        Listener listener);

  const Fingerprint& fingerprint() const { return fingerprint_; }
  bool is_ready() const { return is_ready_; }
  bool is_ending() const { return is_ending_; }
  bool IsAlive() { return !is_ending_ && sandbox_->IsAlive(); }

  // Ends it without a command; on_gone follows, possibly before this returns.
  void End();

  // Leaves this object empty, without further callbacks.
  Result<std::unique_ptr<Sandbox>> Acquire(Descriptor* input, OrderHeader* order) override;
  SandboxStart start() const override { return SandboxStart::kPrewarmed; }

 private:
  PrewarmedSandbox(std::unique_ptr<Sandbox> sandbox, Fingerprint fingerprint, Listener listener)
      : sandbox_(std::move(sandbox)),
        fingerprint_(std::move(fingerprint)),
        listener_(std::move(listener)) {}

  void OnReport(const Report& report) override;
  void OnGone() override;

  std::unique_ptr<Sandbox> sandbox_;
  Fingerprint fingerprint_;
  Listener listener_;
  bool is_ready_ = false;
  bool is_ending_ = false;
};

// Target size of a pool, and its lifetime without a run.
struct PoolRule {
  std::optional<std::size_t>
      size;  // nullopt: from the third run on, the highest number of concurrent runs, at most 4
  std::uint64_t idle_ms = 60'000;
  bool clones = false;  // sandboxes are cloned from a template, once one is ready
};

// State and statistics of a pool. Written on the supervisor thread, read on any thread.
struct PoolCounters {
  std::atomic<std::uint32_t> prewarmed = 0;  // ready and waiting
  std::atomic<std::uint32_t> taken = 0;      // runs that took one
  std::atomic<std::uint32_t> missed = 0;     // runs that could have used one
  std::atomic<std::uint32_t> discarded = 0;  // ended without a run
  std::atomic<bool> closed = false;          // set by the runner: no run may use the pool any more
};

// Identifies a pool, and describes how to make it if it does not exist yet. `number` 0: no pool.
struct PoolReference {
  std::uint64_t number = 0;
  PoolRule rule;
  std::shared_ptr<PoolCounters> counters;
};

// State shared by all pools of a supervisor.
struct PoolTraffic {
  std::size_t sandboxes = 0;  // of all pools, including those in set-up or ending
  std::size_t in_flight = 0;
  std::size_t processors = 1;
  TemplateTraffic templates;
};

// The prewarmed sandboxes of one runner. Each serves one run; then another is made, one at a time,
// when the processors are idle. Only runs and Fill() cause sandboxes to be made, so an unused pool
// goes away and stays away. Also owns the keeper of the runner's template. Supervisor thread only;
// owned by SandboxPools.
class SandboxPool : public std::enable_shared_from_this<SandboxPool> {
 public:
  using Filled = std::function<void(Result<std::size_t>)>;

  SandboxPool(SupervisorContext& shared, PoolTraffic& traffic,
              std::shared_ptr<const Backend> runtime, const PoolReference& reference);

  // Records the start of a run. Returns true if the run may call Take.
  bool RunStarts();
  void RunEnds();

  // Returns a live sandbox that matches `wanted`, or nullptr. Ends those that are dead or no longer
  // match.
  std::unique_ptr<SandboxSource> Take(const Fingerprint& wanted);

  // See Templates::Find.
  std::shared_ptr<SandboxTemplate> FindTemplate(const Fingerprint& wanted, std::string* why);
  bool makes_clones() const { return rule_.clones; }

  // Makes the missing sandboxes now; answers with the number of ready ones, or with the reason why
  // none can be made.
  void Fill(Filled filled);

  // Ends all sandboxes; `closed` is called once their end is proved, possibly before this returns.
  void Close(std::function<void()> closed);

 private:
  std::size_t Target() const;
  std::size_t Count(bool (*counts)(const PrewarmedSandbox&)) const;
  std::vector<PrewarmedSandbox*> Good() const;
  bool IsWanting() const;
  void RefillSoon();
  void Refill();
  void Make(Result<Preparation> prepared);
  void OnReady(const PrewarmedSandbox* ready);
  void OnGone(const PrewarmedSandbox* gone);
  std::unique_ptr<PrewarmedSandbox> Forget(const PrewarmedSandbox* sandbox);
  void PublishCounts();
  void MakeRoomFor(const Fingerprint& wanted);
  void Discard(const std::vector<PrewarmedSandbox*>& sandboxes);
  void Answer(const Result<std::size_t>& answer);
  void WatchIdleness();
  void OnIdle();
  void CloseIfEmpty();

  SupervisorContext& shared_;
  PoolTraffic& traffic_;
  std::shared_ptr<const Backend> runtime_;
  std::uint64_t number_;
  PoolRule rule_;
  std::shared_ptr<PoolCounters> counters_;

  std::vector<std::unique_ptr<PrewarmedSandbox>> sandboxes_;  // oldest first
  bool is_preparing_ = false;
  const PrewarmedSandbox* in_setup_ = nullptr;  // the newest, until it is ready, taken or given up
  std::uint64_t tmp_bytes_ = 0;                 // the last run's
  std::size_t runs_ = 0;                        // since the pool was last idle
  std::size_t in_flight_ = 0;
  std::size_t most_in_flight_ = 0;
  std::uint64_t used_ns_ = 0;
  std::uint64_t refill_due_ns_ = 0;
  Timer refill_;
  Timer idle_;
  std::vector<Filled> filled_;
  TemplateKeeper keeper_;
  bool is_closing_ = false;
  std::vector<std::function<void()>> closed_;
};

// The pools of one supervisor, by the number of their runner. Supervisor thread only.
class SandboxPools final : public Templates {
 public:
  // `emptied` is called when the last sandbox of the last pool is gone after Close.
  SandboxPools(SupervisorContext& shared, std::function<void()> emptied);

  // Prewarmed sandbox or clone that a run may request.
  struct Offer {
    bool prewarmed = false;
    bool clone = false;
  };
  // Call RunStarts and RunEnds for every run. `is_live`: a run of spawn, which takes no prewarmed
  // sandbox; its RunEnds has number 0.
  Offer RunStarts(const PoolReference& reference, const std::shared_ptr<const Backend>& runtime,
                  bool is_live);
  void RunEnds(std::uint64_t number);
  std::unique_ptr<SandboxSource> Take(std::uint64_t number, const Fingerprint& wanted);

  std::shared_ptr<SandboxTemplate> Find(std::uint64_t number, const Fingerprint& wanted,
                                        std::string* why) override;

  void Fill(const PoolReference& reference, const std::shared_ptr<const Backend>& runtime,
            SandboxPool::Filled filled);
  // `closed` is always called, even if the pool does not exist.
  void Close(std::uint64_t number, std::function<void()> closed);
  void CloseAll();
  bool empty() const { return pools_.empty(); }

 private:
  SandboxPool& Get(const PoolReference& reference, const std::shared_ptr<const Backend>& runtime);

  SupervisorContext& shared_;
  std::function<void()> emptied_;
  PoolTraffic traffic_;
  std::map<std::uint64_t, std::shared_ptr<SandboxPool>> pools_;
};

}  // namespace native_runner
