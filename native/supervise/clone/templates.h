#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "supervise/host/fingerprint.h"

namespace native_runner {

class SandboxTemplate;

// Where sandboxes are cloned from. Supervisor thread only.
class Templates {
 public:
  Templates() = default;
  virtual ~Templates() = default;
  Templates(const Templates&) = delete;
  Templates& operator=(const Templates&) = delete;

  // The template of a pool, by its number, if it is as a sandbox that would be made now; else
  // nullptr, and `why` is a clause that says so. Asking is what has one made.
  virtual std::shared_ptr<SandboxTemplate> Find(std::uint64_t pool, const Fingerprint& wanted,
                                                std::string* why) = 0;
};

}  // namespace native_runner
