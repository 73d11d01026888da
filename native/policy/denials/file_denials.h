#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "policy/denials/denials.h"

namespace native_runner {

// Recognises files that programs look for by themselves and do without: settings in the home
// directory and /etc, services in /run, facts about the machine in /proc and /sys, libraries and
// modules in one directory after the other. A command does not fail because these are hidden, so
// they are no denials unless the command line names them.
class Probes {
 public:
  // `run` must outlive this object.
  explicit Probes(const DeniedRun& run);

  // True if a word of the command line, or of a script in it, ends with the path's name.
  bool IsNamed(std::string_view path) const;

  // True if a refused read is a probe. `observation` was refused `path`, which is missing inside
  // (or may not be read); `is_directory` says if it is a directory on the host.
  bool IsProbe(const Observation& observation, const std::string& path, bool is_directory) const;

  // True for files that are written as a side effect: caches, histories, compiled Python.
  bool IsSideEffect(const std::string& path) const;

  // True below the host's home directories and the command's own.
  bool IsInHome(std::string_view path) const;

  // Returns the home directory that a path is in, or on the way to; empty if there is none.
  std::string HomeOf(const std::string& path) const;

 private:
  bool IsSearch(const Observation& observation, const std::string& path) const;
  bool IsSettings(const std::string& path) const;
  bool IsOnSearchPath(const std::string& path) const;
  bool IsOnTheWay(const std::string& path) const;

  const DeniedRun& run_;
  std::string words_;               // of the command line, separated by line feeds
  std::vector<std::string> homes_;  // the host's, and HOME
};

// Returns the last component of a path.
std::string_view NameIn(std::string_view path);

// Turns refused file accesses into denials. Compares a refusal with what the host would have
// answered: an error that the host gives for the same user and path is no denial.
class FileDenials {
 public:
  // All arguments must outlive this object.
  FileDenials(const DeniedRun& run, const Probes& probes, const LookAtHostPath& look);

  std::optional<Denial> DenialOfAccess(const Observation& observation) const;

  // Returns the denial of a write into the command's home, or of making it, that a program did by
  // itself (Probes::IsSideEffect); nullopt for what the host refuses too.
  std::optional<Denial> DenialOfOwnWrite(const Observation& observation) const;

  // Returns the denial of a program that was looked for (MissingPrograms) and is on the host, on
  // the command's PATH or in a directory that is not shown (DenialScene::hidden).
  std::optional<Denial> DenialOfProgram(const Observation& missing) const;

 private:
  // A path as the command sees it, and the host's file there.
  struct Place {
    std::string path = {};   // inside, with all visible links followed
    std::string host = {};   // the path on the host that would be there
    bool is_shown = false;   // the host's file shows there, not a private one of the sandbox
    bool is_there = false;   // it is shown, and the host has it
    bool is_masked = false;  // a secret, hidden by an empty file or directory
  };
  std::optional<Place> PlaceOf(const std::string& path) const;
  // True if no wall refuses the access to `place` with EACCES.
  bool IsLetBe(const Place& place, bool is_write) const;
  bool HostAllows(const Observation& observation, const std::string& host, bool makes) const;
  bool IsFoundElsewhere(const Observation& observation, const std::string& path) const;
  // True if a wall gave this error for a write to `place`.
  bool RefusesWrite(int error, const Place& place) const;
  // `is_wanted`: the path is known not to be a probe.
  std::optional<Denial> DenialOfPath(const Observation& observation, const std::string& path,
                                     bool is_wanted) const;
  void ShowHiddenTools(const HiddenTools& hidden, Denial* denial) const;
  std::string HiddenStoreOf(const std::string& path) const;
  void AddGrant(const Observation& observation, const Place& place, bool makes,
                Denial* denial) const;
  DeniedBy Wall() const;

  const DeniedRun& run_;
  const Probes& probes_;
  const LookAtHostPath& look_;
};

// True if the call only checked if a file exists.
bool IsLookUp(const Observation& observation);

// True if a call makes, removes or renames the file at its path, which needs the right to write its
// directory.
bool ChangesDirectory(const Observation& observation);

}  // namespace native_runner
