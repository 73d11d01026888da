#pragma once

#include "launcher/command/command.h"
#include "launcher/order/control.h"

namespace native_runner {

// Tells the host, and where the command itself is at fault also its stderr in the words of a shell
// ("<command>: command not found"), why the command did not start.
void ReportStartFailure(const Control& control, const char* command, const StartFailure& failure);

}  // namespace native_runner
