#include "policy/options/environment.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace native_runner {
namespace {

using Texts = std::vector<std::string>;
using Variables = std::vector<Variable>;
using Mode = EnvironmentPolicy::Mode;

constexpr const char* kDefaultPath =
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

const Variables& Host() {
  static const Variables host = {
      {"HOME", "/root"},      {"PATH", "/opt/bin:/bin"}, {"API_KEY", "k"},
      {"LD_PRELOAD", "x.so"}, {"PWD", "/host/here"},     {"OLDPWD", "/host/old"},
      {"LANG", "C.UTF-8"},    {"PROXY", "http://u:p@h"},
  };
  return host;
}

Texts Build(const EnvironmentPolicy& policy, const Variables& host, const Variables& named,
            std::string_view cwd) {
  return BuildEnvironment(PassedVariables(policy, host), named, cwd);
}

TEST(BuildEnvironment, ScrubKeepsTheHarmless) {
  EXPECT_EQ(Build({}, Host(), {}, "/workspace"),
            (Texts{"HOME=/root", "PATH=/opt/bin:/bin", "LANG=C.UTF-8", "PWD=/workspace"}));
}

TEST(BuildEnvironment, InheritKeepsEverythingButTheHostsPwd) {
  EXPECT_EQ(Build({.mode = Mode::kInherit, .names = {}}, Host(), {}, "/workspace/a"),
            (Texts{"HOME=/root", "PATH=/opt/bin:/bin", "API_KEY=k", "LD_PRELOAD=x.so",
                   "OLDPWD=/host/old", "LANG=C.UTF-8", "PROXY=http://u:p@h", "PWD=/workspace/a"}));
}

TEST(BuildEnvironment, CleanKeepsNothing) {
  EXPECT_EQ(Build({.mode = Mode::kClean, .names = {}}, Host(), {}, "/workspace"),
            (Texts{"PWD=/workspace", kDefaultPath}));
}

TEST(BuildEnvironment, NamesKeepsWhatIsListedWhateverItIs) {
  const EnvironmentPolicy policy = {.mode = Mode::kNames,
                                    .names = {"LD_PRELOAD", "API_KEY", "NOT_THERE", "PWD"}};
  EXPECT_EQ(Build(policy, Host(), {}, "/workspace"),
            (Texts{"API_KEY=k", "LD_PRELOAD=x.so", "PWD=/workspace", kDefaultPath}));
  EXPECT_EQ(Build({.mode = Mode::kNames, .names = {}}, Host(), {}, "/workspace"),
            (Texts{"PWD=/workspace", kDefaultPath}));
}

TEST(BuildEnvironment, NamedVariablesAlwaysPassAndReplace) {
  const Variables named = {{"GITHUB_TOKEN", "t"}, {"LD_PRELOAD", "mine.so"}, {"LANG", "de"}};
  for (const Mode mode : {Mode::kScrub, Mode::kInherit, Mode::kClean, Mode::kNames}) {
    const Texts got = Build({.mode = mode, .names = {"LANG"}}, Host(), named, "/workspace");
    EXPECT_EQ(std::count(got.begin(), got.end(), "GITHUB_TOKEN=t"), 1);
    EXPECT_EQ(std::count(got.begin(), got.end(), "LD_PRELOAD=mine.so"), 1);
    EXPECT_EQ(std::count(got.begin(), got.end(), "LANG=de"), 1);
    EXPECT_EQ(std::count(got.begin(), got.end(), "LANG=C.UTF-8"), 0);
    EXPECT_EQ(std::count(got.begin(), got.end(), "LD_PRELOAD=x.so"), 0);
  }
}

TEST(BuildEnvironment, TheLastOfANameWins) {
  const Variables named = {{"A", "1"}, {"B", "2"}, {"A", "3"}, {"C", ""}, {"B", "2"}};
  EXPECT_EQ(Build({.mode = Mode::kClean, .names = {}}, {}, named, "/w"),
            (Texts{"A=3", "C=", "B=2", "PWD=/w", kDefaultPath}));
}

TEST(BuildEnvironment, NamedPwdAndPathAreKept) {
  const Variables named = {{"PWD", "/elsewhere"}, {"PATH", ""}, {"OLDPWD", "/o"}};
  EXPECT_EQ(Build({}, Host(), named, "/workspace"),
            (Texts{"HOME=/root", "LANG=C.UTF-8", "PWD=/elsewhere", "PATH=", "OLDPWD=/o"}));
}

TEST(BuildEnvironment, ValuesAndNamesAreDataOnly) {
  const Variables host = {{"", "no name"}, {"A B", "x=y\nz"}, {"Ü", "grün"}, {"-x", "--bind"}};
  EXPECT_EQ(Build({}, host, {}, "/workspace"),
            (Texts{"A B=x=y\nz", "Ü=grün", "-x=--bind", "PWD=/workspace", kDefaultPath}));
}

TEST(BuildEnvironment, ANetworkByDomainHasItsOwnProxyInPlaceOfTheHosts) {
  const Variables proxies = {{"HTTP_PROXY", "h"},       {"http_proxy", "h"},
                             {"ALL_PROXY", "h"},        {"all_proxy", "h"},
                             {"FTP_PROXY", "h"},        {"No_Proxy", "h"},
                             {"npm_config_proxy", "h"}, {"npm_config_noproxy", "h"},
                             {"HTTPS_PROXY", "h"},      {"HOME", "/root"},
                             {"PROXY", "kept"}};
  Texts own = OwnProxyVariables();
  EXPECT_EQ(own.size(), 7u);
  for (const Mode mode : {Mode::kScrub, Mode::kInherit, Mode::kClean, Mode::kNames}) {
    EnvironmentPolicy policy;
    policy.mode = mode;
    policy.names = {"ALL_PROXY", "HTTP_PROXY"};
    const auto has = [](const Texts& list, const std::string& entry) {
      return std::count(list.begin(), list.end(), entry);
    };
    policy.own_proxy = true;
    const Texts got = Build(policy, proxies, {}, "/w");
    for (const std::string& variable : own)
      EXPECT_EQ(has(got, variable), 1) << variable;
    for (const Variable& variable : proxies)
      EXPECT_EQ(has(got, variable.first + "=h"), 0) << variable.first;
    const Texts named = Build(policy, proxies, {{"HTTP_PROXY", "mine"}, {"ALL_PROXY", ""}}, "/w");
    EXPECT_EQ(has(named, "HTTP_PROXY=mine"), 1);
    EXPECT_EQ(has(named, "HTTP_PROXY=http://127.0.0.1:3128"), 0);
    EXPECT_EQ(has(named, "ALL_PROXY="), 1);
    policy.own_proxy = false;
    const Texts control = Build(policy, proxies, {}, "/w");
    for (const std::string& variable : own)
      EXPECT_EQ(has(control, variable), 0) << variable;
    EXPECT_EQ(has(control, "ALL_PROXY=h"), mode == Mode::kClean ? 0 : 1);
  }
}

}  // namespace
}  // namespace native_runner
