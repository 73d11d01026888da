#include "supervise/preparation/leases.h"

#include <ctime>
#include <vector>

namespace native_runner {

std::uint64_t LeaseNow() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

bool Leases::Join(uv_loop_t* loop, const Key& lease, Holder* holder) {
  if (lease->HasEnded(LeaseNow())) return false;
  Held& held = held_[lease];
  held.loop = loop;
  held.holders.insert(holder);
  if (!held.end.active()) WatchEnd(lease, &held);
  return true;
}

void Leases::Leave(const Key& lease, Holder* holder) {
  const auto found = held_.find(lease);
  if (found == held_.end()) return;
  found->second.holders.erase(holder);
  if (found->second.holders.empty()) held_.erase(found);
}

// OnLeaseRenewed must not join or leave leases.
void Leases::NoteRenewed(const Key& lease) {
  const auto found = held_.find(lease);
  if (found == held_.end()) return;
  for (Holder* const holder : found->second.holders)
    holder->OnLeaseRenewed(lease->until_ns());
}

// Sets the timer to the current end; OnTimer checks for renewals. libuv's clock stops while the
// machine is suspended, so the timer may be late; launchers are not.
void Leases::WatchEnd(const Key& lease, Held* held) {
  constexpr std::uint64_t kMillisecond = 1'000'000;
  const std::uint64_t now = LeaseNow();
  const std::uint64_t until = lease->until_ns();
  const std::uint64_t left = until > now ? until - now : 0;
  uv_update_time(held->loop);  // the cached time may be old and would fire the timer too early
  held->end.Start(held->loop, left / kMillisecond + 1, 0, [this, lease] { OnTimer(lease); });
}

void Leases::OnTimer(const Key& lease) {
  const auto found = held_.find(lease);
  if (found == held_.end()) return;
  if (!lease->HasEnded(LeaseNow())) return WatchEnd(lease, &found->second);
  // OnLeaseEnded of one holder may make other holders leave.
  const std::set<Holder*>& holders = found->second.holders;
  const std::vector<Holder*> all(holders.begin(), holders.end());
  for (Holder* const holder : all) {
    const auto still = held_.find(lease);
    if (still == held_.end() || still->second.holders.count(holder) == 0) continue;
    Leave(lease, holder);
    holder->OnLeaseEnded();
  }
}

}  // namespace native_runner
