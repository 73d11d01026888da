#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <string>
#include <string_view>

#include "supervise/os/descriptor.h"
#include "supervise/os/file.h"
#include "tests/supervise/support/temp_directory.h"
#include "workspace/tree/scanned_tree.h"

namespace native_runner {

// An overlay's files on disk, made by hand: the host's directory, and the upper directory.
class Overlay {
 public:
  // `is_apart`: the host's directory is on another file system than the rest, a tmpfs. `upper`: the
  // name of the one that holds changes.
  explicit Overlay(bool is_apart = false, const std::string& upper = "upper")
      : upper_("state/" + upper), host_place_(is_apart ? kOther : testing::TempDir()) {
    std::filesystem::create_directories(place_.Path(upper_));
    std::filesystem::create_directories(host_place_.Path("host"));
  }

  // True if this machine has another file system for `is_apart`.
  static bool CanBeApart() {
    struct stat one {};
    struct stat other {};
    return stat(testing::TempDir().c_str(), &one) == 0 && stat(kOther, &other) == 0 &&
           one.st_dev != other.st_dev && access(kOther, W_OK | X_OK) == 0;
  }

  const TempDirectory& place() const { return place_; }
  // The directory that holds the host's directory.
  const TempDirectory& host_place() const { return host_place_; }
  std::string Host(std::string_view name = "") const { return At("host", name); }
  std::string Upper(std::string_view name = "") const { return At(upper_, name); }

  // Writes a file of the host, and makes the directories above it.
  void Put(std::string_view name, std::string_view text) const { Write("host", name, text); }
  // Writes a command's file, with the directories above it, as overlayfs copies them.
  void Change(std::string_view name, std::string_view text) const { Write(upper_, name, text); }
  void Remove(std::string_view name) const {
    MakeParent(upper_, name);
    EXPECT_EQ(mknod(Upper(name).c_str(), S_IFCHR, 0), 0) << name;
  }
  // A directory of a command's own in the place of the host's. False: no attributes here.
  bool Replace(std::string_view name) const {
    std::filesystem::create_directories(Upper(name));
    return setxattr(Upper(name).c_str(), "user.overlay.opaque", "y", 1, 0) == 0;
  }

  ScannedTree HostTree() const { return ScannedTree(Open(Host())); }
  ScannedTree UpperTree() const { return ScannedTree(Open(Upper()), true); }

  static Descriptor Open(const std::string& path) {
    return Descriptor(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }

  // A moment that is later than all that was changed, and no later than what will be.
  static std::uint64_t Tick() {
    constexpr timespec kMoment = {0, 1'000'000};
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    const auto before = static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
                        static_cast<std::uint64_t>(now.tv_nsec);
    while (FileClock() <= before)
      nanosleep(&kMoment, nullptr);
    return FileClock();
  }

 private:
  static constexpr const char* kOther = "/dev/shm";

  const TempDirectory& PlaceOf(std::string_view tree) const {
    return tree == "host" ? host_place_ : place_;
  }
  std::string At(std::string_view tree, std::string_view name) const {
    const std::string top = PlaceOf(tree).Path(tree);
    return name.empty() ? top : top + "/" + std::string(name);
  }
  void MakeParent(std::string_view tree, std::string_view name) const {
    std::filesystem::create_directories(std::filesystem::path(At(tree, name)).parent_path());
  }
  void Write(std::string_view tree, std::string_view name, std::string_view text) const {
    MakeParent(tree, name);
    PlaceOf(tree).Write(std::string(tree) + "/" + std::string(name), text);
  }

  std::string upper_;
  TempDirectory place_;
  TempDirectory host_place_;
};

}  // namespace native_runner
