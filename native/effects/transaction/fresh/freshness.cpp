#include "effects/transaction/fresh/freshness.h"

#include <fcntl.h>

#include <utility>

#include "effects/transaction/fresh/pinned_files.h"
#include "supervise/transaction/look_again.h"

namespace native_runner {

namespace {

// What is no mount shows its files as they are.
bool MayBeStale(const KeptWorkspace& kept) {
  return kept.was_entered && kept.mount_namespace.valid();
}

}  // namespace

// With the lock.
bool Freshness::HasMissed() {
  if (!edits_ || edits_->HasSome()) has_missed_ = true;
  if (edits_ && !edits_->is_whole()) edits_.reset();  // the next `Watch` begins anew
  return has_missed_;
}

bool Freshness::IsStale() {
  const auto kept = current_->Enter();
  if (!kept) return true;
  if (!MayBeStale(*kept)) return false;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  return !lock || HasMissed();
}

std::optional<Error> Freshness::Freshen(const std::string& workspace, int upper) {
  const std::lock_guard lock(mutex_);
  const auto kept = current_->Enter();
  if (!kept || !MayBeStale(*kept) || !HasMissed()) return std::nullopt;
  // What the host changes from here on is missed again.
  has_missed_ = false;
  const std::uint64_t begun = FileClock();
  if (auto error = LookAgain(launcher_, *kept)) {
    has_missed_ = true;
    return error;
  }
  const std::uint64_t earlier = std::exchange(fresh_ns_, begun);
  constexpr long kOwners = 2;  // the transaction, and `kept`
  if (kept.use_count() <= kOwners) return std::nullopt;
  auto host = OpenPath(workspace.c_str(), O_RDONLY | O_DIRECTORY);
  if (!host) {
    has_missed_ = true;
    fresh_ns_ = earlier;
    return host.error();
  }
  auto pinned = FindPinned(ScannedTree(std::move(*host)), kept->root.get(), upper, earlier);
  // Whoever held it may let it go: the next looks again.
  if (!pinned.empty()) has_missed_ = true;
  pinned_.merge(pinned);
  return std::nullopt;
}

std::set<std::string, std::less<>> Freshness::pinned() {
  const std::lock_guard lock(mutex_);
  return pinned_;
}

void Freshness::BeginAnew() {
  const std::lock_guard lock(mutex_);
  static_cast<void>(HasMissed());
  has_missed_ = false;
  pinned_.clear();
  fresh_ns_ = FileClock();
}

std::uint64_t Freshness::FreshUntil(std::uint64_t now) {
  const std::lock_guard lock(mutex_);
  if (!HasMissed()) fresh_ns_ = now;
  return fresh_ns_;
}

void Freshness::Watch(const ScannedTree& host) {
  {
    const std::lock_guard lock(mutex_);
    const auto kept = current_->Enter();
    if (edits_ || is_blind_ || is_stopped_ || !kept || !MayBeStale(*kept)) return;
    if (std::chrono::steady_clock::now() < next_watch_) return;
  }
  constexpr int kRest = 20;
  const auto begun = std::chrono::steady_clock::now();
  auto edits = HostEdits::Watch(host, is_stopped_);
  const auto ended = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex_);
  next_watch_ = ended + kRest * (ended - begun);
  if (edits) {
    edits_ = std::move(edits);
    has_missed_ = true;  // nobody has watched until now
  } else {
    is_blind_ = !is_stopped_;
  }
}

}  // namespace native_runner
