// The observations of each call that a traced command makes.

#include <fcntl.h>

#include <cerrno>

#include "tests/launcher/trace/trace_fixture.h"

namespace native_runner {
namespace {

class TraceCallsTest : public LauncherTest {};

struct Expected {
  const char* call;
  Observation::Kind kind;
};

constexpr Expected kByPath[] = {
#ifdef __x86_64__
    {"open", Observation::Kind::kRead},       {"creat", Observation::Kind::kWrite},
    {"mkdir", Observation::Kind::kWrite},     {"rmdir", Observation::Kind::kWrite},
    {"unlink", Observation::Kind::kWrite},    {"rename", Observation::Kind::kWrite},
    {"link", Observation::Kind::kWrite},      {"symlink", Observation::Kind::kWrite},
    {"chmod", Observation::Kind::kWrite},     {"chown", Observation::Kind::kWrite},
    {"lchown", Observation::Kind::kWrite},    {"mknod", Observation::Kind::kWrite},
#endif
    {"openat", Observation::Kind::kRead},     {"openat2", Observation::Kind::kWrite},
    {"mkdirat", Observation::Kind::kWrite},   {"unlinkat", Observation::Kind::kWrite},
    {"renameat2", Observation::Kind::kWrite}, {"linkat", Observation::Kind::kWrite},
    {"symlinkat", Observation::Kind::kWrite}, {"fchmodat", Observation::Kind::kWrite},
    {"fchownat", Observation::Kind::kWrite},  {"mknodat", Observation::Kind::kWrite},
    {"utimensat", Observation::Kind::kWrite}, {"truncate", Observation::Kind::kWrite},
    {"setxattr", Observation::Kind::kWrite},  {"removexattr", Observation::Kind::kWrite},
    {"chdir", Observation::Kind::kRead},      {"execve", Observation::Kind::kExec},
    {"execveat", Observation::Kind::kExec},
};

TEST_P(TraceCallsTest, ByPath) {
  const RunResult result = Run(TracedProbe("paths"));
  ExpectExited(result, 0);
  for (const Expected& expected : kByPath) {
    const std::string path = std::string("/no-such-directory/") + expected.call;
    const Observation* seen = FindObservation(result, expected.call, path);
    ASSERT_NE(seen, nullptr) << expected.call;
    EXPECT_EQ(seen->kind, expected.kind) << expected.call;
    EXPECT_EQ(seen->error, ENOENT) << expected.call;
    EXPECT_EQ(seen->program, "launcher_probe") << expected.call;
    EXPECT_FALSE(seen->by_filter);
    EXPECT_EQ(seen->count, 1u);
    const bool has_second = std::string(expected.call).find("link") == 0 ||
                            std::string(expected.call).find("rename") == 0;
    EXPECT_EQ(seen->second_path, has_second ? "/second" : "") << expected.call;
  }
}

constexpr const char* kLookUps[] = {
#ifdef __x86_64__
    "stat",       "lstat", "access",    "readlink",
#endif
    "newfstatat", "statx", "faccessat", "faccessat2", "readlinkat",
};

TEST_P(TraceCallsTest, LookUpsOnRequestAlone) {
  OrderSpec spec = TracedProbe("look-ups");
  const RunResult plain = Run(spec);
  ExpectExited(plain, 0);
  spec.header.flags |= kOrderLookUps;
  const RunResult result = Run(spec);
  ExpectExited(result, 0);
  for (const char* call : kLookUps) {
    const std::string path = std::string("/no-such-directory/") + call;
    EXPECT_EQ(FindObservation(plain, call, path), nullptr) << call;
    const Observation* seen = FindObservation(result, call, path);
    ASSERT_NE(seen, nullptr) << call;
    EXPECT_EQ(seen->kind, Observation::Kind::kRead) << call;
    EXPECT_EQ(seen->error, ENOENT) << call;
  }
}

TEST_P(TraceCallsTest, MakesPathsAbsolute) {
  const RunResult result = Run(TracedProbe("relative"));
  ExpectExited(result, 0);
  for (const char* path : {"/usr/no-such-file", "/etc/no-such-file", "/no-such-file"})
    EXPECT_NE(FindObservation(result, "openat", path), nullptr) << path;
}

TEST_P(TraceCallsTest, ByAddress) {
  const RunResult result = Run(TracedProbe("addresses"));
  ExpectExited(result, 0);
  const Observation* connected = FindObservation(result, "connect", "/no-such-directory/socket");
  ASSERT_NE(connected, nullptr);
  EXPECT_EQ(connected->kind, Observation::Kind::kConnect);
  const Observation* bound = FindObservation(result, "bind", "");
  ASSERT_NE(bound, nullptr);
  EXPECT_EQ(bound->kind, Observation::Kind::kBind);
  EXPECT_EQ(bound->error, EADDRNOTAVAIL);
  EXPECT_EQ(bound->address, "192.0.2.1");
  EXPECT_EQ(bound->port, 81);
}

TEST_P(TraceCallsTest, CountsAlikeOnes) {
  const RunResult result =
      Run(TracedShell("for i in 1 2 3 4 5; do true < /no-such-directory/input; done; exit 0"));
  const Observation* seen = FindObservation(result, "openat", "/no-such-directory/input");
  if (seen == nullptr) seen = FindObservation(result, "open", "/no-such-directory/input");
  ASSERT_NE(seen, nullptr);
  EXPECT_EQ(seen->count, 5u);
}

TEST_P(TraceCallsTest, IsBounded) {
  const RunResult result = Run(TracedProbe("many"));
  ExpectExited(result, 0);
  EXPECT_GT(result.observations.size(), 100u);
  EXPECT_LE(result.observations.size(), 1024u);
  EXPECT_EQ(result.observations.size() + result.observations_omitted, 10'001u);
  EXPECT_NE(FindObservation(result, "ptrace", ""), nullptr) << "searches leave room for refusals";
}

TEST_P(TraceCallsTest, TellsWhoCantBeTracedTwice) {
  const RunResult result = Run(TracedProbe("ptrace"));
  EXPECT_EQ(result.out, "-1\n");
  const Observation* seen = FindObservation(result, "ptrace", "");
  ASSERT_NE(seen, nullptr);
  EXPECT_EQ(seen->error, EPERM);
  EXPECT_EQ(seen->kind, Observation::Kind::kOther);
}

TEST_P(TraceCallsTest, TellsOfTheCommandItself) {
  OrderSpec spec{.argv = {"/no-such-directory/program"}};
  spec.header.flags = kOrderNoNewPrivs | kOrderExplain;
  const RunResult result = Run(spec);
  EXPECT_EQ(result.last().kind, ReportKind::kFailed);
  EXPECT_NE(FindObservation(result, "execve", "/no-such-directory/program"), nullptr);
}

TEST_P(TraceCallsTest, SuccessIsNotTold) {
  const RunResult result = Run(TracedShell("cat /etc/passwd > /dev/null; exit 5"));
  ExpectExited(result, 5);
  for (const Observation& each : result.observations)
    EXPECT_EQ(each.error, ENOENT) << each.call << " " << each.path;
}

INSTANTIATE_LAUNCHER_MODES(TraceCallsTest);

}  // namespace
}  // namespace native_runner
