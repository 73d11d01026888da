#pragma once

#include <string>
#include <string_view>

#include "policy/denials/scene.h"

namespace native_runner {

// What programs look for by themselves, and do without where it is not there: settings in the home
// directory and /etc, services in /run, what the machine is like in /proc and /sys, libraries and
// modules in one directory after the other. That these are hidden is no reason why a command
// failed, so it is no denial; unless the command line names them.
class Probes {
 public:
  // `run` must outlive it.
  explicit Probes(const DeniedRun& run);

  // Whether a word of the command line, or of a script in it, ends as the path does.
  bool IsNamed(std::string_view path) const;

  // `observation` was refused `path`, which is missing inside (or may not be read), and is a
  // directory on the host or none.
  bool IsProbe(const Observation& observation, const std::string& path, bool is_directory) const;

  // What is written in passing: caches, histories, compiled Python.
  bool IsSideEffect(const std::string& path) const;

  // The host's home directories, and the command's own.
  bool IsInHome(std::string_view path) const;

 private:
  bool IsSearch(const Observation& observation, const std::string& path) const;
  bool IsSettings(const std::string& path) const;
  bool IsOnSearchPath(const std::string& path) const;
  bool IsOnTheWay(const std::string& path) const;

  const DeniedRun& run_;
  std::string words_;               // of the command line, each between line feeds
  std::vector<std::string> homes_;  // and HOME
};

// The last component of a path.
std::string_view NameIn(std::string_view path);

// What is above it; "/" of the root.
std::string ParentOf(std::string_view path);

}  // namespace native_runner
