#pragma once

#include <uv.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>

#include "policy/options/request.h"
#include "supervise/os/handle.h"

namespace native_runner {

// Returns the clock of leases, in nanoseconds: CLOCK_BOOTTIME (clock_gettime(2)), which advances
// while the machine is suspended and cannot be set. Launchers read the same clock. Any thread.
std::uint64_t LeaseNow();

// Tracks the holders of each lease and notifies them of its renewal and end. Launchers enforce the
// leases of their runs themselves; this is the supervisor's own watch while it runs. Supervisor
// thread only.
class Leases {
 public:
  class Holder {
   public:
    Holder() = default;
    virtual ~Holder() = default;
    Holder(const Holder&) = delete;
    Holder& operator=(const Holder&) = delete;

    virtual void OnLeaseRenewed(std::uint64_t until_ns) = 0;
    // Called once; the holder has already left the lease.
    virtual void OnLeaseEnded() = 0;
  };

  // Returns false if the lease has ended; it is not held then. `holder` must leave before it is
  // destroyed.
  [[nodiscard]] bool Join(uv_loop_t* loop, const std::shared_ptr<const Lease>& lease,
                          Holder* holder);
  // Does nothing if the lease is not held.
  void Leave(const std::shared_ptr<const Lease>& lease, Holder* holder);

  // Notifies the holders that the lease was renewed.
  void NoteRenewed(const std::shared_ptr<const Lease>& lease);

 private:
  using Key = std::shared_ptr<const Lease>;
  struct Held {
    uv_loop_t* loop = nullptr;
    std::set<Holder*> holders;
    Timer end;
  };

  void WatchEnd(const Key& lease, Held* held);
  void OnTimer(const Key& lease);

  std::map<Key, Held> held_;
};

}  // namespace native_runner
