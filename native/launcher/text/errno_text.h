#pragma once

namespace native_runner {

// The text of an errno in English, as strerror(3) has it in the C locale; strerror itself would
// pull locales and message catalogues into the static executable. Unlisted numbers get a general
// text.
const char* ErrnoText(int error);

}  // namespace native_runner
