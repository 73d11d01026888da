#pragma once

#include "addon/convert/fields.h"
#include "policy/bubblewrap/project.h"
#include "policy/options/policy.h"

namespace native_runner {

// A runner's options as its policy: read and copied once, types and values checked. What comes back
// after a fault is not to be used.
BubblewrapPolicy ReadBubblewrapPolicy(Fields& options);
ProjectPolicy ReadProjectPolicy(Fields& options);
LandlockPolicy ReadLandlockPolicy(Fields& options);
FirejailPolicy ReadFirejailPolicy(Fields& options);
LocalPolicy ReadLocalPolicy(Fields& options);

}  // namespace native_runner
