#include "addon/values/value_builder.h"

#include <cstring>
#include <memory>
#include <utility>

namespace native_runner {

bool ValueBuilder::Check(napi_status status) {
  ok_ = ok_ && status == napi_ok;
  return ok_;
}

napi_value ValueBuilder::Object() {
  napi_value made = nullptr;
  if (ok_) Check(napi_create_object(env_, &made));
  return made;
}

napi_value ValueBuilder::String(std::string_view text) {
  napi_value made = nullptr;
  if (ok_) Check(napi_create_string_utf8(env_, text.data(), text.size(), &made));
  return made;
}

napi_value ValueBuilder::Number(double number) {
  napi_value made = nullptr;
  if (ok_) Check(napi_create_double(env_, number, &made));
  return made;
}

napi_value ValueBuilder::Boolean(bool value) {
  napi_value made = nullptr;
  if (ok_) Check(napi_get_boolean(env_, value, &made));
  return made;
}

napi_value ValueBuilder::Null() {
  napi_value made = nullptr;
  if (ok_) Check(napi_get_null(env_, &made));
  return made;
}

napi_value ValueBuilder::Undefined() {
  napi_value made = nullptr;
  if (ok_) Check(napi_get_undefined(env_, &made));
  return made;
}

napi_value ValueBuilder::Array(const std::vector<napi_value>& elements) {
  napi_value made = nullptr;
  if (ok_) Check(napi_create_array_with_length(env_, elements.size(), &made));
  for (std::size_t i = 0; ok_ && i < elements.size(); ++i) {
    Check(napi_set_element(env_, made, static_cast<std::uint32_t>(i), elements[i]));
  }
  return made;
}

napi_value ValueBuilder::Strings(std::span<const std::string> strings) {
  std::vector<napi_value> elements;
  elements.reserve(strings.size());
  for (const std::string& text : strings)
    elements.push_back(String(text));
  return Array(elements);
}

void ValueBuilder::Set(napi_value object, const char* key, napi_value value) {
  if (ok_) Check(napi_set_named_property(env_, object, key, value));
}

napi_value ValueBuilder::Call(napi_value function, std::span<const napi_value> arguments) {
  napi_value receiver = Undefined();
  napi_value made = nullptr;
  if (ok_) {
    Check(napi_call_function(env_, receiver, function, arguments.size(), arguments.data(), &made));
  }
  return made;
}

bool ValueBuilder::CallBack(napi_value function, std::span<const napi_value> arguments) {
  napi_value receiver = Null();
  if (!ok_) return false;
  const napi_status status =
      napi_call_function(env_, receiver, function, arguments.size(), arguments.data(), nullptr);
  napi_value thrown = nullptr;
  bool pending = false;
  if (status != napi_ok && napi_is_exception_pending(env_, &pending) == napi_ok && pending &&
      napi_get_and_clear_last_exception(env_, &thrown) == napi_ok) {
    napi_fatal_exception(env_, thrown);
  }
  return status == napi_ok;
}

napi_value ValueBuilder::View(napi_value buffer, std::size_t size) {
  napi_value made = nullptr;
  if (ok_) Check(napi_create_typedarray(env_, napi_uint8_array, size, buffer, 0, &made));
  return made;
}

napi_value ValueBuilder::CopiedBytes(const std::uint8_t* data, std::size_t size) {
  napi_value buffer = nullptr;
  void* memory = nullptr;
  if (!ok_ || !Check(napi_create_arraybuffer(env_, size, &memory, &buffer))) return nullptr;
  if (size > 0) std::memcpy(memory, data, size);
  return View(buffer, size);
}

napi_value ValueBuilder::TakenBytes(Bytes bytes) {
  if (!ok_) return nullptr;
  if (!bytes.mapped()) return CopiedBytes(bytes.data(), bytes.size());
  auto owner = std::make_unique<Bytes>(std::move(bytes));
  napi_value buffer = nullptr;
  const napi_status status = napi_create_external_arraybuffer(
      env_, owner->data(), owner->size(),
      [](napi_env, void*, void* hint) { delete static_cast<Bytes*>(hint); }, owner.get(), &buffer);
  // Some hosts (Electron) forbid memory that V8 did not allocate.
  if (status != napi_ok) return CopiedBytes(owner->data(), owner->size());
  const std::size_t size = owner.release()->size();
  return View(buffer, size);
}

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
