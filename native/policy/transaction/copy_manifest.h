#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "policy/result.h"
#include "policy/transaction/host_file.h"

namespace native_runner {

// What a copy of a workspace was when it was made, by path ("." is the workspace): what is still
// the same has not been changed, since nobody can set ctime. What it was made of is in the ledger.
// Plain data.
struct CopyManifest {
  // One that is empty is like nothing that can be there: what is at its path has been changed.
  std::map<std::string, HostFile, std::less<>> copies;
};

// A file of the copy as it would be on the host: whose mode, owner and group are what the copy's
// were when it was made has those of the host's file, which an ordinary user can't give to a copy.
// nullptr: there was none.
HostFile AsOnHost(HostFile now, const HostFile* copy, const HostFile* host);

// As it is kept on disk. Decoding takes nothing but what encoding gives: kSetup.
std::string EncodeManifest(const CopyManifest& manifest);
Result<CopyManifest> DecodeManifest(std::string_view text);

}  // namespace native_runner
