#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "policy/result.h"
#include "supervise/preparation/shared.h"
#include "supervise/sandbox/port_waits.h"

namespace native_runner {

// A session as its owner has it. Supervisor thread only.
class OwnedSession {
 public:
  struct Listener {
    // Once: the layers that are in force for its commands; or why there is no session.
    std::function<void(Result<LayerRecord>)> on_open;
    // Once, last, and only after it was open: its end is proved. In words, why.
    std::function<void(const std::string& reason)> on_gone;
  };

  virtual ~OwnedSession() = default;

  virtual void Open() = 0;

  // Ends it, and what runs in it. `reason`: a clause that follows "the session has ended: ". The
  // first one stays.
  virtual void Close(const std::string& reason) = 0;

  // Whether something listens on a TCP port in it.
  virtual PortState LookForPort(std::uint16_t port) const = 0;
};

// Makes the session that a runtime's commands are run in. May be let go on any thread.
class SessionOpener {
 public:
  virtual ~SessionOpener() = default;

  // Once, before any run, on the supervisor thread. The session is still to be opened.
  virtual std::shared_ptr<OwnedSession> Make(Shared& shared,
                                             OwnedSession::Listener listener) const = 0;
};

}  // namespace native_runner
