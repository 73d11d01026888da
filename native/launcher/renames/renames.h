#pragma once

#include <sys/types.h>

#include <cstdint>

#include "launcher/layers/landlock.h"
#include "launcher/order/mapped_order.h"
#include "launcher/renames/rename_call.h"
#include "launcher/text/refusal.h"

namespace native_runner {

// Whether, and for which file system, directories are renamed that an overlay refuses to rename.
// Prepared before any filter is on us, and shared by all commands of a session.
class OverlayRenames {
 public:
  // By the order's flag and rule; is_there() says whether it can be had here. False: `refusal` says
  // what the order lacks.
  bool Prepare(const MappedOrder& order, Refusal* refusal);

  bool is_there() const { return is_there_; }
  std::uint64_t device() const { return device_; }

 private:
  bool is_there_ = false;
  std::uint64_t device_ = 0;
};

// Answers a command's calls that rename, in its launcher. Each is left to the kernel but for those
// of a directory of the overlay: that is renamed by a process of our own, in the command's Landlock
// domain, and where the overlay refuses that, by MoveDirectory. So nothing is done that the command
// could not do. Directories wait for one another, as they do in the kernel: one may be in the
// other. All other calls, and the host, wait for none of them.
//
// A process of ours that is killed is found out by Look, and its caller told EIO. What it has left
// is put back by PutBack.
class Renames {
 public:
  Renames(const OverlayRenames& overlay, const Landlock& landlock)
      : overlay_(overlay), landlock_(landlock) {}

  // Takes what ListenToRenames returned, ours from here on; -1 where nobody listens.
  void Listen(int listener) { listener_ = listener; }

  // Readable when Look has something to do; -1 as long as it could do nothing.
  int descriptor() const;

  // After children were reaped, or when the descriptor is readable. Never waits for a process.
  void Look();

  // When nothing of the command's tree is left.
  void PutBack();

 private:
  // Where more directories wait, all calls do that come after them.
  static constexpr int kMostMoves = 16;
  enum class State { kNone, kWaits, kRuns, kLeftHalfDone };
  struct Move {
    State state = State::kNone;
    std::uint64_t call = 0;  // the kernel's number for it, which grows
    int process = -1;        // kRuns: pidfd of ours that does it
    unsigned flags = 0;
    FoundPlace from;
    FoundPlace to;
    char temporary[32] = {};
  };

  struct Job;
  static int Work(void* argument);

  void Take();
  bool IsDirectoryToMove(const RenameCall& call, Move* move) const;
  bool IsOfOverlay(int directory, const char* name) const;
  bool Keep(const Move& move);
  void LookAtProcess();
  void StartNext();
  bool Start(Move* move);
  bool Waits(std::uint64_t call) const;
  void Answer(std::uint64_t call, long result) const;
  void LeaveToKernel(std::uint64_t call) const;
  void StopListening();

  const OverlayRenames& overlay_;
  const Landlock& landlock_;
  int listener_ = -1;
  Move moves_[kMostMoves];
};

}  // namespace native_runner
