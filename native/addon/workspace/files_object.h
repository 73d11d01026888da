#pragma once

#include <napi.h>

namespace native_runner {

// exports.WorkspaceFiles: the files of one workspace, as types/addon.d.ts has them.
void DefineWorkspaceFiles(Napi::Env env, Napi::Object exports);

}  // namespace native_runner
