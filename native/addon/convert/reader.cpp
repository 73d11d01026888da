#include "addon/convert/reader.h"

#include "addon/values/js_error.h"

namespace native_runner {

void Reader::Fail(const Error& error) {
  if (failed_) return;
  failed_ = true;
  ThrowJsError(env_, error);
}

bool Reader::Lost(const Napi::Value& value) {
  if (value.IsEmpty() || env_.IsExceptionPending()) failed_ = true;
  return failed_;
}

}  // namespace native_runner
