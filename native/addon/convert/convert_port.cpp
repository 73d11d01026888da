// What waitForPort is given.

#include <string>

#include "addon/convert/convert.h"
#include "addon/values/js_error.h"
#include "policy/options/validate.h"

namespace native_runner {
namespace {

Error OutOfRange(const char* name, const char* expected, const Napi::Value& got) {
  return {ErrorCode::kOutOfRange,
          "Expected `" + std::string(name) + "` to be " + expected + ", got " + Describe(got), ""};
}

std::uint16_t ReadPort(Reader& reader, const Napi::Value& value) {
  constexpr const char* kExpected = "an integer from 1 to 65535";
  if (!value.IsNumber()) {
    reader.FailType("port", kExpected, value);
    return 0;
  }
  const auto port = LimitValue(value.As<Napi::Number>().DoubleValue(), "port");
  if (port && port.value() >= 1 && port.value() <= UINT16_MAX) {
    return static_cast<std::uint16_t>(port.value());
  }
  reader.Fail(OutOfRange("port", kExpected, value));
  return 0;
}

}  // namespace

std::optional<PortWait> ReadPortWait(Reader& reader, const Napi::Value& port,
                                     const Napi::Value& options) {
  PortWait wait;
  wait.port = ReadPort(reader, port);
  const auto given = reader.Object(options, "options");
  if (!given || reader.failed()) return std::nullopt;
  if (const auto number = reader.Number(*given, "timeoutMs", "timeoutMs")) {
    const auto timeout = TimeoutValue(*number);
    if (!timeout) {
      reader.Fail(OutOfRange("timeoutMs", "a number greater than 0", given->Get("timeoutMs")));
    } else {
      wait.timeout_ms = timeout.value();
    }
  }
  if (const auto number = reader.Number(*given, "intervalMs", "intervalMs")) {
    const auto interval = LimitValue(*number, "intervalMs");
    if (!interval || interval.value() == 0) {
      reader.Fail(OutOfRange("intervalMs", "an integer from 1 on", given->Get("intervalMs")));
    } else {
      wait.interval_ms = interval.value();
    }
  }
  return reader.failed() ? std::nullopt : std::optional(wait);
}

}  // namespace native_runner
