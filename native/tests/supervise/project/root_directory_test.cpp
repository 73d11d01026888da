// How another root file system is laid out for the mounts upon it.

#include "supervise/project/root_directory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "tests/supervise/support/temp_directory.h"

namespace native_runner {
namespace {

namespace fs = std::filesystem;
using Kind = Mount::Kind;

class RootDirectoryTest : public testing::Test {
 protected:
  RootDirectoryTest() {
    for (const char* name : {"usr/bin", "etc/deep/deeper", "proc", "sys/kernel", "run/user", "tmp"})
      fs::create_directories(Path(name));
    for (const char* name : {"etc/passwd", "etc/deep/file", "file"})
      std::ofstream(Path(name)) << "x";
    fs::create_symlink("usr/bin", Path("bin"));
    mkfifo(Path("fifo").c_str(), 0644);
  }

  std::string Path(const std::string& name) const { return directory_.Path("root/" + name); }

  // Opens it; returns what is at each path: "bind", a link's text, or "".
  std::map<std::string, std::string> LayoutOf(const std::vector<RootPlace>& places) {
    std::map<std::string, std::string> layout;
    auto root = OpenRoot(directory_.Path("root"), places, 10);
    failure_ = root ? "" : root.error().message;
    if (!root) return layout;
    std::size_t bound = 0;
    for (const Mount& mount : root.value().mounts) {
      std::string& what = layout[mount.target];
      if (mount.kind == Kind::kSymlink) what = mount.source;
      if (mount.kind != Kind::kReadOnlyBind) continue;
      what = "bind";
      EXPECT_EQ(mount.descriptor, 10 + static_cast<int>(bound++));
      EXPECT_EQ(mount.source, root.value().path + mount.target);
    }
    EXPECT_EQ(bound, root.value().files.size());
    return layout;
  }

  TempDirectory directory_;
  std::string failure_;
};

using Layout = std::map<std::string, std::string>;

TEST_F(RootDirectoryTest, BindsEachEntryAndKeepsLinks) {
  const Layout want = {{"/bin", "usr/bin"}, {"/etc", "bind"}, {"/file", "bind"},
                       {"/usr", "bind"},    {"/run", ""},     {"/sys", ""}};
  EXPECT_EQ(LayoutOf({}), want);
}

TEST_F(RootDirectoryTest, OpensOnlyDirectoriesThatLackAPlace) {
  const auto layout =
      LayoutOf({{.path = "/etc/deep/new", .type = RootPlace::Type::kFile}, {.path = "/usr/bin"}});
  EXPECT_EQ(layout.at("/etc"), "");
  EXPECT_EQ(layout.at("/etc/passwd"), "bind");
  EXPECT_EQ(layout.at("/etc/deep"), "");
  EXPECT_EQ(layout.at("/etc/deep/file"), "bind");
  EXPECT_EQ(layout.at("/etc/deep/deeper"), "bind");
  EXPECT_EQ(layout.at("/usr"), "bind");  // it has a place for what is mounted there
  EXPECT_FALSE(layout.contains("/etc/deep/new"));
}

TEST_F(RootDirectoryTest, LeavesOutWhatAMountTakesThePlaceOf) {
  const auto layout = LayoutOf({{.path = "/etc"}, {.path = "/etc/deep/new"}});
  EXPECT_FALSE(layout.contains("/etc"));
  EXPECT_FALSE(layout.contains("/etc/passwd"));
}

TEST_F(RootDirectoryTest, RefusesPlacesBehindWhatIsNoDirectory) {
  LayoutOf({{.path = "/bin/x"}});
  EXPECT_NE(failure_.find("a symbolic link at /bin, above what has to be at /bin/x"),
            std::string::npos);
  LayoutOf({{.path = "/etc/passwd/x"}});
  EXPECT_NE(failure_.find("no directory at /etc/passwd"), std::string::npos);
  const auto layout = LayoutOf({{.path = "/bin/x", .may_hide = true}});
  EXPECT_EQ(layout.at("/bin"), "");
}

TEST_F(RootDirectoryTest, RefusesMoreEntriesThanBwrapShouldMount) {
  for (int at = 0; at < 600; ++at)
    std::ofstream(Path("etc/" + std::to_string(at))) << "x";
  EXPECT_EQ(LayoutOf({}).at("/etc"), "bind");
  LayoutOf({{.path = "/etc/new"}});
  EXPECT_NE(failure_.find("has more than 500 entries"), std::string::npos);
}

}  // namespace
}  // namespace native_runner
