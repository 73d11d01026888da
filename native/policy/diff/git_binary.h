#pragma once

#include <string>
#include <string_view>

namespace native_runner {

// The "literal" part of git's binary patches (git/apply.c): the bytes as a zlib stream that is not
// compressed, in base 85, with an empty line behind. A quarter larger than the bytes.
std::string GitLiteral(std::string_view bytes);

// The name that git gives a file of these bytes (40 hexadecimal digits).
std::string GitBlobName(std::string_view bytes);

}  // namespace native_runner
