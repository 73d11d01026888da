#include <gtest/gtest.h>

#include <limits>

#include "policy/options/validate.h"

namespace native_runner {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::string Message(const std::optional<Error>& error) {
  return error.has_value() ? error->message : "";
}

std::string WithNul(const char* before) {
  return std::string(before) + '\0' + "tail";
}

TEST(CheckText, RefusesNulBytesAlone) {
  EXPECT_FALSE(CheckText("", "f"));
  EXPECT_FALSE(CheckText("-x \n grün", "f"));
  EXPECT_EQ(Message(CheckText(WithNul("a"), "stdin")),
            "Expected `stdin` to be a string without NUL bytes, got \"a\\u0000tail\"");
}

TEST(CheckPath, RefusesEmptyAndRelative) {
  EXPECT_FALSE(CheckPath("a", "f"));
  EXPECT_NE(Message(CheckPath("", "f")).find("`f`"), std::string::npos);
  EXPECT_TRUE(CheckPath(WithNul("/"), "f"));
  EXPECT_FALSE(CheckAbsolutePath("/", "f"));
  EXPECT_TRUE(CheckAbsolutePath("", "f"));
  EXPECT_TRUE(CheckAbsolutePath(WithNul("/"), "f"));
  EXPECT_EQ(Message(CheckAbsolutePath("a/b", "roBinds[0]")),
            "Expected `roBinds[0]` to be an absolute path, got \"a/b\"");
}

TEST(CheckArgv, NeedsACommand) {
  EXPECT_EQ(Message(CheckArgv({})), "NativeRunner.exec: argv[0] is required");
  EXPECT_EQ(Message(CheckArgv({"", "x"})), "NativeRunner.exec: argv[0] is required");
  EXPECT_FALSE(CheckArgv({"true"}));
  EXPECT_FALSE(CheckArgv({"--", "", "-x", "a\nb"}));
  EXPECT_NE(Message(CheckArgv({"echo", WithNul("a")})).find("`argv[1]`"), std::string::npos);
  EXPECT_NE(Message(CheckArgv({WithNul("")})).find("`argv[0]`"), std::string::npos);
}

TEST(CheckVariable, ChecksTheNameAndHidesTheValue) {
  EXPECT_FALSE(CheckVariable({"A", ""}));
  EXPECT_FALSE(CheckVariable({"a b-c", "x=y"}));
  for (const std::string& name :
       {std::string(), std::string("A=B"), std::string("="), WithNul("A")}) {
    const std::optional<Error> error = CheckVariable({name, "v"});
    ASSERT_TRUE(error) << name;
    EXPECT_EQ(error->code, ErrorCode::kInvalidValue);
    EXPECT_NE(error->message.find("`env`"), std::string::npos);
  }
  const std::string message = Message(CheckVariable({"TOKEN", WithNul("hunter2")}));
  EXPECT_NE(message.find("`env.TOKEN`"), std::string::npos);
  EXPECT_EQ(message.find("hunter2"), std::string::npos);
}

BubblewrapPolicy GoodPolicy() {
  BubblewrapPolicy policy;
  policy.shadow_dir = "/host/shadow";
  return policy;
}

TEST(CheckPolicy, TakesGoodOnes) {
  BubblewrapPolicy policy = GoodPolicy();
  EXPECT_FALSE(CheckPolicy(policy));
  policy.bwrap_path = "/usr/bin/bwrap";
  policy.shadow_dir = "relative/dir";
  policy.ro_binds = {"/", "/a..b", "/...", "/x/./y//"};
  policy.environment = {.mode = EnvironmentPolicy::Mode::kNames, .names = {"HOME"}};
  EXPECT_FALSE(CheckPolicy(policy));
  policy.ro_binds = {"/usr"};
  policy.with_proc = false;
  EXPECT_FALSE(CheckPolicy(policy));
  EXPECT_FALSE(CheckPolicy(LocalPolicy{.shadow_dir = "x", .environment = {}}));
}

TEST(CheckPolicy, KeepsTheSandboxsOwnPathsFree) {
  BubblewrapPolicy policy = GoodPolicy();
  policy.ro_binds = {"/usr", "/opt/tools"};
  for (const char* path : {"/srv/a", "/tmp/a", "/home/me/project", "/usr/src/a", "/process"}) {
    policy.workspace_path = policy.shadow_dir = path;
    EXPECT_FALSE(CheckPolicy(policy)) << path;
  }
  for (const char* path : {"/", "/proc", "/proc/1/cwd", "/dev/shm", "/sys", "/tmp", "/usr", "/opt",
                           "relative", "/srv/../etc"}) {
    policy.workspace_path = policy.shadow_dir = path;
    const auto error = CheckPolicy(policy);
    ASSERT_TRUE(error) << path;
    EXPECT_NE(error->message.find("`shadowDir`"), std::string::npos) << error->message;
  }
  policy.shadow_dir = "/";  // at /workspace any directory can be shown
  policy.workspace_path = kWorkspace;
  EXPECT_FALSE(CheckPolicy(policy));
}

TEST(CheckPolicy, NamesTheFieldAtFault) {
  struct Case {
    const char* field;
    void (*spoil)(BubblewrapPolicy&);
  };
  for (const Case& c : {
           Case{"`bwrapPath`", [](BubblewrapPolicy& p) { p.bwrap_path = ""; }},
           Case{"`bwrapPath`", [](BubblewrapPolicy& p) { p.bwrap_path = "./bwrap"; }},
           Case{"`bwrapPath`", [](BubblewrapPolicy& p) { p.bwrap_path = "bin/bwrap"; }},
           Case{"`bwrapPath`", [](BubblewrapPolicy& p) { p.bwrap_path = WithNul("bwrap"); }},
           Case{"`shadowDir`", [](BubblewrapPolicy& p) { p.shadow_dir = ""; }},
           Case{"`shadowDir`", [](BubblewrapPolicy& p) { p.shadow_dir = WithNul("/a"); }},
           Case{"`roBinds[1]`",
                [](BubblewrapPolicy& p) {
                  p.ro_binds = {"/a", ""};
                }},
           Case{"`roBinds[0]`", [](BubblewrapPolicy& p) { p.ro_binds = {"usr"}; }},
           Case{"`roBinds[0]`", [](BubblewrapPolicy& p) { p.ro_binds = {"/usr/../root"}; }},
           Case{"`roBinds[0]`", [](BubblewrapPolicy& p) { p.ro_binds = {WithNul("/usr")}; }},
           Case{"`procBind`",
                [](BubblewrapPolicy& p) {
                  p.with_proc = false;
                  p.isolation = Isolation::kCompat;
                }},
           Case{"`procBind`",
                [](BubblewrapPolicy& p) {
                  p.with_proc = false;
                  p.ro_binds = {"/usr", "//."};
                }},
           Case{"`envPolicy[1]`",
                [](BubblewrapPolicy& p) {
                  p.environment.names = {"A", ""};
                }},
           Case{"`envPolicy[0]`", [](BubblewrapPolicy& p) { p.environment.names = {"A=B"}; }},
           Case{"`required[0]`", [](BubblewrapPolicy& p) { p.required = {WithNul("seccomp")}; }},
           Case{"`required[1]`",
                [](BubblewrapPolicy& p) {
                  p.required = {"seccomp", ""};
                }},
       }) {
    BubblewrapPolicy policy = GoodPolicy();
    c.spoil(policy);
    const std::optional<Error> error = CheckPolicy(policy);
    ASSERT_TRUE(error) << c.field;
    EXPECT_EQ(error->code, ErrorCode::kInvalidValue);
    EXPECT_NE(error->message.find(c.field), std::string::npos) << error->message;
  }
  EXPECT_NE(Message(CheckPolicy(LocalPolicy{})).find("`shadowDir`"), std::string::npos);
}

TEST(LimitValue, TakesSafeIntegers) {
  EXPECT_EQ(LimitValue(0, "f").value(), 0u);
  EXPECT_EQ(LimitValue(-0.0, "f").value(), 0u);
  EXPECT_EQ(LimitValue(1048576, "f").value(), 1048576u);
  EXPECT_EQ(LimitValue(9007199254740991.0, "f").value(), 9007199254740991u);
}

TEST(CheckFirejailPolicy, NamesTheFieldThatIsWrong) {
  const auto refusal = [](auto change) {
    FirejailPolicy policy;
    policy.shadow_dir = "/w";
    policy.read_dirs = DefaultFirejailReadDirs();
    change(policy);
    const auto error = CheckPolicy(policy);
    EXPECT_TRUE(!error || error->code == ErrorCode::kInvalidValue);
    return error ? error->message.substr(0, error->message.find(" to be")) : "";
  };
  EXPECT_EQ(refusal([](FirejailPolicy&) {}), "");
  EXPECT_EQ(refusal([](FirejailPolicy& policy) { policy.profile = "/p"; }), "");
  for (const std::string& profile : {std::string(), std::string("firefox"), WithNul("/p")}) {
    EXPECT_EQ(refusal([&profile](FirejailPolicy& policy) { policy.profile = profile; }),
              "Expected `profile`");
  }
  EXPECT_EQ(refusal([](FirejailPolicy& policy) { policy.required = {""}; }),
            "Expected `required[0]`");
  EXPECT_EQ(refusal([](FirejailPolicy& policy) {
              policy.extra_args = {"--a", "b"};
            }),
            "Expected `extraArgs[1]`");
  EXPECT_EQ(refusal([](FirejailPolicy& policy) { policy.extra_args = {"--"}; }),
            "Expected `extraArgs[0]`");
  EXPECT_EQ(refusal([](FirejailPolicy& policy) { policy.read_dirs = {"usr"}; }),
            "Expected `fsReadDirs[0]`");
  EXPECT_EQ(refusal([](FirejailPolicy& policy) {
              policy.write_dirs = {"/a", "b"};
            }),
            "Expected `fsWriteDirs[1]`");
  EXPECT_EQ(refusal([](FirejailPolicy& policy) {
              policy.profile = "/p";
              policy.write_dirs = {"/a"};
            }),
            "Expected `profile`");
  EXPECT_EQ(refusal([](FirejailPolicy& policy) {
              policy.profile = "/p";
              policy.read_dirs_named = true;
            }),
            "Expected `profile`");
}

TEST(LimitValue, RefusesTheRest) {
  struct Case {
    double value;
    const char* got;
  };
  for (const Case& c : {Case{1.5, "1.5"}, Case{-1, "-1"}, Case{kNan, "NaN"}, Case{0.1, "0.1"},
                        Case{kInfinity, "Infinity"}, Case{-kInfinity, "-Infinity"},
                        Case{9007199254740992.0, "9007199254740992"}, Case{1e300, "1e+300"}}) {
    const Result<std::uint64_t> result = LimitValue(c.value, "limits.maxStdoutBytes");
    ASSERT_FALSE(result.ok()) << c.got;
    EXPECT_EQ(result.error().code, ErrorCode::kOutOfRange);
    EXPECT_EQ(result.error().message,
              "Expected `limits.maxStdoutBytes` to be an integer from 0 to 9007199254740991, got " +
                  std::string(c.got));
  }
}

TEST(TimeoutValue, RoundsUpAndKnowsNoDeadline) {
  EXPECT_EQ(TimeoutValue(60000).value(), 60000u);
  EXPECT_EQ(TimeoutValue(0.001).value(), 1u);
  EXPECT_EQ(TimeoutValue(1.5).value(), 2u);
  EXPECT_EQ(TimeoutValue(4294967296.0).value(), 4294967296u);
  EXPECT_EQ(TimeoutValue(9007199254740992.0).value(), 9007199254740992u);
  EXPECT_EQ(TimeoutValue(9007199254740994.0).value(), std::nullopt);
  EXPECT_EQ(TimeoutValue(std::numeric_limits<double>::max()).value(), std::nullopt);
  EXPECT_EQ(TimeoutValue(kInfinity).value(), std::nullopt);
  EXPECT_EQ(TimeoutValue(std::numeric_limits<double>::denorm_min()).value(), 1u);
}

TEST(TimeoutValue, RefusesTheRest) {
  for (const double value : {0.0, -0.0, -1.0, -kInfinity, kNan}) {
    ASSERT_FALSE(TimeoutValue(value).ok()) << value;
    EXPECT_EQ(TimeoutValue(value).error().code, ErrorCode::kOutOfRange);
  }
  EXPECT_EQ(TimeoutValue(-1).error().message,
            "Expected `limits.timeoutMs` to be a number greater than 0, got -1");
}

}  // namespace
}  // namespace native_runner
