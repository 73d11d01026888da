#pragma once

#include <optional>
#include <string>

#include "effects/tree/file_stat.h"
#include "effects/tree/staged_file.h"

namespace native_runner {

// What has a name now; none: nothing has.
using ExistingFile = std::optional<FileStat>;
FileResult<ExistingFile> LookAt(int directory, const std::string& name, const char* call);

FileError HasChanged();  // a kChanged

// Puts a file in the place of one that has to be of this version still, else kChanged.
//
// Those who do so, in any process, take turns by flock(2) on the file that they replace, and lock
// what they put there until it is certain to stay: of two, the second finds another version. Nobody
// else asks for that lock, so the two files are exchanged, and what came out is looked at: if
// somebody else has changed it meanwhile, it is put back. For that moment readers see the new one.
// What is written into the old file by those who have it open is lost with it.
//
// EBUSY where another process, such as a command, keeps the file locked.
FileResult<Done> ReplaceUnchanged(StagedFile& staged, int directory, const std::string& name,
                                  const FileVersion& version);

// Its steps. The exchange: kChanged, and nothing is different, if what comes out has other content.
FileResult<Done> ExchangeUnchanged(StagedFile& staged, int directory, const std::string& name,
                                   const FileVersion& version);
// Undoes an exchange, unless somebody has put another file there since: that one stays. kChanged.
FileResult<Done> PutBack(StagedFile& staged, int directory, const std::string& name);

}  // namespace native_runner
