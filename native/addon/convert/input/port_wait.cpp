#include "addon/convert/input/port_wait.h"

#include <string>

#include "addon/convert/fields.h"
#include "addon/values/js_error.h"
#include "policy/options/validate.h"

namespace native_runner {
namespace {

std::uint16_t ReadPort(Reader& reader, const Napi::Value& value) {
  const std::string expected = "Expected `port` to be an integer from 1 to 65535, got ";
  const auto port = value.IsNumber() ? LimitValue(value.As<Napi::Number>().DoubleValue(), "port")
                                     : Result<std::uint64_t>(std::uint64_t{0});
  if (port && port.value() >= 1 && port.value() <= UINT16_MAX) {
    return static_cast<std::uint16_t>(port.value());
  }
  const auto code = value.IsNumber() ? ErrorCode::kOutOfRange : ErrorCode::kInvalidType;
  reader.Fail({code, expected + Describe(value), ""});
  return 0;
}

}  // namespace

std::optional<PortWait> ReadPortWait(Reader& reader, const Napi::Value& port,
                                     const Napi::Value& options) {
  PortWait wait;
  wait.port = ReadPort(reader, port);
  Fields::Of(reader, options, {"options", ""}, [&wait](Fields& fields) {
    if (const auto number = fields.Number("timeoutMs")) {
      const auto timeout = TimeoutValue(*number);
      if (timeout) {
        wait.timeout_ms = timeout.value();
      } else {
        fields.Fail("timeoutMs", ErrorCode::kOutOfRange, "a number greater than 0",
                    *fields.Value("timeoutMs"));
      }
    }
    if (const auto interval = fields.Integer("intervalMs", 1)) wait.interval_ms = *interval;
  });
  return reader.failed() ? std::nullopt : std::optional(wait);
}

}  // namespace native_runner
