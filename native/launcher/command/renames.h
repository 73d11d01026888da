#pragma once

#include <linux/seccomp.h>
#include <sys/types.h>

#include <climits>
#include <cstdint>

#include "launcher/command/directory_move.h"
#include "launcher/layers/landlock.h"
#include "launcher/order/order.h"
#include "launcher/trace/observations.h"

namespace native_runner {

// A place whose directory is open, and its name, as they stand in a process that may change its
// own. The directory is its owner's to close.
struct FoundPlace {
  int directory = -1;
  char name[NAME_MAX + 1] = {};

  Place place() const { return {directory, name}; }
};

// What a process asks for that waits in rename(2), renameat(2) or renameat2(2). Where it says that
// something can't be told, the kernel is left to answer as it does.
class RenameCall {
 public:
  explicit RenameCall(const seccomp_notif& call);

  // Of renameat2(2).
  unsigned flags() const { return flags_; }

  // Looks up the directory that the path leads to, as the kernel would for that process: by its
  // working directory or descriptor, and through links. What is found is the process' own only if
  // it still waits by then. Another result than 0: it is not there, or has no name of its own
  // (".."), or can't be read.
  // -EAGAIN: `lookup` is kCached, and the kernel would have to look at a directory. That is refused
  // as a whole, as whoever copies a file in one holds it for as long as that takes.
  enum class Lookup { kCached, kWhole };
  long FindOld(FoundPlace* found, Lookup lookup) const { return Find(old_, found, lookup); }
  long FindNew(FoundPlace* found, Lookup lookup) const { return Find(new_, found, lookup); }

 private:
  struct Argument {
    int directory = 0;
    std::uint64_t path = 0;
  };
  long Find(const Argument& argument, FoundPlace* found, Lookup lookup) const;
  int OpenDirectory(const Argument& argument, const char* path, Lookup lookup) const;

  pid_t caller_;
  Argument old_;
  Argument new_;
  unsigned flags_ = 0;
};

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
  // has two listeners, it may also be asked what `refusals` answers (InstallReporting).
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
