// How commands start and end: status, the search along PATH, what a failed start says.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>

#include "tests/launcher/support/launcher_fixture.h"

namespace native_runner {
namespace {

class StartTest : public LauncherTest {
 public:
  ~StartTest() override { static_cast<void>(std::system(("rm -rf '" + directory_ + "'").c_str())); }

 protected:
  StartTest() {
    char name[] = "/tmp/launcher-test-XXXXXX";
    directory_ = mkdtemp(name);
    chmod(directory_.c_str(), 0755);
  }
  std::string File(const std::string& name, const std::string& content, mode_t mode) const {
    std::string path = directory_ + "/" + name;
    std::ofstream(path) << content;
    chmod(path.c_str(), mode);
    return path;
  }

  static void ExpectFailed(const RunResult& result, int error, bool not_found,
                           const std::string& message) {
    ASSERT_EQ(result.reports.size(), 2u);
    EXPECT_EQ(result.reports[0].kind, ReportKind::kReady);
    EXPECT_EQ(result.last().kind, ReportKind::kFailed);
    EXPECT_EQ(result.last().error, error);
    EXPECT_EQ(result.last().not_found, not_found ? 1u : 0u);
    EXPECT_EQ(result.err, message);
    EXPECT_EQ(result.out, "");
  }

  std::string directory_;
};

TEST_P(StartTest, ReportsExitCodes) {
  for (const int code : {0, 1, 42, 255}) {
    const RunResult result = Shell("exit " + std::to_string(code));
    ASSERT_EQ(result.reports.size(), 2u);
    EXPECT_EQ(result.reports[0].kind, ReportKind::kReady);
    ExpectExited(result, code);
    EXPECT_EQ(result.launcher_status, 0);
  }
}

TEST_P(StartTest, ReportsSignals) {
  for (const int signal : {SIGTERM, SIGKILL, SIGSEGV}) {
    const RunResult result = Shell("kill -" + std::to_string(signal) + " $$; sleep 5");
    ASSERT_EQ(result.last().kind, ReportKind::kExited);
    ASSERT_TRUE(WIFSIGNALED(result.last().wait_status));
    EXPECT_EQ(WTERMSIG(result.last().wait_status), signal);
  }
}

TEST_P(StartTest, PassesArgumentsAndOutputThrough) {
  const std::string odd = "-a b\n\xc3\xa4\"'$`\\";
  const RunResult result = Run({.argv = {"/usr/bin/printf", "%s|", "", odd, "--"}});
  ExpectExited(result, 0);
  EXPECT_EQ(result.out, "|" + odd + "|--|");
}

TEST_P(StartTest, GivesExactlyTheOrderedEnvironment) {
  const RunResult result =
      Run({.argv = {"/usr/bin/env", "-0"}, .environment = {"B=2", "A=x=y\nz", "EMPTY="}});
  ExpectExited(result, 0);
  EXPECT_EQ(result.out, std::string("B=2\0A=x=y\nz\0EMPTY=\0", 19));
  EXPECT_EQ(Run({.argv = {"/usr/bin/env"}}).out, "");
}

TEST_P(StartTest, EntersTheWorkingDirectory) {
  EXPECT_EQ(Run({.argv = {"/bin/pwd"}, .cwd = directory_}).out, directory_ + "\n");
  const RunResult result = Run({.argv = {"/bin/pwd"}, .cwd = directory_ + "/no"});
  ASSERT_EQ(result.reports.size(), 1u);
  EXPECT_EQ(result.last().kind, ReportKind::kRefused);
  EXPECT_EQ(result.last().error, ENOENT);
  EXPECT_EQ(std::string(result.last().text),
            "cannot enter " + directory_ + "/no: No such file or directory");
}

TEST_P(StartTest, SearchesThePathOfTheCommand) {
  File("tool", "#!/bin/sh\necho found \"$1\"\n", 0755);
  const std::string path = "PATH=/nowhere:/etc/passwd:" + directory_ + ":/usr/bin";
  EXPECT_EQ(Run({.argv = {"tool", "it"}, .environment = {path}}).out, "found it\n");
  // An empty entry is the working directory; without PATH there is a default one.
  EXPECT_EQ(Run({.argv = {"tool"}, .environment = {"PATH=/nowhere:"}, .cwd = directory_}).out,
            "found \n");
  ExpectExited(Run({.argv = {"true"}}), 0);
  ExpectFailed(Run({.argv = {"true"}, .environment = {"PATH=/nowhere"}}), ENOENT, true,
               "true: command not found\n");
}

TEST_P(StartTest, SaysThatACommandDoesNotExist) {
  for (const char* name : {"no-such-command", "/no/such/command", "./no-such-command"}) {
    ExpectFailed(Run({.argv = {name}}), ENOENT, true, std::string(name) + ": command not found\n");
  }
}

TEST_P(StartTest, NamesALinkThatLeadsToNothing) {
  const std::string link = directory_ + "/linked";
  ASSERT_EQ(symlink("/no/such/store/tool", link.c_str()), 0);
  const std::string why = ": command not found: " + link +
                          " is a link to /no/such/store/tool, which this sandbox does not show\n";
  ExpectFailed(Run({.argv = {link}}), ENOENT, true, link + why);
  ExpectFailed(Run({.argv = {"linked"}, .environment = {"PATH=/nowhere:" + directory_}}), ENOENT,
               true, "linked" + why);
}

TEST_P(StartTest, SaysWhyACommandCannotBeRun) {
  const std::string text = File("text", "echo hello\n", 0644);
  ExpectFailed(Run({.argv = {text}}), EACCES, false, text + ": Permission denied\n");
  ExpectFailed(Run({.argv = {directory_}}), EACCES, false, directory_ + ": Permission denied\n");
  const std::string path = "PATH=" + directory_ + ":/nowhere";
  ExpectFailed(Run({.argv = {"text"}, .environment = {path}}), EACCES, false,
               "text: Permission denied\n");
  const std::string below = text + "/below";
  ExpectFailed(Run({.argv = {below}}), ENOTDIR, false, below + ": Not a directory\n");
  const std::string loop = directory_ + "/loop";
  ASSERT_EQ(symlink("loop", loop.c_str()), 0);
  ExpectFailed(Run({.argv = {loop}}), ELOOP, false, loop + ": Too many levels of symbolic links\n");
}

TEST_P(StartTest, TellsAMissingInterpreterFromAMissingCommand) {
  const std::string script = File("script", "#!/no/such/interpreter\n", 0755);
  ExpectFailed(Run({.argv = {script}}), ENOENT, false, script + ": No such file or directory\n");
  const std::string path = "PATH=" + directory_;
  ExpectFailed(Run({.argv = {"script"}, .environment = {path}}), ENOENT, false,
               "script: No such file or directory\n");
}

TEST_P(StartTest, RunsScriptsWithoutAnInterpreterByTheShell) {
  const std::string script = File("plain", "echo \"$0\" \"$1\"\n", 0755);
  EXPECT_EQ(Run({.argv = {script, "a b"}}).out, script + " a b\n");
  const std::string path = "PATH=" + directory_;
  EXPECT_EQ(Run({.argv = {"plain", "c"}, .environment = {path}}).out, script + " c\n");
}

TEST_P(StartTest, TakesArgumentsUpToTheKernelsLimit) {
  const std::size_t longest = 131071;  // MAX_ARG_STRLEN without its NUL
  const std::string script = "echo ${#1}";
  const RunResult result =
      Run({.argv = {"/bin/sh", "-c", script, "sh", std::string(longest, 'a')}});
  EXPECT_EQ(result.out, "131071\n");
  ExpectFailed(Run({.argv = {"/bin/sh", "-c", script, "sh", std::string(longest + 1, 'a')}}), E2BIG,
               false, "/bin/sh: Argument list too long\n");
}

TEST_P(StartTest, TakesTwoMebibytesOfArguments) {
  std::vector<std::string> argv = {"/bin/sh", "-c", "echo $#", "sh"};
  const std::size_t count = 19;  // of 100 KiB each, which with the environment is near to 2 MiB
  for (std::size_t i = 0; i < count; ++i)
    argv.emplace_back(100 * 1024, 'x');
  EXPECT_EQ(Run({.argv = argv}).out, "19\n");
}

TEST_P(StartTest, ALongNameDoesNotBlockTheMessage) {
  const std::string name(100'000, 'n');
  const RunResult result = Run({.argv = {name}});
  EXPECT_EQ(result.last().kind, ReportKind::kFailed);
  EXPECT_NE(result.err.find("nnn: command not found\n"), std::string::npos);
}

INSTANTIATE_LAUNCHER_MODES(StartTest);

}  // namespace
}  // namespace native_runner
