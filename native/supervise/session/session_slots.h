#pragma once

#include <cstddef>
#include <memory>
#include <set>

#include "supervise/preparation/shared.h"
#include "supervise/session/session_slot.h"

namespace native_runner {

// The slots of one session: those that commands are in, and the one that stands for the next.
// Supervisor thread only; owned by its session.
class SessionSlots {
 public:
  explicit SessionSlots(const Shared& shared) : shared_(shared) {}

  // One for a command that comes now. `sandbox`: the session's. kSetup when there is none.
  Result<std::unique_ptr<SessionSlot>> Take(Sandbox* sandbox);
  // Entered for a command, until OnSlotLeft.
  void Add(SessionSlot* slot) { entered_.insert(slot); }
  void Remove(SessionSlot* slot) { entered_.erase(slot); }

  // Makes the next command's while there is time. One that can't be made is no matter here: the
  // command tries again, and tells why.
  void PrepareNext(Sandbox* sandbox);

  // The session's launcher is gone; `is_proof`: so is all that it has made.
  void OnSessionGone(const std::shared_ptr<SessionSlot::Owner>& owner, bool is_proof);

  std::size_t entered() const { return entered_.size(); }

 private:
  // The user of what stood, for its end.
  struct Dismissed final : Sandbox::User {
    explicit Dismissed(SessionSlots* whose) : slots(whose) {}
    void OnReport(const Report& /*report*/) override {}
    void OnGone() override { slots->next_.reset(); }
    SessionSlots* slots;
  };

  Result<std::unique_ptr<SessionSlot>> Make(Sandbox* sandbox) const;
  void Dismiss(const std::shared_ptr<SessionSlot::Owner>& owner, bool is_proof);

  const Shared& shared_;
  std::unique_ptr<SessionSlot> next_;
  Dismissed dismissed_{this};
  std::set<SessionSlot*> entered_;
};

}  // namespace native_runner
