#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "policy/options/request.h"
#include "policy/result.h"
#include "supervise/os/descriptor.h"
#include "supervise/os/handle.h"
#include "supervise/preparation/backend.h"
#include "supervise/sandbox/sandbox.h"

namespace native_runner {

// Measures what a run adds to its places on disk and in memory, and what is free on their file
// systems, for `writeBytes` and `reserveBytes`. All is in bytes that file systems allocate: a hole
// of a sparse file is nothing, and what is written through a mapping is something.
//
// A tmpfs of the sandbox says itself what it holds. Directories of the host are walked, each file
// counts once. A walk takes as long as there are files, so that between two walks only free space
// is asked: no more than it has shrunk can have been added. Any thread, one at a time; blocks as
// the file systems do, but for Enter, which looks at /proc and at memory only.
class WrittenSpace {
 public:
  WrittenSpace(WrittenPlaces places, const Limits& limits);

  // Opens the places, and measures what they hold before the run. kSetup if they can't be opened,
  // or if less than `reserveBytes` is free already.
  std::optional<Error> Begin();

  // From now on also counts what the sandbox holds in memory. `process`: number in /proc of one
  // that has the sandbox's mounts. `is_new`: these held nothing before the run; else what they hold
  // now is not the run's. kSetup if they can't be looked at.
  std::optional<Error> Enter(pid_t process, bool is_new);

  // From now on also counts deleted files that descendants of this process have open; 0: of none.
  // Before the first Look.
  void SetLauncher(pid_t launcher) { launcher_ = launcher; }

  // Returns the name of the limit that the run has exceeded, or nullptr.
  const char* Look();

  // The same once all its processes are gone: exact, and only about what the run has added.
  const char* LookAtEnd();

 private:
  // A file system with a place of the run's, or with something mounted in one.
  struct Volume {
    Descriptor directory;  // O_PATH
    std::string path;      // of a place on it, for messages
    std::uint64_t id = 0;
    std::uint64_t free_before = 0;   // bytes, at Begin
    std::uint64_t free_at_walk = 0;  // at the last walk
  };
  struct Memory {
    Descriptor directory;  // O_PATH
    std::uint64_t before = 0;
  };

  std::optional<Error> AddVolume(const std::string& path, Descriptor directory);
  std::optional<Error> AddMemory(const std::string& path, bool is_new);
  std::uint64_t InMemory() const;
  std::uint64_t Shrunk() const;
  const Volume* BelowReserve() const;
  bool MustWalk(std::uint64_t in_memory) const;
  enum class Moment { kBefore, kMeanwhile, kAtEnd };
  void WalkAll(Moment moment);

  WrittenPlaces places_;
  std::optional<std::uint64_t> write_bytes_;
  std::optional<std::uint64_t> reserve_bytes_;
  std::vector<std::pair<std::string, Descriptor>> roots_;  // of `places_.counted`
  std::vector<Volume> volumes_;
  std::vector<Memory> memory_;
  pid_t launcher_ = 0;
  std::uint64_t bytes_before_ = 0;   // of the roots
  std::uint64_t closed_before_ = 0;  // directories that could not be looked into
  std::size_t files_ = 0;            // seen by the last walk
  std::uint64_t added_ = 0;          // to the roots, by the last walk
  std::uint64_t hidden_ = 0;         // in files that no walk can see, by the last walk
  std::uint64_t walked_at_ns_ = 0;
  std::uint64_t walk_ns_ = 0;  // that it took
};

class WrittenSpace;

// Keeps the limits `writeBytes` and `reserveBytes` of one run: looks every kEveryMs at what it has
// added and what is free, on a thread that may be left behind where a file system does not answer.
// Supervisor thread only; owned by its run. Callbacks may come after its end: they own what they
// use.
class SpaceWatch {
 public:
  static constexpr std::uint64_t kEveryMs = 40;

  // True if a request has one of these limits.
  static bool IsWanted(const Limits& limits) { return limits.write_bytes || limits.reserve_bytes; }

  SpaceWatch(SupervisorContext& shared, WrittenPlaces places, const Limits& limits);
  ~SpaceWatch();

  // Measures what is there before the run; `done` may be called before this returns. An error ends
  // the run.
  void Begin(std::function<void(const std::optional<Error>&)> done);

  // Call before the command starts if the sandbox was there before its run, and when it is ready.
  // The first call that finds its mounts counts. kSetup if they can't be looked at.
  std::optional<Error> Enter(const Sandbox& sandbox, bool is_ready);

  // From now on calls `over` with the name of a limit that the run has exceeded, once.
  void Start(std::function<void(const char*)> over);
  void Stop() { timer_.Stop(); }

  // Looks once more when all processes are gone, and then calls `done` with the name of the limit
  // that the run has exceeded, or nullptr.
  void Finish(std::function<void(const char*)> done);

 private:
  void Do(std::function<void()> look, std::function<void(const std::optional<Error>&)> done);
  void LookNow();

  SupervisorContext& shared_;
  std::shared_ptr<WrittenSpace> space_;
  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
  std::function<void(const char*)> over_;
  bool is_looking_ = false;
  bool has_entered_ = false;
  Timer timer_;
};

}  // namespace native_runner
