#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "supervise/pool/prewarmed_sandbox.h"
#include "supervise/pool/template_keeper.h"

namespace native_runner {

// How many sandboxes are to stand for one runner, and for how long without a run.
struct PoolRule {
  std::optional<std::size_t>
      size;  // nullopt: from the third run on as many as ran at once, up to 4
  std::uint64_t idle_ms = 60'000;
  bool clones = false;  // sandboxes are cloned from a template, once there is one
};

// What a pool has and has done. Written on the supervisor thread, read on any.
struct PoolCounters {
  std::atomic<std::uint32_t> standing = 0;   // ready and waiting
  std::atomic<std::uint32_t> taken = 0;      // runs that found one
  std::atomic<std::uint32_t> missed = 0;     // runs that would have liked one
  std::atomic<std::uint32_t> discarded = 0;  // ended without a run
  std::atomic<bool> closed = false;          // set by the runner: no run may use the pool any more
};

// Which pool, and how to make it where it does not exist yet. `number` 0: none is wanted.
struct PoolReference {
  std::uint64_t number = 0;
  PoolRule rule;
  std::shared_ptr<PoolCounters> counters;
};

// What all pools of a supervisor have to share.
struct PoolTraffic {
  std::size_t standing = 0;  // sandboxes of all pools, in set-up or ending too
  std::size_t in_flight = 0;
  std::size_t processors = 1;
  TemplateTraffic templates;
};

// The sandboxes that stand ready for the runs of one runner. Each serves one run; another is made
// behind it, one at a time, once the processors have nothing better to do. None is made by itself:
// runs, or Fill(), ask for it; so a pool that nobody uses goes away and stays away. It keeps the
// template of the runner's clones as well. Supervisor thread only; owned by SandboxPools.
class SandboxPool : public std::enable_shared_from_this<SandboxPool> {
 public:
  using Filled = std::function<void(Result<std::size_t>)>;

  SandboxPool(Shared& shared, PoolTraffic& traffic, std::shared_ptr<const Runtime> runtime,
              const PoolReference& reference);

  // A run starts. True: it may ask for a sandbox, with Take.
  bool RunStarts();
  void RunEnds();

  // One that was made as `wanted` says and is alive, or none. Those that are dead, or that would be
  // made differently now, are ended and never used.
  std::unique_ptr<SandboxSource> Take(const Fingerprint& wanted);

  // See Templates::Find.
  std::shared_ptr<SandboxTemplate> FindTemplate(const Fingerprint& wanted, std::string* why);
  bool makes_clones() const { return rule_.clones; }

  // Makes what is missing now; answers how many stand then, or why none can be made.
  void Fill(Filled filled);

  // Ends all; `closed` is called once that is proved, possibly from in here.
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

  Shared& shared_;
  PoolTraffic& traffic_;
  std::shared_ptr<const Runtime> runtime_;
  std::uint64_t number_;
  PoolRule rule_;
  std::shared_ptr<PoolCounters> counters_;

  std::vector<std::unique_ptr<PrewarmedSandbox>> sandboxes_;  // oldest first
  bool is_preparing_ = false;
  const PrewarmedSandbox* in_setup_ = nullptr;  // the newest, until it is ready, taken or given up
  std::uint64_t tmp_bytes_ = 0;                 // of the last run
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

}  // namespace native_runner
