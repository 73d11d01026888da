#include <algorithm>
#include <string>
#include <string_view>

#include "policy/options/environment.h"

namespace native_runner {

// By the custom of curl(1) and wget(1), whose spellings other programs share; npm's and Node's own
// end so too.
bool NamesProxy(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? letter - 'A' + 'a' : letter;
  });
  return lower.ends_with("_proxy") || lower.ends_with("_noproxy");
}

const std::vector<std::string>& OwnProxyVariables() {
  static const std::vector<std::string> variables = [] {
    const std::string proxy = "http://127.0.0.1:3128";
    const std::string direct = "localhost,127.0.0.1,127.0.0.0/8,::1";
    return std::vector<std::string>{"HTTP_PROXY=" + proxy, "HTTPS_PROXY=" + proxy,
                                    "http_proxy=" + proxy, "https_proxy=" + proxy,
                                    "NO_PROXY=" + direct,  "no_proxy=" + direct,
                                    "NODE_USE_ENV_PROXY=1"};
  }();
  return variables;
}

}  // namespace native_runner
