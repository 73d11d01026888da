#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/result.h"
#include "supervise/os/descriptor.h"

namespace native_runner {

// Decodes a path of proc_pid_mountinfo(5), where space, tab, newline and backslash are octal
// escapes.
std::string WithoutEscapes(std::string_view text);

// One line of proc_pid_mountinfo(5); points into the text that it was read from.
struct MountLine {
  std::string_view device;   // MAJOR:MINOR
  std::string_view root;     // the directory of the file system that is mounted; with escapes
  std::string_view point;    // where it is; with escapes
  std::string_view options;  // of the mount, not of the file system
  std::string_view kind;     // of the file system; empty: the line is cut off
  std::string_view source;   // such as a block device; with escapes

  bool is_writable() const { return options == "rw" || options.starts_with("rw,"); }
};

// Reads the lines of a text of proc_pid_mountinfo(5), one after the other.
class MountLines {
 public:
  explicit MountLines(std::string_view mounts) : rest_(mounts) {}
  // Returns the next line; nullopt at the end.
  std::optional<MountLine> Next();

 private:
  std::string_view rest_;
};

// Reads the whole table of the mounts that a process sees, such as "/proc/self/mountinfo". kSetup
// if it can't be read, or if it is beyond 8 MiB.
Result<std::string> ReadMountTable(const std::string& path);

// Returns true if each mounted file system is one of this machine's own kernel, on its disks or in
// its memory, so that it answers: none of a network, of FUSE, of a hypervisor or of an automounter,
// except below /proc and /sys. `mounts`: text of proc_pid_mountinfo(5).
bool AreLocalMounts(std::string_view mounts);

// Returns the mount points of those that may not answer.
std::vector<std::string> FarMountPointsOf(std::string_view mounts);

// Returns the mount points below a directory, none of them inside another.
std::vector<std::string> MountPointsBelow(std::string_view mounts, const std::string& directory);

// Counts the changes of the mounts that this process sees: proc_pid_mountinfo(5) reports each by
// poll(2) to each process that has it open. One thread only.
class MountTable {
 public:
  // Returns the number of changes seen since the first call; several changes between two calls
  // count as one. Equal results mean that nothing was mounted or unmounted in between. nullopt if
  // /proc can't be read.
  std::optional<std::uint64_t> Changes();

  // Returns true if some mount receives or propagates mounts, so that a copy of this namespace may
  // receive mounts too (MS_SHARED in mount(2)); also if this can't be determined. The kernel does
  // not report a mount that is made shared later: a launcher that finds such a copy reports it.
  bool AreShared();
  // Treats the mounts as shared until they change.
  void TakeForShared() { shared_ = true; }

  // AreLocalMounts of the mounts now; false if this can't be determined.
  bool AreLocal();
  // The same, if Changes() has just returned `changes`.
  bool AreLocalAt(std::optional<std::uint64_t> changes);

  // Returns the mount points below a directory, none of them inside another; nullopt if they can't
  // be determined.
  std::optional<std::vector<std::string>> PointsBelow(const std::string& directory);

  // FarMountPointsOf the mounts at the last look of AreLocal.
  const std::vector<std::string>& FarMountPoints() const { return far_; }

 private:
  void Look(std::optional<std::uint64_t> changes);

  Descriptor table_;
  std::uint64_t changes_ = 0;
  std::optional<std::uint64_t> looked_at_;  // Changes() at the last look
  bool shared_ = true;
  bool local_ = false;
  std::vector<std::string> far_;
  std::optional<std::string> text_;  // of the last look
};

// Makes the mounts of another process' mount namespace private (MS_PRIVATE in mount(2)), so that
// later mounts and unmounts on the host do not affect them.
//
// Works without privileges if the namespace belongs to a user namespace that this user made, as
// bwrap's do. Does nothing if root made it, with a set-user-id bwrap, and we are not root. `pidfd`:
// of a process in it that is waiting. kSetup names the call that failed. Blocks the calling thread
// for some 0.2 ms.
std::optional<Error> MakeMountsPrivate(int pidfd);

// Opens /dev/null for reading and writing, as root through a read-only mount of its own where the
// kernel can make one (Linux 5.12): a command that has it as stdin can't change the host's node.
Result<Descriptor> OpenNullDevice();

}  // namespace native_runner
