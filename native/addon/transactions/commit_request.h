#pragma once

#include "addon/convert/fields.h"
#include "effects/commit/choose.h"
#include "policy/changes/path_filter.h"

namespace native_runner {

// Paths in a field. None: every path, or with `else_none` no path.
PathFilter ReadPaths(Fields& fields, const char* field = "paths", bool else_none = false);

// { paths, exact, allowProtected, protectedNames, contents, expected }: the last two as arrays of
// { path, data } and { path, version }.
CommitRequest ReadCommitRequest(Fields& fields);

}  // namespace native_runner
