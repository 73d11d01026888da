#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "policy/denials/denials.h"

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

// What of files a wall has refused, as the difference to what the host would have said: an error
// that the host has for the same user and path is none of ours.
class FileDenials {
 public:
  // All must outlive it.
  FileDenials(const DeniedRun& run, const Probes& probes, const LookAtHostPath& look);

  std::optional<Denial> Tell(const Observation& observation) const;

  // A program that could not be found, by the directories of the command's PATH.
  std::optional<Denial> DenialOfProgram(const std::string& program) const;

 private:
  // Where a path is for the command, and whose it is there.
  struct Place {
    std::string path = {};   // inside, behind the links that show there
    std::string host = {};   // the path on the host that would be there
    bool is_shown = false;   // the host's own is: else a private one of the sandbox's, or nothing
    bool is_there = false;   // it is shown, and the host has it
    bool is_masked = false;  // a secret, with something empty in its place
  };
  std::optional<Place> PlaceOf(const std::string& path) const;
  // No wall refuses what is done at the path by EACCES.
  bool IsLetBe(const Place& place, bool is_write) const;
  bool HostAllows(const Observation& observation, const std::string& host, bool makes) const;
  bool IsFoundElsewhere(const Observation& observation, const std::string& path) const;
  std::optional<Denial> DenialOfPath(const Observation& observation, const std::string& path) const;
  void AddGrant(const Observation& observation, const Place& place, bool makes,
                Denial* denial) const;
  DeniedBy Wall() const;

  const DeniedRun& run_;
  const Probes& probes_;
  const LookAtHostPath& look_;
};

// Whether a call makes, removes or renames what is at its path: the right to that is the
// directory's.
bool ChangesDirectory(const Observation& observation);

}  // namespace native_runner
