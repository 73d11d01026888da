#include "addon/convert/reader.h"

#include "addon/values/js_error.h"

namespace native_runner {

Reader::~Reader() {
  if (fault_ && !lost_) ThrowJsError(env_, *fault_);
}

void Reader::Fail(const Error& error) {
  if (!fault_) fault_ = error;
}

void Reader::FailUnknownField(const Error& error) {
  if (is_unknown_field_) return;
  is_unknown_field_ = true;
  fault_ = error;
}

bool Reader::Lost(const Napi::Value& value) {
  if (value.IsEmpty() || env_.IsExceptionPending()) lost_ = true;
  return lost_;
}

}  // namespace native_runner
