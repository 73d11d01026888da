#include "launcher/trace/one_processor.h"

#include <span>

#include "launcher/kernel/calls.h"

namespace native_runner {
namespace {

constexpr pid_t kOurselves = 0;

bool HasSeveral(std::span<const std::uint64_t> set) {
  bool has_one = false;
  for (const std::uint64_t word : set) {
    if (word == 0) continue;
    if (has_one || (word & (word - 1)) != 0) return true;
    has_one = true;
  }
  return false;
}

void SetProcessors(pid_t process, const std::uint64_t* set, std::size_t size) {
  kernel::Call(SYS_sched_setaffinity, process, size, set);
}

}  // namespace

// False: there is one processor only, or it can't be told.
bool OneProcessor::Begin() {
  if (set_size_ == 0) {
    const long size = kernel::Call(SYS_sched_getaffinity, kOurselves, sizeof all_, all_);
    is_off_ = size <= 0 || !HasSeveral(all_);
    set_size_ = size > 0 ? static_cast<std::size_t>(size) : 0;
  }
  unsigned processor = 0;
  if (is_off_ || kernel::Call(SYS_getcpu, &processor, nullptr, nullptr) != 0) return false;
  if (processor / 8 >= set_size_) return false;
  for (std::uint64_t& word : here_)
    word = 0;
  here_[processor / 64] = std::uint64_t{1} << (processor % 64);
  SetProcessors(kOurselves, here_, set_size_);
  return true;
}

OneProcessor::Kept* OneProcessor::Find(pid_t process) {
  for (std::size_t at = 0; at < count_; ++at)
    if (kept_[at].process == process) return &kept_[at];
  return nullptr;
}

void OneProcessor::Add(pid_t process) {
  kept_[count_++] = {process, turn_};
}

void OneProcessor::Remove(Kept* kept) {
  *kept = kept_[--count_];
  if (count_ == 0) SetProcessors(kOurselves, all_, set_size_);
}

void OneProcessor::LetGo(Kept* kept) {
  SetProcessors(kept->process, all_, set_size_);
  Remove(kept);
}

void OneProcessor::Keep(pid_t process) {
  if (is_off_) return;
  if (++stops_ == kTurn) {
    stops_ = 0;
    for (std::size_t at = count_; at-- > 0;)
      if (kept_[at].turn != turn_) LetGo(&kept_[at]);
    ++turn_;
  }
  if (Kept* const kept = Find(process)) {
    kept->turn = turn_;
    return;
  }
  if (count_ == kMost || (count_ == 0 && !Begin())) return;
  SetProcessors(process, here_, set_size_);
  Add(process);
}

// One whose parent was let go in between, or of more than we can keep in mind, is let go at once.
void OneProcessor::KeepChild(pid_t process) {
  if (is_off_ || set_size_ == 0 || Find(process) != nullptr) return;
  if (count_ > 0 && count_ < kMost) {
    Add(process);
  } else {
    SetProcessors(process, all_, set_size_);
  }
}

void OneProcessor::Forget(pid_t process) {
  if (Kept* const kept = Find(process)) Remove(kept);
}

void OneProcessor::LetGo(pid_t process) {
  if (Kept* const kept = Find(process)) LetGo(kept);
}

void OneProcessor::LetAllGo() {
  while (count_ > 0)
    LetGo(&kept_[count_ - 1]);
}

void OneProcessor::StopKeeping() {
  LetAllGo();
  is_off_ = true;
}

}  // namespace native_runner
