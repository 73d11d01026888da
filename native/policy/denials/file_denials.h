#pragma once

#include <optional>

#include "policy/denials/denial.h"
#include "policy/denials/probes.h"
#include "policy/denials/scene.h"

namespace native_runner {

// What of files a wall has refused, as the difference to what the host would have said: an error
// that the host has for the same user and path is none of ours.
class FileDenials {
 public:
  // All must outlive it.
  FileDenials(const DeniedRun& run, const Probes& probes, const LookAtHostPath& look);

  std::optional<Denial> Tell(const Observation& observation) const;

  // A program that could not be found, by the directories of the command's PATH.
  std::optional<Denial> TellProgram(const std::string& program) const;

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
  std::optional<Denial> TellPath(const Observation& observation, const std::string& path) const;
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
