#pragma once

#include "launcher/text/refusal.h"

namespace native_runner {

// Looks at our own mount table: none of our mounts may get what is mounted elsewhere, or give what
// is mounted on it to others (MS_SHARED and MS_SLAVE in mount(2)). Refuses with `shared_mounts`
// where one does, and where /proc does not tell.
bool CheckMountsAreOwn(Refusal* refusal);

}  // namespace native_runner
