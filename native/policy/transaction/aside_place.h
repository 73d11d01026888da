#pragma once

#include <string>
#include <string_view>

#include "policy/result.h"
#include "protocol/file_identity.h"

namespace native_runner {

// Where a commit keeps what is in neither tree, when the transaction lies on another file system
// than the workspace: a directory beside the workspace or, where none can be made there, directly
// in it. Plain data.
struct AsidePlace {
  std::string path;  // absolute, and real
  // 0: it is about to be made, and whatever there is of it is empty.
  FileIdentity identity;
};

// The name of such a directory: "digits" are sixteen of 0-9a-f.
std::string AsideName(std::string_view digits);

// Whether a path, relative to the workspace, is such a directory, or in one. It is no part of the
// project: no transaction shows it, or tells of it.
bool IsAsidePath(std::string_view path);

// As it is kept on disk. Decoding takes nothing but what encoding gives: kSetup.
std::string EncodeAsidePlace(const AsidePlace& place);
Result<AsidePlace> DecodeAsidePlace(std::string_view text);

}  // namespace native_runner
