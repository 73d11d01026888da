#include "policy/network/record/connection_record.h"

namespace native_runner {

const char* ConnectionViaName(ConnectionVia via) {
  switch (via) {
    case ConnectionVia::kTransparent:
      return "transparent";
    case ConnectionVia::kConnect:
      return "connect";
    case ConnectionVia::kHttp:
      return "http";
    case ConnectionVia::kSocks:
      return "socks";
  }
  return "";
}

}  // namespace native_runner
