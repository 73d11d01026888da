#pragma once

#include <string>
#include <vector>

#include "addon/values/value_builder.h"
#include "policy/changes/change.h"

namespace native_runner {

// Many changes as one text and one array of numbers, which JavaScript makes objects of
// (lib/runners/transactions/changes.ts): Node-API takes about a microsecond for each object, on
// JavaScript's own thread. Packed on any thread.
//
// For each change eight doubles: kind, type, size, previous size, mode, previous mode, flags (1
// a conflict, 2 a target, 4 from, 8 a version), and ctime in milliseconds or 0; and in the text its
// path, then where it is from, its target and its version if it has these, each with a NUL byte
// after it.
struct PackedChanges {
  std::string text;
  std::vector<double> numbers;
};

PackedChanges Pack(const std::vector<Change>& changes, bool has_versions = false);

// { text, numbers }, the numbers as bytes.
napi_value PackedChangesValue(ValueBuilder& builder, const PackedChanges& packed);

}  // namespace native_runner
