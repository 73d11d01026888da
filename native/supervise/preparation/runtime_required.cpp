#include "protocol/layer.h"
#include "supervise/preparation/runtime.h"

namespace native_runner {
namespace {

// The options of the caller's that undo layers, for the message.
std::string OpenedBy(const LayerRecord& layers) {
  std::string text;
  for (const std::string& name : layers.OpenedNames())
    text += " (" + name + ")";
  return text;
}

// Which of the launcher's layers may come with these flags.
LayerSet PossibleLayers(std::uint32_t flags) {
  LayerSet possible;
  if ((flags & kOrderLandlock) != 0) {
    possible.Add(Layer::kLandlockFiles);
    possible.Add(Layer::kLandlockScope);
  }
  if ((flags & kOrderNoSockets) != 0) possible.Add(Layer::kLandlockTcp);
  if ((flags & kOrderMakeInit) != 0) possible.Add(Layer::kPidNamespace);
  if ((flags & kOrderSession) != 0) possible.Add(Layer::kCommandSeparation);
  if ((flags & kOrderRenames) != 0) possible.Add(Layer::kRenameDirectories);
  return possible;
}

}  // namespace

std::optional<Error> ApplyRequired(const std::vector<std::string>& required,
                                   Preparation* preparation) {
  const LayerRecord& layers = preparation->record.layers;
  const LayerSet possible = PossibleLayers(preparation->order.flags);
  for (const std::string& name : required) {
    std::optional<Layer> layer = LayerOf(name);
    if (layer && layers.Has(*layer)) continue;
    // Where the launcher makes the pid namespace, its end is the end of the tree.
    if (layer == Layer::kTreeKillPidNamespace) layer = Layer::kPidNamespace;
    if (!layer || !possible.Has(*layer)) {
      return Error{ErrorCode::kSetup,
                   "the required layer \"" + name + "\" is not one that " +
                       preparation->record.runtime + " has under this policy" + OpenedBy(layers),
                   "choose another runtime, or take the layer off the required ones"};
    }
    preparation->order.required.Add(*layer);
  }
  return std::nullopt;
}

}  // namespace native_runner
