#pragma once

#include <sys/types.h>

#include <cstdint>

#include "launcher/layers/landlock.h"
#include "launcher/order/mapped_order.h"
#include "launcher/renames/rename_call.h"
#include "launcher/text/refusal.h"
#include "launcher/trace/refusals.h"

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
// other. All other calls, and the host, wait for none of them: the launcher itself looks at no
// directory of the workspace, which somebody may hold for as long as a file is being copied, but
// has another process of ours look where the kernel does not know a name yet.
//
// A process that puts itself into a Landlock domain of its own may do less than the command, and
// which ones did can't be told: from then on all calls of this command's are left to the kernel.
//
// A process of ours that is killed is found out by Look, and its caller told EIO. What it has left
// is put back by PutBack.
class Renames {
 public:
  Renames(const OverlayRenames& overlay, const Landlock& landlock, Refusals* refusals)
      : overlay_(overlay), landlock_(landlock), refusals_(refusals) {}

  // Takes what ListenToRenames returned, ours from here on; -1 where nobody listens. As no process
  // has two listeners, it may also be asked what `refusals` answers (InstallTold).
  void Listen(int listener);

  // Readable when Look has something to do; -1 as long as it could do nothing.
  int descriptor() const;

  // After children were reaped, or when the descriptor is readable. Never waits for a process.
  void Look();

  // When nothing of the command's tree is left. Needs a stack of kMoveStackBytes.
  void PutBack();

 private:
  // Where more directories wait, all calls do that come after them.
  static constexpr int kMostMoves = 16;
  // Each that is killed amid its work may leave descriptors open that are ours too, three at most,
  // and we need some to end the tree. Who kills so many is left to the kernel.
  static constexpr int kMostKilledLookUps = 16;
  enum class State { kNone, kToLookUp, kLooksUp, kWaits, kRuns, kLeftHalfDone };
  enum class Kind { kUnknown, kMove, kOther };
  struct Move {
    State state = State::kNone;
    std::uint64_t call = 0;  // the kernel's number for it, which grows
    int process = -1;        // kLooksUp, kRuns: pidfd of ours that does it
    unsigned flags = 0;
    seccomp_notif asked{};
    Kind kind = Kind::kUnknown;
    // Not 0: the process that moved has left nothing to put back.
    unsigned char* is_over = nullptr;
    FoundPlace from;
    FoundPlace to;
    char temporary[32] = {};
  };

  struct Job;
  static int Work(void* argument);
  static int LookUp(void* argument);

  void Take();
  Kind KindOf(const RenameCall& call, RenameCall::Lookup lookup, Move* move) const;
  bool Keep(const Move& move, State state);
  void LookAtProcess();
  void EndLookUp(Move* move);
  void EndMove(Move* move);
  void StartLookUp();
  void StartNext();
  bool Start(Move* move);
  bool Waits(std::uint64_t call) const;
  void Answer(std::uint64_t call, long result) const;
  void LeaveToKernel(std::uint64_t call) const;
  void Forget(Move* move) const;
  void StopListening();

  const OverlayRenames& overlay_;
  const Landlock& landlock_;
  Refusals* refusals_;
  int listener_ = -1;
  bool leaves_all_ = false;  // to the kernel, from here on
  int killed_look_ups_ = 0;
  Move moves_[kMostMoves];
};

}  // namespace native_runner
