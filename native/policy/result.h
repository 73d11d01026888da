#pragma once

#include <optional>
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

// Returns the fault of a failed result, or the error that is there; else nullptr.
template <typename T, typename Fault>
Fault* FaultOf(Result<T, Fault>& result) {
  return result.ok() ? nullptr : &result.error();
}
template <typename Fault>
Fault* FaultOf(std::optional<Fault>& error) {
  return error ? &*error : nullptr;
}

// TRY(expression) returns from the function with the fault of a Result or with an error
// (std::optional<Error>), if there is one. TRY_ASSIGN(const auto name, expression) does the same
// with a Result, and otherwise declares `name` with its value.
#define TRY(expression) TRY_AS(TRY_NAME(tried_, __LINE__), expression)
#define TRY_ASSIGN(left, expression) TRY_ASSIGN_AS(TRY_NAME(tried_, __LINE__), left, expression)

#define TRY_AS(tried, expression)                                              \
  do {                                                                         \
    auto tried = (expression);                                                 \
    if (auto* fault = native_runner::FaultOf(tried)) return std::move(*fault); \
  } while (false)
#define TRY_ASSIGN_AS(tried, left, expression)      \
  auto tried = (expression);                        \
  if (!tried.ok()) return std::move(tried.error()); \
  left = std::move(tried.value()) /* NOLINT(bugprone-macro-parentheses): a declaration */
#define TRY_NAME(prefix, line) TRY_JOINED(prefix, line)
#define TRY_JOINED(prefix, line) prefix##line

}  // namespace native_runner
