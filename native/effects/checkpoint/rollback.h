#pragma once

#include <optional>
#include <string>

#include "effects/checkpoint/kept_names.h"
#include "policy/result.h"

namespace native_runner {

// Makes what a transaction has changed exactly what it was at a checkpoint; later ones are gone
// then. While that goes on, the transaction's directory (open for reading) has besides:
//
//   next-upper/ next-ledger   what is to take the place of the ones without "next-"
//   old-upper/                what was there
//   rollback                  the checkpoint's id: all of `next-` is there, and on disk
//
// and for a copy of the workspace the same of the names that are kept of that. The overlay must not
// be mounted, and nothing have a place in the copy. Whoever has the transaction's lock may call
// these, one at a time; they block as the file system does.

// kInvalidValue where there is no checkpoint of this id any more; else, when it fails, nothing has
// changed, unless NeedsRollback.
std::optional<Error> RollBackTo(int transaction, const KeptNames& names, const std::string& id);

// Whether one has begun and is not done: until then nothing may use the overlay, or the copy.
bool NeedsRollback(int transaction);

// One that a death has interrupted is done, where all that it needs is there: true. Else nothing
// is left of it.
Result<bool> RecoverRollback(int transaction, const KeptNames& names);

}  // namespace native_runner
