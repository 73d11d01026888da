#pragma once

#include <vector>

#include "policy/bubblewrap/bubblewrap_argv.h"
#include "policy/network/rules/network_rules.h"

namespace native_runner {

// Adds to `facts` what a sandbox with a network by domain is to find names by (name_files.h), and
// where that has to be mounted: what programs open may be a link of the host's to anywhere, or not
// be there. `mounts`: what is seen inside so far. The files have the descriptors from
// `first_descriptor` on.
//
// Left out is what needs no file: where the host has none in a directory that is bound read-only,
// none can be made, and without one programs ask 127.0.0.1 (resolv.conf(5)). So is what the caller
// has mounted to be written to, which would change on the host.
// So is what is as it has to be already: each mount takes bwrap some 0.2 ms.
void FindNameFiles(const NetworkRules& rules, const std::vector<Mount>& mounts,
                   int first_descriptor, HostFacts* facts);

}  // namespace native_runner
