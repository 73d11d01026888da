#pragma once

#include <napi.h>

#include <string>
#include <vector>

#include "addon/values/value_builder.h"
#include "workspace/files/workspace_files.h"

namespace native_runner {

// Defines exports.WorkspaceFiles, the files of one workspace, and makeFifo and syncFileSystem for
// trees that lib writes itself, as in types/addon.d.ts.
void DefineWorkspaceFiles(Napi::Env env, Napi::Object exports);

// The paths of an attempted operation, as they were given, for its error.
struct FileAttempt {
  std::string path;
  std::string to;  // a second path; empty: none
};

// Makes an Error as Node's file system does: `code`, `errno`, `syscall`, `path` and `dest`. A
// RangeError with ERR_FS_FILE_TOO_LARGE or ERR_FS_TOO_MANY_ENTRIES, an Error with ERR_FILE_CHANGED,
// or the one of MakeJsError() with a sandbox code. nullptr if the environment is being terminated.
napi_value MakeFileError(napi_env env, const FileError& error, const FileAttempt& attempt);

// Make an operation's result, as in types/files.d.ts. Complete only if builder.ok() afterwards.
napi_value FileValue(ValueBuilder& builder, Done done);
napi_value FileValue(ValueBuilder& builder, Bytes bytes);
napi_value FileValue(ValueBuilder& builder, const FileStat& stat);
napi_value FileValue(ValueBuilder& builder, const std::vector<ListedEntry>& entries);
napi_value FileValue(ValueBuilder& builder, const Survey& survey);  // the numbers as bytes

}  // namespace native_runner
