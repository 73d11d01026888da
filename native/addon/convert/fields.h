#pragma once

#include <napi.h>

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/options/environment.h"
#include "policy/result.h"

namespace native_runner {

// Collects the faults in one call's arguments, and throws one into JavaScript on destruction: an
// unknown field before any other, since it explains why another is missing; otherwise the first
// fault. A caller checks failed() once, after it has read everything. An exception thrown by a
// caller's getter is a fault too. JavaScript thread.
class Reader {
 public:
  explicit Reader(Napi::Env env) : env_(env) {}
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  Napi::Env env() const { return env_; }
  bool failed() const { return lost_ || fault_.has_value(); }
  void Fail(const Error& error);
  void FailIf(const std::optional<Error>& error) {
    if (error) Fail(*error);
  }
  // Replaces a fault of another kind.
  void FailUnknownField(const Error& error);

  // True if nothing can be read any more: a getter threw, or the environment is being terminated.
  bool lost() const { return lost_; }
  bool Lost(const Napi::Value& value);

 private:
  Napi::Env env_;
  std::optional<Error> fault_;
  bool is_unknown_field_ = false;
  bool lost_ = false;
};

// Reads the fields of one JavaScript object by name, without coercion. Absent and undefined fields
// are nullopt. A value of another type is a fault of the reader that names the field, the expected
// type and the given value. If the value is not an object, every field is absent.
//
// A field that was not read must not exist: an enumerable string key of the object's own, whose
// value is not undefined, is a fault. (Inherited properties are read where they are asked for, and
// otherwise ignored: they are a class's methods, or not the caller's doing.)
class Fields {
 public:
  // Names in messages: `place` for an object, and `prefix` followed by a field's name.
  struct Labels {
    std::string place;
    std::string prefix;
  };

  // Reads one whole object: `read` asks for all of its fields, even after a fault.
  template <std::invocable<Fields&> Read>
  static void Of(Reader& reader, const Napi::Value& value, Labels labels, const Read& read) {
    Fields fields(reader, std::move(labels));
    fields.Take(value);
    read(fields);
    fields.RefuseUnknown();
  }

  std::optional<std::string> String(const char* key);
  std::optional<double> Number(const char* key);
  // Reads an integer from `least` on, up to `most` if that is given.
  std::optional<std::uint64_t> Integer(const char* key, std::uint64_t least,
                                       std::optional<std::uint64_t> most = std::nullopt);
  std::optional<bool> Boolean(const char* key);
  std::optional<std::vector<std::string>> Strings(const char* key);
  std::optional<std::vector<Variable>> Variables(const char* key);
  // Reads a Uint8Array, or a string as UTF-8.
  std::optional<std::vector<std::uint8_t>> BytesOrText(const char* key);
  std::optional<Napi::Function> Function(const char* key);
  std::optional<Napi::Value> Value(const char* key);

  // As above, for a required field.
  std::string RequiredString(const char* key);
  std::vector<std::string> RequiredStrings(const char* key);

  // Returns the index of the given word; another value is a fault that lists the words.
  std::optional<std::size_t> OneOf(const char* key, const std::vector<std::string_view>& words);
  std::size_t RequiredOneOf(const char* key, const std::vector<std::string_view>& words);

  // Read an object, or several, in a field. Object() calls `read` for an absent object too, once.
  template <std::invocable<Fields&> Read>
  void Object(const char* key, const Read& read) {
    Fields fields(reader_, {Label(key), Label(key) + "."});
    if (const auto value = Value(key)) fields.Take(*value);
    read(fields);
    fields.RefuseUnknown();
    inner_.emplace_back(key, std::move(fields.known_));
  }
  template <std::invocable<Fields&> Read>
  void Objects(const char* key, const Read& read) {
    std::size_t index = 0;
    for (const Napi::Value& element : Elements(key, "an array of objects")) {
      const std::string label = Label(key) + "[" + std::to_string(index++) + "]";
      Of(reader_, element, {label, label + "."}, read);
    }
  }

  // Marks a field as known that other code reads.
  void Know(const char* key) { known_.push_back(key); }

  // True if the value is an object.
  bool given() const { return object_.has_value(); }
  Reader& reader() { return reader_; }
  std::string Label(const char* key) const { return labels_.prefix + key; }

  // Records the fault "Expected `LABEL` to be EXPECTED, got VALUE".
  void Fail(const char* key, ErrorCode code, std::string_view expected, const Napi::Value& got);
  void FailMissing(const char* key, std::string_view expected);

 private:
  Fields(Reader& reader, Labels labels);

  void RefuseUnknown();
  Error Unknown(std::string_view name) const;
  void Take(const Napi::Value& value);
  std::vector<Napi::Value> Elements(const char* key, std::string_view expected);

  Reader& reader_;
  Labels labels_;
  std::optional<Napi::Object> object_;
  std::vector<std::string_view> known_;  // names of the fields read so far
  std::vector<std::pair<std::string_view, std::vector<std::string_view>>> inner_;  // of objects
};

}  // namespace native_runner
