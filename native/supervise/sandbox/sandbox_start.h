#pragma once

namespace native_runner {

// Where a run's sandbox came from.
enum class SandboxStart {
  kCold,       // it was made for the run, or the run had none
  kCloned,     // it was cloned from a template (supervise/clone), for the run
  kPrewarmed,  // it stood, or was begun, before the command was known
  kSession,    // it is a session's
};

}  // namespace native_runner
