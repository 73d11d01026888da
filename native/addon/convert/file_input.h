#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "addon/convert/fields.h"
#include "workspace/files/directory_entries.h"
#include "workspace/files/workspace_files.h"

namespace native_runner {

// A path argument of a file operation.
struct PathInput {
  std::string given;     // for messages
  std::string relative;  // normalised; below the workspace
};

// The argument `field` of the method `call`, for messages, and where commands see the workspace.
struct PathArgument {
  const char* call;
  const char* field;
  const std::string& workspace;
};

// Reads a string or, for names that are not UTF-8, a Uint8Array, in the forms of `cwd`.
PathInput ReadPath(Reader& reader, const Napi::Value& value, const PathArgument& argument);

// Reads and copies content: a Uint8Array, or a string as UTF-8.
std::vector<std::uint8_t> ReadData(Reader& reader, const Napi::Value& value);

// Read the fields of one call's options.
std::uint64_t ReadMaxBytes(Fields& options);  // maxBytes: 0 to 2^31-1, default 64 MiB
WriteRule ReadWriteRule(Fields& options);     // mode, ifUnchanged (string or null), flush
ListRule ReadListRule(Fields& options);       // recursive, maxEntries: 1 to 2^24, default 10 000
MakeRule ReadMakeRule(Fields& options);       // recursive, mode
bool ReadRecursive(Fields& options);

// Reads shadowDir, read and write; and workspacePath: where commands see the workspace.
WorkspaceRights ReadWorkspaceRights(Fields& options, std::string* workspace);

// Reads workspacePath: /workspace, or the workspace's own path on the host.
std::string ReadWorkspacePath(Fields& options, const std::string& directory);

}  // namespace native_runner
