#pragma once

#include "protocol/report.h"

namespace native_runner {

// Fills the usage fields with what all reaped children and their reaped descendants have used.
void AddUsage(Report* report);

}  // namespace native_runner
