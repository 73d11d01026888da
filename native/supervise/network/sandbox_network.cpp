#include "supervise/network/sandbox_network.h"

#include <utility>

namespace native_runner {
namespace {

// Nothing is accepted yet: what connects waits in the kernel until the listeners close.
class ClosedNetwork : public SandboxNetwork {
 public:
  explicit ClosedNetwork(std::shared_ptr<const NetworkPolicy> policy)
      : most_(ListenersOf(policy->rules).size()) {}

  void set_on_record(OnRecord on_record) override { on_record_ = std::move(on_record); }
  void Take(Descriptor listener) override { listeners_.push_back(std::move(listener)); }
  bool is_complete() const override { return listeners_.size() == most_; }
  bool Start(uv_loop_t*) override { return is_complete(); }
  std::uint64_t Enter(std::vector<std::string>) override { return ++commands_; }
  ConnectionLog Leave(std::uint64_t) override { return {}; }
  void Close() override { listeners_.clear(); }

 private:
  OnRecord on_record_;
  std::size_t most_;
  std::vector<Descriptor> listeners_;
  std::uint64_t commands_ = 0;
};

}  // namespace

std::unique_ptr<SandboxNetwork> SandboxNetwork::Make(std::shared_ptr<const NetworkPolicy> policy,
                                                     NetworkQuestions*) {
  return std::make_unique<ClosedNetwork>(std::move(policy));
}

}  // namespace native_runner
