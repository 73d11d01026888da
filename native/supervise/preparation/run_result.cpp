#include "supervise/preparation/run_result.h"

namespace native_runner {

bool LayerRecord::Has(Layer layer) const {
  return std::ranges::find(first_, layer) != first_.end() ||
         std::ranges::find(later_, layer) != later_.end();
}

void LayerRecord::Add(Layer layer) {
  if (!Has(layer)) (opened_.empty() ? first_ : later_).push_back(layer);
}

void LayerRecord::Add(std::span<const Layer> layers) {
  for (const Layer layer : layers)
    Add(layer);
}

void LayerRecord::Add(const LayerRecord& others) {
  Add(others.first_);
  Add(others.later_);
  opened_.insert(opened_.end(), others.opened_.begin(), others.opened_.end());
}

void LayerRecord::AddEnforced(LayerSet enforced) {
  for (const Layer layer : kLayersOfLauncher) {
    if (enforced.Has(layer)) Add(layer);
  }
}

void LayerRecord::Remove(LayerSet layers) {
  const auto is_removed = [layers](Layer layer) { return layers.Has(layer); };
  std::erase_if(first_, is_removed);
  std::erase_if(later_, is_removed);
}

std::vector<std::string> LayerRecord::OpenedNames() const {
  std::vector<std::string> names;
  for (const std::string& option : opened_)
    names.push_back("opened:" + option);
  return names;
}

std::vector<std::string> LayerRecord::Names() const {
  std::vector<std::string> names;
  names.reserve(first_.size() + opened_.size() + later_.size());
  for (const Layer layer : first_)
    names.emplace_back(LayerName(layer));
  for (std::string& name : OpenedNames())
    names.push_back(std::move(name));
  for (const Layer layer : later_)
    names.emplace_back(LayerName(layer));
  return names;
}

ForwardAnswer OpenForward(Sandbox* sandbox, const RunRecord& record,
                          const ForwardRequest& request) {
  if (ForbidsSockets(record)) return {.state = ForwardState::kNoSockets};
  const SandboxNetwork* const network = sandbox->network();
  if (network != nullptr && network->ListensOn(request.port))
    return {.state = ForwardState::kOwnPort};
  const bool is_hosts = !record.layers.Has(Layer::kNetworkNamespace);
  if (is_hosts && request.host_port == request.port) return {.state = ForwardState::kLoop};
  return sandbox->MakeForwards()->Open(request);
}

}  // namespace native_runner
