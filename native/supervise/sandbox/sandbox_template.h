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

// Where sandboxes are cloned from. Supervisor thread only.
class Templates {
 public:
  Templates() = default;
  virtual ~Templates() = default;
  Templates(const Templates&) = delete;
  Templates& operator=(const Templates&) = delete;

  // The template of a pool, by its number, if it is as a sandbox that would be made now; else
  // nullptr, and `why` is a clause that says so. Asking is what has one made.
  virtual std::shared_ptr<SandboxTemplate> Find(std::uint64_t pool, const Fingerprint& wanted,
                                                std::string* why) = 0;
};

// What a clone is made with, besides its template. Taken over only where it is made.
struct CloneAsk {
  CloneRequest request;
  int input = -1;                                      // its stdin; not kept
  std::unique_ptr<Cgroup>* cgroup = nullptr;           // that it is born into, if there is one
  std::unique_ptr<SandboxNetwork>* network = nullptr;  // that accepts what connects inside, if any
  std::shared_ptr<const void>* holds = nullptr;        // let go when its end is proved
};

// A sandbox that runs no command: its launcher makes clones of it (protocol/order.h), each as fresh
// as one of bwrap's. They live in its pid namespace, so its end would be theirs: one that is not
// wanted any more ends only when the last of them has. Owned by a keeper and by its clones;
// supervisor thread only.
class SandboxTemplate final : public std::enable_shared_from_this<SandboxTemplate>,
                              private Sandbox::User {
 public:
  struct Listener {
    std::function<void()> on_ready;  // at most once: it can be asked
    std::function<void()> on_gone;   // once, last: its end is proved
  };

  // `sandbox` has been made for the order, and nothing has been sent to it.
  SandboxTemplate(std::unique_ptr<Sandbox> sandbox, Fingerprint fingerprint, Listener listener)
      : sandbox_(std::move(sandbox)),
        fingerprint_(std::move(fingerprint)),
        listener_(std::move(listener)) {}

  // False: it can't be watched, or asked; Retire() ends it. `null_device`: not kept.
  [[nodiscard]] bool Start(uv_loop_t* loop, int null_device, std::span<const std::byte> order);

  const Fingerprint& fingerprint() const { return fingerprint_; }
  bool is_ready() const { return is_ready_ && !is_retired_; }
  bool is_retired() const { return is_retired_; }
  std::size_t clones() const { return clones_; }
  std::uint64_t served() const { return served_; }  // clones in all
  // Why it makes no clones, a clause; empty while it does, or may yet.
  const std::string& reason() const { return reason_; }

  // A sandbox that is to be watched and sent its order, as any. kSetup: none can be had.
  Result<std::unique_ptr<Sandbox>> Clone(const CloneAsk& ask);

  // Makes no more clones, and ends once the last is gone. The first reason stays.
  void Retire(const std::string& reason);

  // Of its clones. Refused: it could not make one, so it makes none any more. GiveUp: it keeps a
  // clone's end from being proved; it is ended at once, and all its clones with it.
  void OnCloneRefused(const std::string& reason) { Retire("a clone was refused: " + reason); }
  void OnCloneGone();
  void GiveUp();
  // Whether its launcher has done nothing since the last look; it is woken, as it may have been
  // stopped from outside.
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
