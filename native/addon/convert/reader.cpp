#include "addon/convert/reader.h"

#include "addon/values/js_error.h"

namespace native_runner {

void Reader::Fail(const Error& error) {
  if (failed_) return;
  failed_ = true;
  ThrowJsError(env_, error);
}

void Reader::FailType(std::string_view label, const char* expected, const Napi::Value& got) {
  if (failed_) return;
  Fail({ErrorCode::kInvalidType,
        "Expected `" + std::string(label) + "` to be " + expected + ", got " + Describe(got), ""});
}

// A getter threw, or the environment is being terminated: then there is no value to look at.
bool Reader::Lost(const Napi::Value& value) {
  if (value.IsEmpty() || env_.IsExceptionPending()) failed_ = true;
  return failed_;
}

std::optional<Napi::Object> Reader::Object(const Napi::Value& value, std::string_view name) {
  if (failed_) return std::nullopt;
  if (value.IsObject() && !value.IsArray() && !value.IsFunction()) return value.As<Napi::Object>();
  FailType(name, "an object", value);
  return std::nullopt;
}

std::optional<Napi::Value> Reader::Value(const Napi::Object& from, const char* key) {
  if (failed_) return std::nullopt;
  const Napi::Value value = from.Get(key);
  if (Lost(value) || value.IsUndefined()) return std::nullopt;
  return value;
}

std::optional<std::string> Reader::String(const Napi::Object& from, const char* key,
                                          std::string_view label) {
  const auto value = Value(from, key);
  if (!value) return std::nullopt;
  if (value->IsString()) return value->As<Napi::String>().Utf8Value();
  FailType(label, "a string", *value);
  return std::nullopt;
}

std::optional<double> Reader::Number(const Napi::Object& from, const char* key,
                                     std::string_view label) {
  const auto value = Value(from, key);
  if (!value) return std::nullopt;
  if (value->IsNumber()) return value->As<Napi::Number>().DoubleValue();
  FailType(label, "a number", *value);
  return std::nullopt;
}

std::optional<bool> Reader::Boolean(const Napi::Object& from, const char* key,
                                    std::string_view label) {
  const auto value = Value(from, key);
  if (!value) return std::nullopt;
  if (value->IsBoolean()) return value->As<Napi::Boolean>().Value();
  FailType(label, "a boolean", *value);
  return std::nullopt;
}

std::optional<std::vector<std::string>> Reader::Strings(const Napi::Object& from, const char* key,
                                                        std::string_view label) {
  const auto value = Value(from, key);
  if (!value) return std::nullopt;
  if (!value->IsArray()) {
    FailType(label, "an array of strings", *value);
    return std::nullopt;
  }
  const auto array = value->As<Napi::Array>();
  std::vector<std::string> strings;
  const std::uint32_t length = array.Length();
  strings.reserve(length);
  for (std::uint32_t i = 0; i < length; ++i) {
    const Napi::Value element = array.Get(i);
    if (Lost(element)) return std::nullopt;
    if (!element.IsString()) {
      FailType(std::string(label) + "[" + std::to_string(i) + "]", "a string", element);
      return std::nullopt;
    }
    strings.push_back(element.As<Napi::String>());
  }
  return strings;
}

std::optional<std::vector<Variable>> Reader::Variables(const Napi::Object& from, const char* key,
                                                       std::string_view label) {
  const auto object = Field(from, key, label);
  if (!object) return std::nullopt;
  napi_value own = nullptr;
  napi_get_all_property_names(
      env_, *object, napi_key_own_only,
      static_cast<napi_key_filter>(napi_key_enumerable | napi_key_skip_symbols),
      napi_key_numbers_to_strings, &own);
  if (Lost(Napi::Value(env_, own))) return std::nullopt;
  const Napi::Array names(env_, own);
  std::vector<Variable> variables;
  const std::uint32_t length = names.Length();
  variables.reserve(length);
  for (std::uint32_t i = 0; i < length; ++i) {
    const Napi::Value name = names.Get(i);
    if (Lost(name)) return std::nullopt;
    const Napi::Value value = object->Get(name);
    if (Lost(value)) return std::nullopt;
    std::string text = name.As<Napi::String>();
    if (!value.IsString()) {
      FailType(std::string(label) + "." + text, "a string", value);
      return std::nullopt;
    }
    variables.emplace_back(std::move(text), value.As<Napi::String>());
  }
  return variables;
}

std::optional<std::vector<std::uint8_t>> Reader::Uint8Array(const Napi::Object& from,
                                                            const char* key,
                                                            std::string_view label) {
  const auto value = Value(from, key);
  if (!value) return std::nullopt;
  if (value->IsTypedArray() && value->As<Napi::TypedArray>().TypedArrayType() == napi_uint8_array) {
    const auto bytes = value->As<Napi::Uint8Array>();
    return std::vector<std::uint8_t>(bytes.Data(), bytes.Data() + bytes.ByteLength());
  }
  FailType(label, "a Uint8Array", *value);
  return std::nullopt;
}

std::optional<Napi::Object> Reader::Field(const Napi::Object& from, const char* key,
                                          std::string_view label) {
  const auto value = Value(from, key);
  return value ? Object(*value, label) : std::nullopt;
}

std::optional<Napi::Function> Reader::Function(const Napi::Object& from, const char* key,
                                               std::string_view label) {
  const auto value = Value(from, key);
  if (!value) return std::nullopt;
  if (value->IsFunction()) return value->As<Napi::Function>();
  FailType(label, "a function", *value);
  return std::nullopt;
}

}  // namespace native_runner
