#pragma once

#include <uv.h>

#include <functional>

#include "policy/denials/tell_denials.h"

namespace native_runner {

// TellDenials, with looks at the host's files on a thread of libuv's pool: a file system that does
// not answer holds up this run's result and no other's run. `done` is called once, on the loop's
// thread; where there is no such thread to be had, before this returns, with nothing looked at.
void TellDenialsLater(uv_loop_t* loop, DeniedRun run, std::function<void(DenialLog)> done);

}  // namespace native_runner
