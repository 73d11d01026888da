#pragma once

#include <string>

#include "policy/transaction/file_systems.h"

namespace native_runner {

// The roles of a transaction's file systems.
inline constexpr char kWorkspaceRole[] = "workspace";
inline constexpr char kStateRole[] = "state";
inline constexpr char kBackupRole[] = "backup";

// Adds the file system of an open directory, O_PATH ones among them; nothing if it can't be looked
// at. Some system calls, none of which waits for the storage. Any thread.
void AddFileSystem(const std::string& role, int directory, FileSystemList* list);

}  // namespace native_runner
