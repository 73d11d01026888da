#include "addon/convert/fields.h"

#include <algorithm>
#include <array>

#include "addon/values/value_builder.h"
#include "policy/options/validate.h"

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

namespace {

std::string Unexpected(std::string_view label, std::string_view expected, const Napi::Value& got) {
  return "Expected `" + std::string(label) + "` to be " + std::string(expected) + ", got " +
         Describe(got);
}

// Joins words as `"a"`, `"a" or "b"`, `"a", "b" or "c"`.
std::string Listed(const std::vector<std::string_view>& words) {
  std::string listed;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) listed += i + 1 == words.size() ? " or " : ", ";
    listed += '"';
    listed += words[i];
    listed += '"';
  }
  return listed;
}

// Returns the object's own enumerable string keys; empty if a proxy's trap throws.
Napi::Value OwnKeys(const Napi::Object& object) {
  napi_value own = nullptr;
  napi_get_all_property_names(
      object.Env(), object, napi_key_own_only,
      static_cast<napi_key_filter>(napi_key_enumerable | napi_key_skip_symbols),
      napi_key_numbers_to_strings, &own);
  return {object.Env(), own};
}

}  // namespace

Fields::Fields(Reader& reader, Labels labels) : reader_(reader), labels_(std::move(labels)) {
  constexpr std::size_t kMostFields = 24;
  known_.reserve(kMostFields);
}

void Fields::Take(const Napi::Value& value) {
  if (reader_.lost()) return;
  if (value.IsObject() && !value.IsArray() && !value.IsFunction()) {
    object_ = value.As<Napi::Object>();
  } else {
    reader_.Fail({ErrorCode::kInvalidType, Unexpected(labels_.place, "an object", value), ""});
  }
}

void Fields::RefuseUnknown() {
  if (reader_.lost() || !object_) return;
  const Napi::Value own = OwnKeys(*object_);
  if (reader_.Lost(own)) return;
  const auto names = own.As<Napi::Array>();
  const std::uint32_t length = names.Length();
  for (std::uint32_t i = 0; i < length; ++i) {
    const Napi::Value key = names.Get(i);
    std::array<char, 64> text{};  // no known name is longer
    std::size_t size = 0;
    napi_get_value_string_utf8(reader_.env(), key, text.data(), text.size(), &size);
    const std::string_view name(text.data(), size);
    if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
    const Napi::Value value = object_->Get(key);
    if (reader_.Lost(value)) return;
    if (value.IsUndefined()) continue;
    reader_.FailUnknownField(Unknown(key.As<Napi::String>().Utf8Value()));
    return;
  }
}

Error Fields::Unknown(std::string_view name) const {
  std::vector<std::string> paths;
  for (const auto& [object, names] : inner_) {
    for (const std::string_view inside : names)
      paths.push_back(std::string(object) + "." + std::string(inside));
  }
  std::vector<std::string_view> known;
  for (const std::string_view each : known_) {  // a field may have been read twice
    if (std::find(known.begin(), known.end(), each) == known.end()) known.push_back(each);
  }
  known.insert(known.end(), paths.begin(), paths.end());
  return UnknownField(name, labels_.place, known);
}

void Fields::Fail(const char* key, ErrorCode code, std::string_view expected,
                  const Napi::Value& got) {
  if (!reader_.failed()) reader_.Fail({code, Unexpected(Label(key), expected, got), ""});
}

void Fields::FailMissing(const char* key, std::string_view expected) {
  Fail(key, ErrorCode::kInvalidType, expected, reader_.env().Undefined());
}

std::optional<Napi::Value> Fields::Value(const char* key) {
  Know(key);
  if (reader_.lost() || !object_) return std::nullopt;
  const Napi::Value value = object_->Get(key);
  if (reader_.Lost(value) || value.IsUndefined()) return std::nullopt;
  return value;
}

std::optional<std::string> Fields::String(const char* key) {
  const auto value = Value(key);
  if (!value) return std::nullopt;
  if (value->IsString()) return value->As<Napi::String>().Utf8Value();
  Fail(key, ErrorCode::kInvalidType, "a string", *value);
  return std::nullopt;
}

std::optional<double> Fields::Number(const char* key) {
  const auto value = Value(key);
  if (!value) return std::nullopt;
  if (value->IsNumber()) return value->As<Napi::Number>().DoubleValue();
  Fail(key, ErrorCode::kInvalidType, "a number", *value);
  return std::nullopt;
}

std::optional<std::uint64_t> Fields::Integer(const char* key, std::uint64_t least,
                                             std::optional<std::uint64_t> most) {
  const auto value = Value(key);
  if (!value) return std::nullopt;
  if (!value->IsNumber()) {
    Fail(key, ErrorCode::kInvalidType, "a number", *value);
    return std::nullopt;
  }
  const auto integer = LimitValue(value->As<Napi::Number>().DoubleValue(), key);
  if (integer && integer.value() >= least && (!most || integer.value() <= *most)) {
    return integer.value();
  }
  const std::string end = most ? " to " + std::to_string(*most) : " on";
  Fail(key, ErrorCode::kOutOfRange, "an integer from " + std::to_string(least) + end, *value);
  return std::nullopt;
}

std::optional<bool> Fields::Boolean(const char* key) {
  const auto value = Value(key);
  if (!value) return std::nullopt;
  if (value->IsBoolean()) return value->As<Napi::Boolean>().Value();
  Fail(key, ErrorCode::kInvalidType, "a boolean", *value);
  return std::nullopt;
}

std::optional<Napi::Function> Fields::Function(const char* key) {
  const auto value = Value(key);
  if (!value) return std::nullopt;
  if (value->IsFunction()) return value->As<Napi::Function>();
  Fail(key, ErrorCode::kInvalidType, "a function", *value);
  return std::nullopt;
}

std::optional<std::vector<std::uint8_t>> Fields::BytesOrText(const char* key) {
  const auto value = Value(key);
  if (!value) return std::nullopt;
  if (value->IsTypedArray() && value->As<Napi::TypedArray>().TypedArrayType() == napi_uint8_array) {
    const auto bytes = value->As<Napi::Uint8Array>();
    return std::vector<std::uint8_t>(bytes.Data(), bytes.Data() + bytes.ByteLength());
  }
  if (value->IsString()) {
    const std::string text = value->As<Napi::String>();
    return std::vector<std::uint8_t>(text.begin(), text.end());
  }
  Fail(key, ErrorCode::kInvalidType, "a Uint8Array or a string", *value);
  return std::nullopt;
}

std::vector<Napi::Value> Fields::Elements(const char* key, std::string_view expected) {
  std::vector<Napi::Value> elements;
  const auto value = Value(key);
  if (!value) return elements;
  if (!value->IsArray()) {
    Fail(key, ErrorCode::kInvalidType, expected, *value);
    return elements;
  }
  const auto array = value->As<Napi::Array>();
  const std::uint32_t length = array.Length();
  elements.reserve(length);
  for (std::uint32_t i = 0; i < length; ++i) {
    const Napi::Value element = array.Get(i);
    if (reader_.Lost(element)) break;
    elements.push_back(element);
  }
  return elements;
}

std::optional<std::vector<std::string>> Fields::Strings(const char* key) {
  const auto value = Value(key);
  if (!value) return std::nullopt;
  if (!value->IsArray()) {
    Fail(key, ErrorCode::kInvalidType, "an array of strings", *value);
    return std::nullopt;
  }
  const auto array = value->As<Napi::Array>();
  std::vector<std::string> strings;
  const std::uint32_t length = array.Length();
  strings.reserve(length);
  for (std::uint32_t i = 0; i < length; ++i) {
    const Napi::Value element = array.Get(i);
    if (reader_.Lost(element)) return std::nullopt;
    if (!element.IsString()) {
      const std::string name = std::string(key) + "[" + std::to_string(i) + "]";
      Fail(name.c_str(), ErrorCode::kInvalidType, "a string", element);
      return std::nullopt;
    }
    strings.push_back(element.As<Napi::String>());
  }
  return strings;
}

std::optional<std::vector<Variable>> Fields::Variables(const char* key) {
  const auto value = Value(key);
  if (!value) return std::nullopt;
  Fields map(reader_, {Label(key), Label(key) + "."});
  map.Take(*value);
  if (!map.object_) return std::nullopt;
  const Napi::Value own = OwnKeys(*map.object_);
  if (reader_.Lost(own)) return std::nullopt;
  const auto names = own.As<Napi::Array>();
  std::vector<Variable> variables;
  const std::uint32_t length = names.Length();
  variables.reserve(length);
  for (std::uint32_t i = 0; i < length; ++i) {
    const Napi::Value name = names.Get(i);
    if (reader_.Lost(name)) return std::nullopt;
    const Napi::Value element = map.object_->Get(name);
    if (reader_.Lost(element)) return std::nullopt;
    std::string text = name.As<Napi::String>();
    if (!element.IsString()) {
      map.Fail(text.c_str(), ErrorCode::kInvalidType, "a string", element);
      return std::nullopt;
    }
    variables.emplace_back(std::move(text), element.As<Napi::String>());
  }
  return variables;
}

std::string Fields::RequiredString(const char* key) {
  auto text = String(key);
  if (!text) FailMissing(key, "a string");
  return std::move(text).value_or("");
}

std::vector<std::string> Fields::RequiredStrings(const char* key) {
  auto strings = Strings(key);
  if (!strings) FailMissing(key, "an array of strings");
  return std::move(strings).value_or(std::vector<std::string>());
}

std::optional<std::size_t> Fields::OneOf(const char* key,
                                         const std::vector<std::string_view>& words) {
  const auto value = Value(key);
  if (!value) return std::nullopt;
  const std::string text = value->IsString() ? value->As<Napi::String>().Utf8Value() : "";
  const auto found = std::find(words.begin(), words.end(), text);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  Fail(key, ErrorCode::kInvalidValue, Listed(words), *value);
  return std::nullopt;
}

std::size_t Fields::RequiredOneOf(const char* key, const std::vector<std::string_view>& words) {
  const auto chosen = OneOf(key, words);
  if (!chosen) Fail(key, ErrorCode::kInvalidValue, Listed(words), reader_.env().Undefined());
  return chosen.value_or(0);
}

}  // namespace native_runner
