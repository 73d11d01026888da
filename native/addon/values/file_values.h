#pragma once

#include <napi.h>

#include <string>
#include <vector>

#include "addon/values/value_builder.h"
#include "workspace/files/workspace_files.h"

namespace native_runner {

// What was tried, for its error: paths as they were given.
struct FileAttempt {
  std::string path;
  std::string to;  // a second one; empty: there is none
};

// An Error as Node's file system makes them: `code`, `errno`, `syscall`, `path` and `dest`. A
// RangeError with ERR_FS_FILE_TOO_LARGE or ERR_FS_TOO_MANY_ENTRIES, an Error with ERR_FILE_CHANGED,
// or one of ours with a sandbox code. nullptr when the environment is being terminated.
napi_value MakeFileError(napi_env env, const FileError& error, const FileAttempt& attempt);

// What an operation gives, as types/files.d.ts has it. Whole only if builder.ok() afterwards.
napi_value FileValue(ValueBuilder& builder, Done done);
napi_value FileValue(ValueBuilder& builder, Bytes bytes);
napi_value FileValue(ValueBuilder& builder, const FileStat& stat);
napi_value FileValue(ValueBuilder& builder, const std::vector<ListedEntry>& entries);
napi_value FileValue(ValueBuilder& builder, const Survey& survey);  // the numbers as bytes

}  // namespace native_runner
