#pragma once

#include <linux/seccomp.h>
#include <sys/types.h>

#include <climits>
#include <cstdint>

#include "launcher/command/directory_move.h"
#include "launcher/layers/layers.h"
#include "launcher/order/order.h"
#include "launcher/trace/observations.h"

namespace native_runner {

// An open directory and a name in it, found for a process that may change its own path meanwhile.
// The owner closes the directory.
struct FoundPlace {
  int directory = -1;
  char name[NAME_MAX + 1] = {};

  Place place() const { return {directory, name}; }
};

// The arguments of a process that waits in rename(2), renameat(2) or renameat2(2). If they can't be
// determined, the kernel handles the call.
class RenameCall {
 public:
  explicit RenameCall(const seccomp_notif& call);

  // Flags of renameat2(2).
  unsigned flags() const { return flags_; }

  // Opens the directory that the path leads to, resolved as the kernel would for that process: from
  // its working directory or descriptor, and through links. The result is the process's own only if
  // it still waits afterwards. Returns 0; any other result means that the path does not exist, has
  // no name of its own (".."), or can't be read.
  // -EAGAIN: `lookup` is kCached, and the kernel would have to read a directory. kCached never
  // does, as a process that copies a file in a directory locks it for as long as that takes.
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

// Decides if the launcher renames directories that an overlay refuses to rename, and in which file
// system. Prepared before any filter is installed, and shared by all commands of a session.
class OverlayRenames {
 public:
  // Reads the order's flag and rule; afterwards is_there() is true if the kernel supports it here.
  // False: `refusal` states what the order lacks.
  bool Prepare(const MappedOrder& order, Refusal* refusal);

  bool is_there() const { return is_there_; }
  std::uint64_t device() const { return device_; }

 private:
  bool is_there_ = false;
  std::uint64_t device_ = 0;
};

// Answers a command's rename calls, in its launcher. Leaves each to the kernel except those of a
// directory of the overlay. A helper process renames such a directory in the command's Landlock
// domain and, where the overlay refuses that, with MoveDirectory(), so nothing happens that the
// command could not do itself. Directory renames wait for one another, as they do in the kernel,
// because one directory may contain the other. No other call waits for them, and neither does the
// host: the launcher itself reads no directory of the workspace, which another process may lock
// while it copies a file. A helper process looks up the names that the kernel has not cached.
//
// A process that enters a Landlock domain of its own may have fewer rights than the command, and
// the launcher can't determine which processes did. From then on it leaves all of this command's
// calls to the kernel.
//
// Look() detects a killed helper process and answers its caller with EIO. PutBack() restores what
// that process left.
class Renames {
 public:
  Renames(const OverlayRenames& overlay, const Landlock& landlock, Refusals* refusals)
      : overlay_(overlay), landlock_(landlock), refusals_(refusals) {}

  // Takes ownership of the descriptor that ListenToRenames() returned; -1 without a listener. As a
  // process can't have two listeners, this one may also receive the calls that `refusals` answers
  // (InstallReporting()).
  void Listen(int listener);

  // Readable when Look() has work; -1 while it could do nothing.
  int descriptor() const;

  // Called after children were reaped, or when the descriptor is readable. Never waits for a
  // process.
  void Look();

  // Called when nothing of the command's tree remains. Needs a stack of kMoveStackBytes.
  void PutBack();

 private:
  // While this many directories wait, all later calls wait too.
  static constexpr int kMostMoves = 16;
  // Each look-up killed at work may leave up to three descriptors open in the launcher, which needs
  // some to end the tree. After this many, all calls are left to the kernel.
  static constexpr int kMostKilledLookUps = 16;
  enum class State { kNone, kToLookUp, kLooksUp, kWaits, kRuns, kLeftHalfDone };
  enum class Kind { kUnknown, kMove, kOther };
  struct Move {
    State state = State::kNone;
    std::uint64_t call = 0;  // the kernel's id of the call, which grows
    int process = -1;        // kLooksUp, kRuns: pidfd of the helper process
    unsigned flags = 0;
    seccomp_notif asked{};
    Kind kind = Kind::kUnknown;
    // Not 0: the moving process has left nothing to put back.
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
  bool leaves_all_ = false;  // leaves all further calls to the kernel
  int killed_look_ups_ = 0;
  Move moves_[kMostMoves];
};

}  // namespace native_runner
