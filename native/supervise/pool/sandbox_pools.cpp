#include "supervise/pool/sandbox_pools.h"

#include <utility>
#include <vector>

namespace native_runner {

SandboxPools::SandboxPools(Shared& shared, std::function<void()> emptied)
    : shared_(shared), emptied_(std::move(emptied)) {
  traffic_.processors = uv_available_parallelism();
}

SandboxPool& SandboxPools::Get(const PoolReference& reference,
                               const std::shared_ptr<const Runtime>& runtime) {
  auto& pool = pools_[reference.number];
  if (!pool) {
    pool = std::make_shared<SandboxPool>(shared_, traffic_, runtime, reference);
  }
  return *pool;
}

SandboxPools::Offer SandboxPools::RunStarts(const PoolReference& reference,
                                            const std::shared_ptr<const Runtime>& runtime,
                                            bool is_live) {
  ++traffic_.in_flight;
  if (reference.number == 0 || reference.counters->closed) return {};
  SandboxPool& pool = Get(reference, runtime);
  return {!is_live && pool.RunStarts(), pool.makes_clones()};
}

std::shared_ptr<SandboxTemplate> SandboxPools::Find(std::uint64_t number, const Fingerprint& wanted,
                                                    std::string* why) {
  const auto found = pools_.find(number);
  if (found != pools_.end()) return found->second->FindTemplate(wanted, why);
  *why = "its runner has no templates";
  return nullptr;
}

void SandboxPools::RunEnds(std::uint64_t number) {
  --traffic_.in_flight;
  if (const auto found = pools_.find(number); found != pools_.end()) found->second->RunEnds();
}

std::unique_ptr<SandboxSource> SandboxPools::Take(std::uint64_t number, const Fingerprint& wanted) {
  const auto found = pools_.find(number);
  return found == pools_.end() ? nullptr : found->second->Take(wanted);
}

void SandboxPools::Fill(const PoolReference& reference,
                        const std::shared_ptr<const Runtime>& runtime, SandboxPool::Filled filled) {
  if (reference.counters->closed)
    return filled(Error{ErrorCode::kClosed, "the runner was closed", ""});
  Get(reference, runtime).Fill(std::move(filled));
}

void SandboxPools::Close(std::uint64_t number, std::function<void()> closed) {
  const auto found = pools_.find(number);
  if (found == pools_.end()) return closed();
  const std::shared_ptr<SandboxPool> pool = found->second;
  pool->Close([this, number, closed = std::move(closed)] {
    pools_.erase(number);
    closed();
  });
}

void SandboxPools::CloseAll() {
  std::vector<std::uint64_t> numbers;
  for (const auto& [number, pool] : pools_)
    numbers.push_back(number);
  for (const std::uint64_t number : numbers)
    Close(number, emptied_);
}

}  // namespace native_runner
