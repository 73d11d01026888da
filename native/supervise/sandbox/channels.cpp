#include "supervise/sandbox/channels.h"

#include <utility>

namespace native_runner {

Result<Channels> Channels::Open() {
  Descriptor peer;
  auto control = Control::Open(&peer);
  if (!control) return control.error();
  auto out = MakePipe();
  if (!out) return out.error();
  auto err = MakePipe();
  if (!err) return err.error();
  return Channels{std::move(*control), std::move(peer), std::move(*out), std::move(*err)};
}

}  // namespace native_runner
