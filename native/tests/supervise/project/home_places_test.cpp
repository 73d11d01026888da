// What a home on the host holds before bwrap mounts the tools in it.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "supervise/project/homes.h"
#include "tests/supervise/support/temp_directory.h"

namespace native_runner {
namespace {

class HomePlacesTest : public testing::Test {
 protected:
  HomePlacesTest() {
    std::filesystem::create_directories(directory_.Path("home"));
    std::filesystem::create_directories(directory_.Path("tool/bin"));
    std::ofstream(directory_.Path("tool/rc")) << "x";
    view_.path = "/home/ada";
    view_.directory = directory_.Path("home");
    Show("tool", "/home/ada/.nvm/versions");
  }

  void Show(const char* source, const char* target) {
    view_.shown.push_back({directory_.Path(source), target});
  }
  std::string Failure() {
    const auto error = MakeHomePlaces(view_);
    return error ? error->message : "";
  }
  std::string InHome(const char* below) { return directory_.Path("home") + "/" + below; }

  TempDirectory directory_;
  HomeView view_;
};

TEST_F(HomePlacesTest, AreMadeOnceForEachPathInTheHome) {
  Show("tool/rc", "/home/ada/.tool/rc");
  Show("tool/rc", "/home/ada/.nvm/versions/rc");  // in what is shown already
  Show("tool", "/opt/tool");
  for (int run = 0; run < 2; ++run) {
    EXPECT_EQ(Failure(), "");
    EXPECT_TRUE(std::filesystem::is_directory(InHome(".nvm/versions")));
    EXPECT_TRUE(std::filesystem::is_regular_file(InHome(".tool/rc")));
    EXPECT_TRUE(std::filesystem::is_empty(InHome(".nvm/versions")));
  }
  EXPECT_FALSE(std::filesystem::exists(InHome("opt")));
}

TEST_F(HomePlacesTest, AreMadeForMountsWithTheDirectoriesAboveThem) {
  const std::vector<MountPlace> mounts = {{"/home/ada/a/b/data", true},
                                          {"/home/ada/a/file", false},
                                          {"/home/ada/.nvm/versions/in-a-tool", true},
                                          {"/home/ada", true},
                                          {"/elsewhere", true}};
  for (int run = 0; run < 2; ++run) {
    EXPECT_FALSE(MakeHomePlaces(view_, mounts));
    EXPECT_TRUE(std::filesystem::is_directory(InHome("a/b/data")));
    EXPECT_TRUE(std::filesystem::is_regular_file(InHome("a/file")));
    EXPECT_TRUE(std::filesystem::is_empty(InHome(".nvm/versions")));
  }
  EXPECT_FALSE(std::filesystem::exists(InHome("elsewhere")));
  std::filesystem::create_directory_symlink("a", InHome("link"));
  EXPECT_FALSE(MakeHomePlaces(view_, {{"/home/ada/link/in", true}}));
  EXPECT_FALSE(std::filesystem::exists(InHome("a/in")));
}

TEST_F(HomePlacesTest, ALinkThatACommandMadeLeadsNowhere) {
  std::filesystem::create_directories(directory_.Path("elsewhere"));
  std::filesystem::create_directory_symlink("../elsewhere", InHome(".nvm"));
  EXPECT_NE(Failure().find("home/.nvm\" in the home"), std::string::npos) << Failure();
  EXPECT_TRUE(std::filesystem::is_empty(directory_.Path("elsewhere")));
}

TEST_F(HomePlacesTest, ALinkAtTheEndIsRefusedToo) {
  std::filesystem::create_directories(directory_.Path("elsewhere"));
  std::filesystem::create_directories(InHome(".nvm"));
  std::filesystem::create_directory_symlink("../../elsewhere", InHome(".nvm/versions"));
  EXPECT_NE(Failure(), "");
  std::filesystem::remove(InHome(".nvm/versions"));
  EXPECT_EQ(Failure(), "");
}

TEST_F(HomePlacesTest, AFileLinkIsNotFollowed) {
  Show("tool/rc", "/home/ada/.toolrc");
  std::filesystem::create_symlink("../made", InHome(".toolrc"));
  EXPECT_NE(Failure(), "");
  EXPECT_FALSE(std::filesystem::exists(directory_.Path("made")));
}

TEST_F(HomePlacesTest, AnotherTypeIsInTheWay) {
  std::ofstream(InHome(".nvm")) << "a file";
  EXPECT_NE(Failure(), "");
  std::filesystem::remove(InHome(".nvm"));
  Show("tool/rc", "/home/ada/.toolrc");
  std::filesystem::create_directory(InHome(".toolrc"));
  EXPECT_NE(Failure().find("Is a directory"), std::string::npos) << Failure();
}

TEST_F(HomePlacesTest, AMissingHomeIsNamed) {
  std::filesystem::remove_all(directory_.Path("home"));
  EXPECT_NE(Failure().find("No such file"), std::string::npos) << Failure();
}

TEST_F(HomePlacesTest, ATmpfsNeedsNone) {
  view_.directory.clear();
  EXPECT_EQ(Failure(), "");
  EXPECT_TRUE(std::filesystem::is_empty(directory_.Path("home")));
}

}  // namespace
}  // namespace native_runner
