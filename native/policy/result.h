#pragma once

#include <string>
#include <utility>
#include <variant>

namespace native_runner {

// The kind of a fault, which decides what JavaScript sees: the first three are the caller's
// mistakes (TypeError / RangeError), the others mean that a sandbox cannot exist here
// (SandboxError).
enum class ErrorCode {
  kInvalidType,   // ERR_INVALID_ARG_TYPE
  kInvalidValue,  // ERR_INVALID_ARG_VALUE
  kOutOfRange,    // ERR_OUT_OF_RANGE
  kUnavailable,   // ERR_SANDBOX_UNAVAILABLE: a program or kernel feature is missing
  kSetup,         // ERR_SANDBOX_SETUP: the host refused a system call that a run needs
  kClosed,        // ERR_SANDBOX_CLOSED: the environment is shutting down
};

// A plain value. `message` is a whole sentence that names the field, the expected value and the
// actual one.
struct Error {
  ErrorCode code = ErrorCode::kSetup;
  std::string message;
  std::string fix;  // what the operator can do about it; empty if unknown
};

// Holds a value or an Error (or another fault type, such as HostFault). Code below the addon throws
// no exceptions.
template <typename T, typename Fault = Error>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Fault error) : state_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return std::holds_alternative<T>(state_); }
  explicit operator bool() const { return ok(); }
  T& value() { return std::get<T>(state_); }
  const T& value() const { return std::get<T>(state_); }
  Fault& error() { return std::get<Fault>(state_); }
  const Fault& error() const { return std::get<Fault>(state_); }
  T& operator*() { return value(); }
  T* operator->() { return &value(); }

 private:
  std::variant<T, Fault> state_;
};

}  // namespace native_runner
