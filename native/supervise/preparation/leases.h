#pragma once

#include <uv.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>

#include "policy/options/request.h"
#include "supervise/os/handle.h"

namespace native_runner {

// The time that leases are kept by, in nanoseconds: it goes on while the machine is suspended, and
// nobody sets it (CLOCK_BOOTTIME in clock_gettime(2)). Launchers read the same one. Any thread.
std::uint64_t LeaseNow();

// Who holds which lease, and hears of it: launchers keep the leases of their runs by themselves,
// and this is the supervisor's own look at them, for as long as it runs. Supervisor thread only.
class Leases {
 public:
  class Holder {
   public:
    Holder() = default;
    virtual ~Holder() = default;
    Holder(const Holder&) = delete;
    Holder& operator=(const Holder&) = delete;

    virtual void OnLeaseRenewed(std::uint64_t until_ns) = 0;
    // Once; it holds nothing any more.
    virtual void OnLeaseEnded() = 0;
  };

  // False: the lease has ended, and is not held. `holder` leaves before it goes.
  [[nodiscard]] bool Join(uv_loop_t* loop, const std::shared_ptr<const Lease>& lease,
                          Holder* holder);
  // Nothing where it is not held.
  void Leave(const std::shared_ptr<const Lease>& lease, Holder* holder);

  // It has been renewed: its holders are told.
  void Tell(const std::shared_ptr<const Lease>& lease);

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
