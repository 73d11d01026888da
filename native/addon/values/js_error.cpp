#include "addon/values/js_error.h"

#include "addon/values/value_builder.h"

namespace native_runner {
namespace {

constexpr std::size_t kLongestShown = 60;

const char* CodeName(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidType:
      return "ERR_INVALID_ARG_TYPE";
    case ErrorCode::kInvalidValue:
      return "ERR_INVALID_ARG_VALUE";
    case ErrorCode::kOutOfRange:
      return "ERR_OUT_OF_RANGE";
    case ErrorCode::kUnavailable:
      return "ERR_SANDBOX_UNAVAILABLE";
    case ErrorCode::kClosed:
      return "ERR_SANDBOX_CLOSED";
    case ErrorCode::kSetup:
      break;
  }
  return "ERR_SANDBOX_SETUP";
}

}  // namespace

napi_value MakeJsError(napi_env env, const Error& error) {
  ValueBuilder builder(env);
  napi_value code = builder.String(CodeName(error.code));
  napi_value message = builder.String(error.message);
  napi_value made = nullptr;
  if (!builder.ok()) return nullptr;
  switch (error.code) {
    case ErrorCode::kInvalidType:
    case ErrorCode::kInvalidValue:
      napi_create_type_error(env, code, message, &made);
      break;
    case ErrorCode::kOutOfRange:
      napi_create_range_error(env, code, message, &made);
      break;
    default:
      napi_create_error(env, code, message, &made);
  }
  if (!error.fix.empty()) builder.Set(made, "fix", builder.String(error.fix));
  return made;
}

void ThrowJsError(napi_env env, const Error& error) {
  if (napi_value made = MakeJsError(env, error)) napi_throw(env, made);
}

std::string Describe(const Napi::Value& value) {
  switch (value.Type()) {
    case napi_string: {
      std::string text = value.As<Napi::String>();
      if (text.size() > kLongestShown) {
        std::size_t end = kLongestShown;
        while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U)
          --end;
        text.resize(end);
        text += "…";
      }
      return "\"" + text + "\"";
    }
    case napi_number:
    case napi_boolean:
      return value.ToString();
    case napi_undefined:
      return "undefined";
    case napi_null:
      return "null";
    case napi_object:
      if (value.IsArray()) return "an array";
      return value.IsTypedArray() ? "a typed array" : "an object";
    case napi_function:
      return "a function";
    case napi_symbol:
      return "a symbol";
    case napi_bigint:
      return "a bigint";
    case napi_external:
      break;
  }
  return "an external value";
}

}  // namespace native_runner
