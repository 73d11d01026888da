// The kernel enforces an order's rules. The launcher is a subreaper here, without namespaces, so
// only Landlock can refuse a call.

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/launcher/support/launcher_fixture.h"

namespace native_runner {
namespace {

namespace fs = std::filesystem;

long Abi() {
  const long abi = syscall(SYS_landlock_create_ruleset, nullptr, 0, 1);
  return abi < 0 ? 0 : abi;
}

class LandlockTest : public testing::Test {
 protected:
  void SetUp() override {
    if (Abi() == 0) GTEST_SKIP() << "this kernel has no Landlock";
    path_ = fs::canonical(testing::TempDir()).string() + "/landlock-XXXXXX";
    ASSERT_NE(mkdtemp(path_.data()), nullptr);
    for (const char* name : {"listed", "written", "outside"}) {
      fs::create_directory(Path(name));
      std::ofstream(Path(name) + "/file") << name << "\n";
    }
    for (const char* directory : {"/usr", "/bin", "/lib", "/lib64", "/etc"}) {
      if (fs::exists(directory)) rules_.push_back(std::string("r") + directory);
    }
  }
  void TearDown() override {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }

  std::string Path(const std::string& name) const { return path_ + "/" + name; }
  void Allow(char kind, const std::string& path) { rules_.push_back(kind + path); }

  // Sends stderr to stdout, where the shell names the kernel's error.
  OrderSpec Order(const std::string& script, std::uint32_t flags) const {
    OrderSpec spec{.argv = {"/bin/sh", "-c", "exec 2>&1; " + script}, .cwd = path_};
    spec.header.flags = kOrderNoNewPrivs | flags;
    spec.rules = rules_;
    return spec;
  }
  std::string Confined(const std::string& script, std::uint32_t flags = 0) const {
    const RunResult result = RunCommand(Mode::kSubreaper, Order(script, kOrderLandlock | flags));
    EXPECT_EQ(result.last().kind, ReportKind::kExited) << result.last().text;
    return result.out;
  }
  std::string Free(const std::string& script) const {
    return RunCommand(Mode::kSubreaper, Order(script, 0)).out;
  }

  std::string path_;
  std::vector<std::string> rules_;
};

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST_F(LandlockTest, ReadsWhatIsListedAndNothingElse) {
  const std::string script = "cat listed/file; cat outside/file; ls outside";
  EXPECT_EQ(Free(script), "listed\noutside\nfile\n");
  Allow(kRuleRead, Path("listed"));
  const std::string out = Confined(script);
  EXPECT_EQ(out.find("listed\n"), 0u) << out;
  EXPECT_HAS(out, "cat: outside/file: Permission denied");
  EXPECT_HAS(out, "ls: cannot open directory 'outside': Permission denied");
}

TEST_F(LandlockTest, WritesWhatIsListedAndNothingElse) {
  const std::string script =
      "echo x > written/new && echo made; rm written/file && echo gone;"
      "echo x > listed/new; echo x >> listed/file; rm listed/file; mkdir outside/new;"
      "cat written/new";
  Allow(kRuleRead, Path("listed"));
  Allow(kRuleWrite, Path("written"));
  const std::string out = Confined(script);
  EXPECT_EQ(out.find("made\ngone\n"), 0u) << out;
  EXPECT_HAS(out, "cannot create listed/new: Permission denied");
  EXPECT_HAS(out, "cannot create listed/file: Permission denied");
  EXPECT_HAS(out, "rm: cannot remove 'listed/file': Permission denied");
  EXPECT_HAS(out, "mkdir: cannot create directory 'outside/new': Permission denied");
  EXPECT_HAS(out, "cat: written/new: Permission denied");  // to write is not to read
  EXPECT_TRUE(fs::exists(Path("written/new")) && fs::exists(Path("listed/file")));
  EXPECT_EQ(Free("echo x > listed/new && rm listed/file && echo both"), "both\n");
}

TEST_F(LandlockTest, ListsWithoutReading) {
  Allow(kRuleList, Path("listed"));
  const std::string out = Confined("ls listed; cat listed/file");
  EXPECT_EQ(out.find("file\n"), 0u) << out;
  EXPECT_HAS(out, "cat: listed/file: Permission denied");
}

TEST_F(LandlockTest, AFileMayBeListedByItself) {
  Allow(kRuleRead, Path("outside/file"));
  const std::string out = Confined("cat outside/file; ls outside");
  EXPECT_EQ(out.find("outside\n"), 0u) << out;
  EXPECT_HAS(out, "Permission denied");
}

TEST_F(LandlockTest, DevicesAreReadAndWrittenWhereTheyAreListed) {
  const std::string script = "echo x > /dev/null && echo written";
  EXPECT_HAS(Confined(script), "cannot create /dev/null: Permission denied");
  Allow(kRuleDevice, "/dev/null");
  EXPECT_EQ(Confined(script), "written\n");
}

TEST_F(LandlockTest, LinksLeadNowhereElse) {
  fs::create_symlink(Path("outside/file"), Path("listed/link"));
  Allow(kRuleRead, Path("listed"));
  EXPECT_HAS(Confined("cat listed/link"), "cat: listed/link: Permission denied");
  EXPECT_EQ(Free("cat listed/link"), "outside\n");
}

TEST_F(LandlockTest, HoldsForWhateverTheCommandStarts) {
  Allow(kRuleRead, Path("listed"));
  const std::string out = Confined("setsid -w sh -c 'cat outside/file; cat listed/file'");
  EXPECT_HAS(out, "cat: outside/file: Permission denied");
  EXPECT_HAS(out, "listed\n");
}

TEST_F(LandlockTest, FilesMoveBetweenListedDirectories) {
  if (Abi() < 2) GTEST_SKIP() << "needs ABI 2, this kernel has " << Abi();
  Allow(kRuleWrite, Path("listed"));
  Allow(kRuleWrite, Path("written"));
  EXPECT_EQ(Confined("mv listed/file written/moved && echo moved"), "moved\n");
  EXPECT_HAS(Confined("mv written/file outside/moved"), "mv: cannot move");
}

TEST_F(LandlockTest, TruncatesWhatMayBeWrittenOnly) {
  if (Abi() < 3) GTEST_SKIP() << "needs ABI 3, this kernel has " << Abi();
  Allow(kRuleRead, Path("listed"));
  Allow(kRuleWrite, Path("written"));
  Allow(kRuleRead, ProbePath());
  EXPECT_EQ(Confined(ProbePath() + " truncate written/file"), "0\n");
  EXPECT_EQ(Confined(ProbePath() + " truncate listed/file"), std::to_string(EACCES) + "\n");
  EXPECT_EQ(Free(ProbePath() + " truncate listed/file"), "0\n");
}

TEST_F(LandlockTest, SignalsStayInsideWhereTheyAreScoped) {
  if (Abi() < 6) GTEST_SKIP() << "needs ABI 6, this kernel has " << Abi();
  Allow(kRuleDevice, "/dev/null");  // what a shell gives to its background
  const std::string script = "kill -0 " + std::to_string(getpid()) + " && echo reached";
  EXPECT_HAS(Confined(script, kOrderScoped), "Operation not permitted");
  EXPECT_EQ(Confined(script), "reached\n");
  EXPECT_EQ(Confined("sleep 5 & kill $! && echo own", kOrderScoped), "own\n");
}

TEST_F(LandlockTest, SaysWhatIsEnforced) {
  const auto enforced = [this](std::uint32_t flags) {
    return RunCommand(Mode::kSubreaper, Order("true", flags)).reports.front().enforced;
  };
  LayerSet tcp = {Layer::kLandlockFiles};
  if (Abi() >= 4) tcp.Add(Layer::kLandlockTcp);
  LayerSet scope = {Layer::kLandlockFiles};
  if (Abi() >= 6) scope.Add(Layer::kLandlockScope);
  EXPECT_EQ(enforced(0), LayerSet{});
  EXPECT_EQ(enforced(kOrderLandlock), LayerSet{Layer::kLandlockFiles});
  EXPECT_EQ(enforced(kOrderLandlock | kOrderNoSockets), tcp);
  EXPECT_EQ(enforced(kOrderLandlock | kOrderScoped), scope);
}

TEST_F(LandlockTest, ARuleForWhatIsNotThereIsRefused) {
  Allow(kRuleRead, Path("missing"));
  const RunResult result = RunCommand(Mode::kSubreaper, Order("echo ran", kOrderLandlock));
  EXPECT_EQ(result.last().kind, ReportKind::kRefused);
  EXPECT_EQ(result.last().error, ENOENT);
  EXPECT_EQ(std::string(result.last().text),
            "landlock-fs: " + Path("missing") + ": No such file or directory");
  EXPECT_EQ(result.out, "");
}

TEST_F(LandlockTest, AnEntryMayHaveGoneAndIsNoLinkToAnother) {
  fs::create_symlink(Path("outside"), Path("link"));
  for (const char* name : {"missing", "listed", "link"})
    Allow(kRuleReadEntry, Path(name));
  const std::string out = Confined("cat listed/file; cat link/file");
  EXPECT_EQ(out.find("listed\n"), 0u) << out;
  EXPECT_HAS(out, "cat: link/file: Permission denied");
  EXPECT_EQ(Free("cat link/file"), "outside\n");
}

TEST_F(LandlockTest, WhatIsRequiredAndNotEnforcedIsRefused) {
  OrderSpec spec = Order("echo ran", kOrderLandlock);
  spec.header.required = {Layer::kLandlockFiles, Layer::kLandlockTcp};
  const RunResult refused = RunCommand(Mode::kSubreaper, spec);
  EXPECT_EQ(refused.last().kind, ReportKind::kRefused);
  EXPECT_EQ(std::string(refused.last().text),
            "landlock-tcp: required, but this kernel can't enforce it");
  EXPECT_EQ(refused.out, "");
  spec.header.required = {Layer::kLandlockFiles};
  EXPECT_EQ(RunCommand(Mode::kSubreaper, spec).out, "ran\n");
}

TEST_F(LandlockTest, NobodyButRootEntersWithoutNoNewPrivs) {
  if (geteuid() == 0) GTEST_SKIP() << "root may, by CAP_SYS_ADMIN";
  OrderSpec spec = Order("echo ran", kOrderLandlock);
  spec.header.flags = kOrderLandlock;
  const RunResult result = RunCommand(Mode::kSubreaper, spec);
  EXPECT_EQ(result.last().kind, ReportKind::kRefused);
  EXPECT_EQ(result.last().error, EPERM);
  EXPECT_EQ(result.out, "");
}

}  // namespace
}  // namespace native_runner
