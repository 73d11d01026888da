#include <algorithm>

#include "protocol/report.h"
#include "supervise/preparation/runtime.h"

namespace native_runner {

namespace {

// The options of the caller's that undo layers, for the message.
std::string OpenedBy(const std::vector<std::string>& layers) {
  std::string text;
  for (const std::string& layer : layers) {
    if (layer.starts_with("opened:")) text += " (" + layer + ")";
  }
  return text;
}

}  // namespace

std::optional<Error> ApplyRequired(const std::vector<std::string>& required,
                                   Preparation* preparation) {
  const auto& layers = preparation->record.layers;
  const std::uint32_t flags = preparation->order.flags;
  std::uint32_t possible = 0;  // what the launcher may be able to add
  if ((flags & kOrderLandlock) != 0) possible |= kEnforcedLandlockFiles | kEnforcedLandlockScope;
  if ((flags & kOrderNoSockets) != 0) possible |= kEnforcedLandlockTcp;
  if ((flags & kOrderMakeInit) != 0) possible |= kEnforcedOwnInit;
  if ((flags & kOrderSession) != 0) possible |= kEnforcedSeparation;
  for (const std::string& name : required) {
    if (std::find(layers.begin(), layers.end(), name) != layers.end()) continue;
    const std::uint32_t bit = EnforcedLayerBit(name) & possible;
    if (bit == 0) {
      return Error{ErrorCode::kSetup,
                   "the required layer \"" + name + "\" is not one that " +
                       preparation->record.runtime + " has under this policy" + OpenedBy(layers),
                   "choose another runtime, or take the layer off the required ones"};
    }
    preparation->order.required |= bit;
  }
  return std::nullopt;
}

}  // namespace native_runner
