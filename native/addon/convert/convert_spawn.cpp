// The input of spawn, and what a terminal is to be.

#include <string>
#include <utility>

#include "addon/convert/convert.h"
#include "addon/values/js_error.h"
#include "policy/options/validate.h"

namespace native_runner {
namespace {

// TERM is of the terminal that is made, never of the one that the host was started from.
void SetTerminalName(Reader& reader, const Napi::Object& input, const Napi::Object& pty,
                     std::vector<std::string>* environment) {
  constexpr std::string_view kPrefix = "TERM=";
  const std::string name = reader.String(pty, "term", "pty.term").value_or("xterm-256color");
  reader.FailIf(CheckVariable({"TERM", name}));
  const auto named = reader.Field(input, "env", "env");
  if (reader.failed() || (named && named->Has("TERM"))) return;
  std::erase_if(*environment,
                [&](const std::string& variable) { return variable.starts_with(kPrefix); });
  environment->push_back(std::string(kPrefix) + name);
}

}  // namespace

std::optional<TerminalSize> ReadTerminalSize(Reader& reader, const Napi::Value& value,
                                             std::string_view label) {
  const auto object = reader.Object(value, label);
  if (!object) return std::nullopt;
  TerminalSize size;
  const auto read = [&](const char* key, std::uint16_t* into) {
    const std::string name = std::string(label) + "." + key;
    const auto number = reader.Number(*object, key, name);
    if (reader.failed()) return;
    const auto count = number ? LimitValue(*number, name) : std::uint64_t{0};
    if (count && count.value() >= 1 && count.value() <= UINT16_MAX) {
      *into = static_cast<std::uint16_t>(count.value());
    } else if (!number) {
      reader.FailType(name, "an integer from 1 to 65535", object->Env().Undefined());
    } else {
      reader.Fail({ErrorCode::kOutOfRange,
                   "Expected `" + name + "` to be an integer from 1 to 65535, got " +
                       Describe(object->Get(key)),
                   ""});
    }
  };
  read("cols", &size.columns);
  read("rows", &size.rows);
  if (reader.failed()) return std::nullopt;
  return size;
}

std::optional<ExecRequest> ReadSpawnInput(Reader& reader, const Napi::Value& value,
                                          const Napi::Object& context, const InputRules& rules) {
  auto request = ReadExecInput(reader, value, context, rules);
  if (!request) return std::nullopt;
  const auto input = value.As<Napi::Object>();
  const auto limits = reader.Field(input, "limits", "limits");
  if (!limits || !reader.Value(*limits, "timeoutMs")) request->limits.timeout_ms.reset();
  request->live.emplace();
  if (const auto pty = reader.Field(input, "pty", "pty")) {
    request->live->terminal = ReadTerminalSize(reader, *pty, "pty");
    SetTerminalName(reader, input, *pty, &request->environment);
  }
  if (reader.failed()) return std::nullopt;
  return request;
}

}  // namespace native_runner
