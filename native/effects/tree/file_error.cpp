#include "effects/tree/file_error.h"

namespace native_runner {

FileError Refused(const char* call, int number) {
  FileError error;
  error.call = call;
  error.number = number;
  return error;
}

FileError Unavailable(std::string message, std::string fix) {
  FileError error;
  error.kind = FileError::Kind::kSandbox;
  error.sandbox = {ErrorCode::kUnavailable, std::move(message), std::move(fix)};
  return error;
}

}  // namespace native_runner
