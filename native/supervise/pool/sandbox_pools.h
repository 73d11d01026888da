#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "supervise/pool/sandbox_pool.h"

namespace native_runner {

// The pools of one supervisor, by the number of their runner. Supervisor thread only.
class SandboxPools final : public Templates {
 public:
  // `emptied` is called when the last sandbox of the last pool is gone after Close.
  SandboxPools(Shared& shared, std::function<void()> emptied);

  // To be told of every run. RunStarts: what it may ask for.
  struct Offer {
    bool standing = false;
    bool clone = false;
  };
  // `is_live`: of spawn, for which none stands; its RunEnds is of number 0.
  Offer RunStarts(const PoolReference& reference, const std::shared_ptr<const Runtime>& runtime,
                  bool is_live);
  void RunEnds(std::uint64_t number);
  std::unique_ptr<SandboxSource> Take(std::uint64_t number, const Fingerprint& wanted);

  std::shared_ptr<SandboxTemplate> Find(std::uint64_t number, const Fingerprint& wanted,
                                        std::string* why) override;

  void Fill(const PoolReference& reference, const std::shared_ptr<const Runtime>& runtime,
            SandboxPool::Filled filled);
  // `closed` is called in any case, also when there is no such pool.
  void Close(std::uint64_t number, std::function<void()> closed);
  void CloseAll();
  bool empty() const { return pools_.empty(); }

 private:
  SandboxPool& Get(const PoolReference& reference, const std::shared_ptr<const Runtime>& runtime);

  Shared& shared_;
  std::function<void()> emptied_;
  PoolTraffic traffic_;
  std::map<std::uint64_t, std::shared_ptr<SandboxPool>> pools_;
};

}  // namespace native_runner
