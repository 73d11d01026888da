#pragma once

namespace native_runner {

enum class Stream { kStdout, kStderr };

}  // namespace native_runner
