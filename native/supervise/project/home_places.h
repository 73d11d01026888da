#pragma once

#include <optional>

#include "policy/options/home.h"
#include "policy/result.h"

namespace native_runner {

// Makes the places of what a view shows in a home that is a directory of the host: bwrap would make
// missing ones itself, and follow links that an earlier command has made there. Empty directories
// and files, which stay in the home. Without effect if the home is a tmpfs. kSetup, naming the
// path, if the directory is missing, or if something is in the way: a symbolic link, or a file
// where a directory is shown. Any thread.
std::optional<Error> MakeHomePlaces(const HomeView& view);

}  // namespace native_runner
