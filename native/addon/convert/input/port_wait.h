#pragma once

#include <optional>

#include "addon/convert/reader.h"
#include "supervise/sandbox/port_waits.h"

namespace native_runner {

// A port (an integer from 1 to 65535), and of the options timeoutMs (> 0, Infinity; default 30 000)
// and intervalMs (an integer from 1 on; default 50).
std::optional<PortWait> ReadPortWait(Reader& reader, const Napi::Value& port,
                                     const Napi::Value& options);

}  // namespace native_runner
