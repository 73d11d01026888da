#pragma once

#include <string>

namespace native_runner {

// Whether two files, open for reading, have the same bytes. False also where one can't be read.
// Reads both as far as they are the same.
bool HaveSameBytes(int one, int other);

// Whether they have the same extended attributes of a user's (user.*), those apart in which
// overlayfs keeps its notes. False also where they can't be read.
bool HaveSameAttributes(int one, int other);

// Gives a file or directory those that another has; errno(3) where that fails.
bool CopyAttributes(int from, int to);

// The value of one; empty where there is none, or none can be read.
std::string AttributeOf(int file, const char* name);

// Whether there is one, its value may be empty.
bool HasAttribute(int file, const char* name);

}  // namespace native_runner
