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
// For each change seven doubles: kind, type, size, previous size, mode, previous mode, and flags (1
// a conflict, 2 a target, 4 from); and in the text its path, then where it is from and its target
// if it has these, each with a NUL byte after it.
struct PackedChanges {
  std::string text;
  std::vector<double> numbers;
};

PackedChanges Pack(const std::vector<Change>& changes);

// { text, numbers }, the numbers as bytes.
napi_value PackedChangesValue(ValueBuilder& builder, const PackedChanges& packed);

}  // namespace native_runner
