#include "supervise/sandbox/listeners.h"

#include <utility>

namespace native_runner {

const char* TakeListeners(std::vector<Descriptor> made, SandboxNetwork* network, uv_loop_t* loop) {
  for (Descriptor& listener : made) {
    if (!network->is_complete() && listener.valid()) network->Take(std::move(listener));
  }
  if (!network->is_complete()) return "a listener is missing";
  return network->Start(loop) ? nullptr : "it can't be watched";
}

}  // namespace native_runner
