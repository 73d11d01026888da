#pragma once

#include <napi.h>

namespace native_runner {

// Defines exports.WorkspaceFiles, the files of one workspace, and makeFifo and syncFileSystem for
// trees that lib writes itself, as in types/addon.d.ts.
void DefineWorkspaceFiles(Napi::Env env, Napi::Object exports);

}  // namespace native_runner
