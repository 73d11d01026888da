#include "workspace/tree/beneath.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <atomic>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

#include "tests/workspace/support/refusing_filter.h"
#include "tests/workspace/support/tree.h"

namespace native_runner {
namespace {

std::string Naively(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(BeneathTest, OpensWhatLiesBelow) {
  const Tree tree;
  const Beneath root = tree.Root();
  EXPECT_EQ(Contents(root, "file"), "inside");
  EXPECT_EQ(Contents(root, "inner/file"), "inside");
  EXPECT_EQ(OutcomeOf(root.Entry("", "open")), "");
  EXPECT_EQ(Contents(root, "missing"), "[ENOENT]");
  EXPECT_EQ(Contents(root, "file/below"), "[ENOTDIR]");
  EXPECT_EQ(Contents(root, "inner"), "[EISDIR]");
}

// Every way in which a link can stand in a path, with a control: without us, it leads out.
TEST(BeneathTest, NoLinkLeadsAnywhere) {
  const Tree tree;
  const std::string outside = tree.place().Path("outside");
  tree.Link(outside + "/file", "absolute");
  tree.Link("../outside/file", "relative");
  tree.Link(outside, "directory");
  tree.Link("../../outside", "inner/up");
  tree.Link("directory", "chained");
  tree.Link("/proc/self/root" + outside, "magic");
  for (const char* path :
       {"absolute", "relative", "directory/file", "inner/up/file", "chained/file", "magic/file"}) {
    EXPECT_EQ(Naively(tree.Path(path)), "secret") << path;
    EXPECT_EQ(Contents(tree.Root(), path), "[ELOOP]") << path;
  }
  tree.Link("file", "within");  // nor one that stays inside: who made it is not known
  EXPECT_EQ(Naively(tree.Path("within")), "inside");
  EXPECT_EQ(Contents(tree.Root(), "within"), "[ELOOP]");
}

TEST(BeneathTest, AnEntryThatIsALinkIsTheLinkItself) {
  const Tree tree;
  tree.Link("../outside/file", "link");
  const auto entry = tree.Root().Entry("link", "stat");
  ASSERT_TRUE(entry);
  const auto stat = StatOf(entry.value().get(), "stat");
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat.value().type, FileType::kSymlink);
}

TEST(BeneathTest, TheKernelsOwnLinksLeadNowhereEither) {
  const auto root = Beneath::Open("/proc/self");
  ASSERT_TRUE(root);
  EXPECT_EQ(access("/proc/self/root/etc", F_OK), 0);
  EXPECT_EQ(OutcomeOf(root.value().Directory("root/etc", "open")), "ELOOP");
  EXPECT_EQ(OutcomeOf(root.value().Directory("cwd", "open")), "ELOOP");
}

TEST(BeneathTest, TheWayToTheTopMayBeALink) {
  const Tree tree;
  std::filesystem::create_symlink("workspace", tree.place().Path("link"));
  const auto root = Beneath::Open(tree.place().Path("link"));
  ASSERT_TRUE(root);
  EXPECT_EQ(Contents(root.value(), "file"), "inside");
  const auto none = Beneath::Open(tree.place().Path("none"));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().sandbox.code, ErrorCode::kSetup);
  EXPECT_NE(none.error().sandbox.message.find("shadowDir"), std::string::npos);
}

TEST(BeneathTest, APlaceIsADirectoryAndAName) {
  const Tree tree;
  tree.Link("inner", "link");
  const auto place = tree.Root().PlaceOf("inner/new", "open");
  ASSERT_TRUE(place);
  EXPECT_EQ(place.value().name, "new");
  EXPECT_EQ(faccessat(place.value().directory.get(), "file", F_OK, 0), 0);
  EXPECT_EQ(OutcomeOf(tree.Root().PlaceOf("", "open")), "EBUSY");
  EXPECT_EQ(OutcomeOf(tree.Root().PlaceOf("link/new", "open")), "ELOOP");
  EXPECT_EQ(OutcomeOf(tree.Root().PlaceOf("file/new", "open")), "ENOTDIR");
  EXPECT_EQ(OutcomeOf(tree.Root().PlaceOf("none/new", "open")), "ENOENT");
}

TEST(BeneathTest, PathsMayBeLongerThanTheKernelTakesAtOnce) {
  const Tree tree;
  const std::string name(250, 'n');
  constexpr int kDepth = 40;  // of 10,040 bytes
  Descriptor at(open(tree.Path("").c_str(), O_PATH | O_CLOEXEC));
  std::string path;
  for (int i = 0; i < kDepth; ++i) {
    ASSERT_EQ(mkdirat(at.get(), name.c_str(), 0755), 0);
    at = Descriptor(openat(at.get(), name.c_str(), O_PATH | O_CLOEXEC));
    path += name + "/";
  }
  ASSERT_GE(openat(at.get(), "end", O_WRONLY | O_CREAT | O_CLOEXEC, 0644), 0);
  EXPECT_LT(open(tree.Path(path + "end").c_str(), O_RDONLY | O_CLOEXEC), 0);
  EXPECT_EQ(errno, ENAMETOOLONG);
  EXPECT_EQ(Contents(tree.Root(), path + "end"), "");
  EXPECT_EQ(Contents(tree.Root(), path + "missing"), "[ENOENT]");
  EXPECT_EQ(Contents(tree.Root(), std::string(256, 'n')), "[ENAMETOOLONG]");
  EXPECT_EQ(Contents(tree.Root(), std::string(5000, 'n')), "[ENAMETOOLONG]");
}

// Up to the length at which a path is cut, and behind it: no byte is lost.
TEST(BeneathTest, EveryLengthAroundTheKernelsLongest) {
  const Tree tree;
  constexpr std::size_t kDirectories = 20;
  const std::string name(199, 'd');
  std::string path;
  Descriptor at(open(tree.Path("").c_str(), O_PATH | O_CLOEXEC));
  for (std::size_t i = 0; i < kDirectories; ++i) {
    ASSERT_EQ(mkdirat(at.get(), name.c_str(), 0755), 0);
    at = Descriptor(openat(at.get(), name.c_str(), O_PATH | O_CLOEXEC));
    path += name + "/";
  }
  for (std::size_t size = 4085; size <= 4105; ++size) {
    const std::string file(size - path.size(), 'f');
    const Descriptor made(openat(at.get(), file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    ASSERT_TRUE(made.valid());
    EXPECT_EQ(Contents(tree.Root(), path + file), "") << size;
    ASSERT_EQ(unlinkat(at.get(), file.c_str(), 0), 0);
    EXPECT_EQ(Contents(tree.Root(), path + file), "[ENOENT]") << size;
  }
}

// A directory that is a link half of the time.
TEST(BeneathTest, ALinkThatIsSwappedInLeadsNowhere) {
  const Tree tree;
  tree.Link("../outside", "swap");
  std::filesystem::create_directory(tree.Path("here"));
  tree.Write("here/file", "inside");
  std::atomic<bool> stop = false;
  std::thread swapper([&] {
    while (!stop) {
      syscall(SYS_renameat2, AT_FDCWD, tree.Path("here").c_str(), AT_FDCWD,
              tree.Path("swap").c_str(), 2 /* RENAME_EXCHANGE */);
    }
  });
  constexpr int kTries = 20'000;
  const Beneath root = tree.Root();
  int inside = 0;
  int refused = 0;
  int led_out = 0;
  for (int i = 0; i < kTries; ++i) {
    const std::string seen = Contents(root, "here/file");
    inside += seen == "inside" ? 1 : 0;
    refused += seen == "[ELOOP]" ? 1 : 0;
    led_out += Naively(tree.Path("here/file")) == "secret" ? 1 : 0;
  }
  stop = true;
  swapper.join();
  EXPECT_EQ(inside + refused, kTries);
  EXPECT_GT(inside, 0);
  EXPECT_GT(refused, 0);
  EXPECT_GT(led_out, 0) << "the control: the swap was never seen";
}

class BeneathWithoutOpenat2 : public testing::TestWithParam<int> {};

TEST_P(BeneathWithoutOpenat2, IsUnavailableAndOpensNothing) {
  const Tree tree;
  const Beneath root = tree.Root();
  ASSERT_EQ(Contents(root, "file"), "inside");
  std::string seen;
  ErrorCode code = ErrorCode::kSetup;
  ASSERT_TRUE(Under({.call = SYS_openat2, .number = GetParam()}, [&] {
    const auto opened = root.Entry("file", "open");
    if (opened) return;
    seen = OutcomeOf(opened);
    code = opened.error().sandbox.code;
  }));
  EXPECT_EQ(seen.find("sandbox: files of a workspace need openat2"), 0U) << seen;
  EXPECT_EQ(code, ErrorCode::kUnavailable);
}

INSTANTIATE_TEST_SUITE_P(Numbers, BeneathWithoutOpenat2, testing::Values(ENOSYS, EPERM));

}  // namespace
}  // namespace native_runner
