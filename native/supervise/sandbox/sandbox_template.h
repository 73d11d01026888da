#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "policy/result.h"
#include "supervise/host/fingerprint.h"
#include "supervise/network/sandbox_network.h"
#include "supervise/os/cgroup.h"
#include "supervise/sandbox/sandbox.h"
#include "supervise/streams/output.h"

namespace native_runner {

class SandboxTemplate;

// The templates of all pools. Supervisor thread only.
class Templates {
 public:
  Templates() = default;
  virtual ~Templates() = default;
  Templates(const Templates&) = delete;
  Templates& operator=(const Templates&) = delete;

  // Returns the template of a pool, by its number, if it matches a sandbox that would be made now;
  // else nullptr, with the reason as a clause in `why`. A call requests that a template be made.
  virtual std::shared_ptr<SandboxTemplate> Find(std::uint64_t pool, const Fingerprint& wanted,
                                                std::string* why) = 0;
};

// What one sandbox owns besides its processes.
struct SandboxParts {
  std::unique_ptr<Cgroup> cgroup;           // the cgroup it starts in; or null
  std::unique_ptr<SandboxNetwork> network;  // accepts connections from inside; or null
  std::shared_ptr<const void> holds;        // released when its end is proved
};

// A sandbox that runs no command: its launcher makes clones of it (protocol/order.h), each as fresh
// as one of bwrap's. Clones live in its pid namespace, so its end would be theirs: a retired
// template ends only after its last clone. Owned by a keeper and by its clones; supervisor thread
// only.
class SandboxTemplate final : public std::enable_shared_from_this<SandboxTemplate>,
                              private Sandbox::User {
 public:
  struct Listener {
    std::function<void()> on_ready;  // at most once: it accepts clone requests
    std::function<void()> on_gone;   // once, last: its end is proved
  };

  // `sandbox` was made for the order; nothing has been sent to it yet.
  SandboxTemplate(std::unique_ptr<Sandbox> sandbox, Fingerprint fingerprint, Listener listener)
      : sandbox_(std::move(sandbox)),
        fingerprint_(std::move(fingerprint)),
        listener_(std::move(listener)) {}

  // Returns false if it can't be watched or sent the order; Retire() ends it. `null_device`: not
  // kept.
  [[nodiscard]] bool Start(uv_loop_t* loop, int null_device, std::span<const std::byte> order);

  const Fingerprint& fingerprint() const { return fingerprint_; }
  bool is_ready() const { return is_ready_ && !is_retired_; }
  bool is_retired() const { return is_retired_; }
  std::size_t clones() const { return clones_; }
  std::uint64_t served() const { return served_; }  // clones made in all
  // Returns why it makes no clones, as a clause; empty while it does, or may later.
  const std::string& reason() const { return reason_; }

  // Returns a sandbox to watch and send an order to. kSetup: it could not be made; `parts` are then
  // as before. `input`: its stdin; not kept.
  Result<std::unique_ptr<Sandbox>> Clone(const CloneRequest& request, int input,
                                         SandboxParts* parts);

  // Makes no more clones, and ends once the last is gone. The first reason is kept.
  void Retire(const std::string& reason);

  // Called by its clones. OnCloneRefused: a clone could not be made, so the template retires.
  // GiveUp: the template prevents the proof of a clone's end; it is ended at once, with all its
  // clones.
  void OnCloneRefused(const std::string& reason) { Retire("a clone was refused: " + reason); }
  void OnCloneGone();
  void GiveUp();
  // Returns true if its launcher has done nothing since the last look. Also wakes it, as another
  // process may have stopped it.
  bool SeemsSilent();

 private:
  void OnReport(const Report& report) override;
  void OnGone() override;
  void EndIfUnused();
  std::string SetupErrorText();

  std::unique_ptr<Sandbox> sandbox_;
  Fingerprint fingerprint_;
  Listener listener_;
  std::shared_ptr<SandboxTemplate> self_;  // while there are processes
  std::size_t clones_ = 0;
  std::uint64_t served_ = 0;
  bool is_ready_ = false;
  bool is_retired_ = false;
  bool is_gone_ = false;
  EndWatch end_watch_;
  std::optional<Capture> setup_stderr_;  // until it is ready
  std::string reason_;
};

}  // namespace native_runner
