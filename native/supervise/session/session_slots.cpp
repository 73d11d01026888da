#include "supervise/session/session_slots.h"

#include <array>
#include <utility>

#include "supervise/sandbox/channels.h"

namespace native_runner {

Result<std::unique_ptr<SessionSlot>> SessionSlots::Take(Sandbox* sandbox) {
  auto slot = std::move(next_);
  if (slot && slot->IsAlive()) return slot;
  return Make(sandbox);
}

Result<std::unique_ptr<SessionSlot>> SessionSlots::Make(Sandbox* sandbox) const {
  auto channels = Channels::Open();
  if (!channels) return channels.error();
  const std::array given = {channels->peer.get(), shared_.null_device.get(),
                            channels->out.write.get(), channels->err.write.get()};
  if (sandbox->SendCommand(given) != Control::Sent::kSent) {
    return Error{ErrorCode::kSetup, "cannot hand the command to the session", ""};
  }
  return std::make_unique<SessionSlot>(std::move(channels->control), std::move(channels->out.read),
                                       std::move(channels->err.read));
}

void SessionSlots::PrepareNext(Sandbox* sandbox) {
  if (next_) return;
  if (auto made = Make(sandbox)) next_ = std::move(*made);
}

void SessionSlots::OnSessionGone(const std::shared_ptr<SessionSlot::Owner>& owner, bool is_proof) {
  Dismiss(owner, is_proof);
  const auto entered = entered_;  // a copy: each leaves
  for (SessionSlot* each : entered)
    each->OnSessionGone(is_proof);
}

// What stands is one of the session's processes, too.
void SessionSlots::Dismiss(const std::shared_ptr<SessionSlot::Owner>& owner, bool is_proof) {
  if (!next_ || is_proof) return next_.reset();
  next_->Enter(owner, {}, false);
  Add(next_.get());
  // Where it can't be watched, its timer sees its end.
  static_cast<void>(next_->Watch(shared_.loop, &dismissed_, false));
}

}  // namespace native_runner
