// Directories of a lower layer are renamed on a real overlay, in namespaces of each test's own.
#include "launcher/command/directory_move.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>

#include "tests/supervise/support/temp_directory.h"
#include "tests/workspace/support/own_mounts.h"
#include "tests/workspace/support/stepping.h"

namespace native_runner {
namespace {

namespace fs = std::filesystem;
constexpr int kNoOverlay = 77;
constexpr char kTemporary[] = ".renaming-test";
const std::string kOddName = "new\nline \xff";

using Tree = std::map<std::string, std::string>;

std::string TextOf(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::string Describe(const fs::path& path) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) return "gone";
  std::ostringstream text;
  text << std::oct << status.st_mode << std::dec << " " << status.st_uid << ":" << status.st_gid;
  if (S_ISLNK(status.st_mode)) text << " -> " << fs::read_symlink(path).string();
  if (S_ISREG(status.st_mode)) text << " " << status.st_size << " " << TextOf(path).substr(0, 16);
  if (S_ISREG(status.st_mode) && status.st_blocks > 100) text << " without holes";
  std::array<char, 64> value{};
  const auto size = lgetxattr(path.c_str(), "user.kept", value.data(), value.size());
  if (size >= 0) text << " kept=" << std::string(value.data(), static_cast<std::size_t>(size));
  text << " @" << status.st_mtim.tv_sec << "." << status.st_mtim.tv_nsec;
  return text.str();
}

// All that a directory holds, and itself as ".".
Tree TreeOf(const fs::path& top) {
  Tree tree = {{".", Describe(top)}};
  if (!fs::is_directory(fs::symlink_status(top))) return tree;
  for (const auto& entry : fs::recursive_directory_iterator(top))
    tree[entry.path().lexically_relative(top)] = Describe(entry.path());
  return tree;
}

// Returns the tree without what a killed process can't restore: times of directories, and the mode
// of one that its owner can't enter.
Tree WithoutTimes(const fs::path& top) {
  Tree tree = TreeOf(top);
  for (auto& [path, text] : tree)
    if (fs::is_directory(fs::symlink_status(top / path))) {
      const std::size_t owner = text.find(' ');
      const auto mode = std::stoul(text.substr(0, owner), nullptr, 8) | S_IRWXU;
      text = std::to_string(mode) + text.substr(owner, text.find('@') - owner);
    }
  return tree;
}

void Write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

void SetTime(const fs::path& path, long seconds) {
  const std::array<timespec, 2> times = {timespec{seconds, 5}, timespec{seconds, 7}};
  EXPECT_EQ(utimensat(AT_FDCWD, path.c_str(), times.data(), AT_SYMLINK_NOFOLLOW), 0);
}

// A project with a directory "docs", and what an overlay of it shows.
class Project {
 public:
  Project() {
    for (const char* name : {"lower", "upper", "work", "merged", "outside"})
      fs::create_directory(place_.Path(name));
    const fs::path docs = Lower("docs");
    Write(docs / "a.txt", "one");
    Write(docs / "sub/deep/b.txt", "two");
    Write(docs / "sub" / kOddName, "odd");
    Write(docs / "shut/in.txt", "three");
    fs::create_directory(docs / "empty");
    fs::create_symlink("a.txt", docs / "link");
    fs::create_symlink("/etc", docs / "sub/away");
    EXPECT_EQ(mkfifo((docs / "pipe").c_str(), 0640), 0);
    Write(docs / "holes", "");
    fs::resize_file(docs / "holes", std::uintmax_t{1} << 18U);
    has_attributes_ = setxattr((docs / "sub").c_str(), "user.kept", "dir", 3, 0) == 0 &&
                      setxattr((docs / "a.txt").c_str(), "user.kept", "file", 4, 0) == 0;
    chmod((docs / "sub/deep").c_str(), 0751);
    chmod((docs / "shut").c_str(), 0555);
    for (const char* path : {"sub/deep/b.txt", "sub/deep", "shut", "sub", "empty", "."})
      SetTime(docs / path, 1'000'000'000);
    Write(place_.Path("outside/kept.txt"), "outside");
  }
  ~Project() {
    umount2(Merged().c_str(), MNT_DETACH);
    // A directory that its owner can't enter could not be removed.
    for (const char* tree : {"lower", "upper", "work"}) {
      for (const auto& entry : fs::recursive_directory_iterator(
               place_.Path(tree), fs::directory_options::skip_permission_denied)) {
        if (fs::is_directory(entry.symlink_status())) chmod(entry.path().c_str(), 0700);
      }
    }
  }

  bool Mount() const {
    const std::string options = "userxattr,lowerdir=" + place_.Path("lower") +
                                ",upperdir=" + place_.Path("upper") +
                                ",workdir=" + place_.Path("work");
    return mount("overlay", Merged().c_str(), "overlay", 0, options.c_str()) == 0;
  }

  std::string Lower(const std::string& name) const { return place_.Path("lower/" + name); }
  std::string Merged(const std::string& name = "") const { return place_.Path("merged/" + name); }
  std::string Outside() const { return place_.Path("outside"); }
  bool has_attributes() const { return has_attributes_; }

  long Move(const char* to = "docs2", unsigned flags = 0) const {
    const int top = open(Merged().c_str(), O_PATH | O_DIRECTORY);
    const long result = MoveDirectory({top, "docs"}, {top, to}, kTemporary, flags);
    close(top);
    return result;
  }
  void Undo() const {
    const int top = open(Merged().c_str(), O_PATH | O_DIRECTORY);
    UndoMove({top, "docs"}, {top, kTemporary});
    close(top);
  }

 private:
  TempDirectory place_;
  bool has_attributes_ = false;
};

class DirectoryMoveTest : public testing::Test {
 protected:
  // Runs the body in a process that has mounts of its own.
  static void WithOverlay(const std::function<void(const Project&)>& body) {
    const pid_t child = fork();
    if (child == 0) {
      if (!HasOwnMounts()) _exit(kNoOverlay);
      {
        const Project project;
        if (!project.Mount()) _exit(kNoOverlay);
        body(project);
      }
      _exit(HasFailure() ? 1 : 0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == kNoOverlay) GTEST_SKIP() << "no overlay here";
    EXPECT_EQ(status, 0);
  }
};

TEST_F(DirectoryMoveTest, GivesADirectoryOfTheProjectAnotherName) {
  WithOverlay([](const Project& project) {
    const Tree before = TreeOf(project.Merged("docs"));
    EXPECT_EQ(before.size(), 13U);
    EXPECT_EQ(before.at("sub").find("kept=dir") != std::string::npos, project.has_attributes());
    const int result = rename(project.Merged("docs").c_str(), project.Merged("docs2").c_str());
    EXPECT_EQ(result, -1);
    EXPECT_EQ(errno, EXDEV) << "the control: the kernel does not";

    EXPECT_EQ(project.Move(), 0);
    EXPECT_EQ(TreeOf(project.Merged("docs2")), before);
    EXPECT_FALSE(fs::exists(project.Merged("docs")));
    EXPECT_EQ(TreeOf(project.Merged()).size(), before.size() + 1) << "nothing else is there";
    EXPECT_EQ(TreeOf(project.Lower("docs")), before) << "the layer below is only read";
  });
}

TEST_F(DirectoryMoveTest, TakesTheChangesAlong) {
  WithOverlay([](const Project& project) {
    Write(project.Merged("docs/new/file.txt"), "new");
    Write(project.Merged("docs/a.txt"), "changed");
    fs::remove(project.Merged("docs/holes"));
    const Tree before = TreeOf(project.Merged("docs"));
    EXPECT_EQ(project.Move(), 0);
    EXPECT_EQ(TreeOf(project.Merged("docs2")), before);
    EXPECT_EQ(rename(project.Merged("docs2").c_str(), project.Merged("docs").c_str()), 0)
        << "it is the overlay's own now, which the kernel renames";
    EXPECT_EQ(TreeOf(project.Merged("docs")), before);
  });
}

TEST_F(DirectoryMoveTest, TakesThePlaceOfAnEmptyDirectoryAlone) {
  WithOverlay([](const Project& project) {
    fs::create_directories(project.Merged("full/x"));
    fs::create_directory(project.Merged("none"));
    const Tree before = TreeOf(project.Merged());
    EXPECT_EQ(project.Move("full"), -ENOTEMPTY);
    EXPECT_EQ(TreeOf(project.Merged()), before);
    const Tree docs = TreeOf(project.Merged("docs"));
    EXPECT_EQ(project.Move("none"), 0);
    EXPECT_EQ(TreeOf(project.Merged("none")), docs);
  });
}

TEST_F(DirectoryMoveTest, PutsAllBackWhereItCantBeGivenItsName) {
  WithOverlay([](const Project& project) {
    fs::create_directory(project.Merged("none"));
    const Tree before = TreeOf(project.Merged("docs"));
    EXPECT_EQ(project.Move("none", 1), -EEXIST) << "RENAME_NOREPLACE";
    EXPECT_EQ(TreeOf(project.Merged("docs")), before);
    EXPECT_FALSE(fs::exists(project.Merged(kTemporary)));
    EXPECT_EQ(project.Move("other", 1), 0) << "the control";
  });
}

TEST_F(DirectoryMoveTest, MovesNothingOfAnotherMount) {
  WithOverlay([](const Project& project) {
    const std::string place = project.Merged("docs/sub/deep");
    const Tree before = TreeOf(project.Merged("docs"));
    EXPECT_EQ(mount("none", place.c_str(), "tmpfs", 0, nullptr), 0);
    Write(place + "/mounted", "mounted");
    EXPECT_EQ(project.Move(), -EXDEV);
    EXPECT_EQ(TextOf(place + "/mounted"), "mounted");
    umount(place.c_str());
    EXPECT_EQ(TreeOf(project.Merged("docs")), before);
    EXPECT_FALSE(fs::exists(project.Merged(kTemporary)));
    EXPECT_EQ(project.Move(), 0) << "the control";
  });
}

TEST_F(DirectoryMoveTest, LeavesWhatIsTooDeepToTheCaller) {
  WithOverlay([](const Project& project) {
    std::string deep = "docs";
    for (int level = 0; level < 140; ++level)
      deep += "/d";
    Write(project.Merged(deep + "/in.txt"), "deep");
    EXPECT_EQ(project.Move(), -EXDEV);
    EXPECT_EQ(TextOf(project.Merged(deep + "/in.txt")), "deep");
    EXPECT_EQ(TextOf(project.Merged("docs/a.txt")), "one");
    EXPECT_FALSE(fs::exists(project.Merged(kTemporary)));
  });
}

// Wherever it ends: afterwards all is at the one place or, but for empty directories, the other.
TEST_F(DirectoryMoveTest, IsUndoneWhereItsProcessDied) {
  bool goes_on = true;
  int put_back = 0;
  int done = 0;
  for (int step = 1; goes_on; ++step) {
    std::array<int, 2> told{};
    ASSERT_EQ(pipe(told.data()), 0);
    WithOverlay([&](const Project& project) {
      const Tree before = WithoutTimes(project.Merged("docs"));
      const Stepped stepped = RunToStep([&] { project.Move(); }, step, Kill);
      char what = 'd';
      if (!stepped.is_traced || !stepped.was_reached) {
        what = 'e';
      } else if (fs::exists(project.Merged("docs2"))) {
        EXPECT_EQ(WithoutTimes(project.Merged("docs2")), before) << "step " << step;
        EXPECT_FALSE(fs::exists(project.Merged(kTemporary)));
      } else {
        project.Undo();
        what = 'b';
        EXPECT_EQ(WithoutTimes(project.Merged("docs")), before) << "step " << step;
        EXPECT_FALSE(fs::exists(project.Merged(kTemporary))) << "step " << step;
      }
      EXPECT_EQ(write(told[1], &what, 1), 1);
    });
    close(told[1]);
    char what = 'e';
    if (read(told[0], &what, 1) != 1) what = 'e';
    close(told[0]);
    put_back += what == 'b' ? 1 : 0;
    done += what == 'd' ? 1 : 0;
    goes_on = what != 'e' && !HasFailure();
  }
  if (IsSkipped()) return;
  EXPECT_GT(put_back, 20);
  EXPECT_GT(done, 5);
}

// Links that are swapped in meanwhile lead nowhere else: no file is lost, here or there.
TEST_F(DirectoryMoveTest, LeadsNowhereElseWhereLinksAreSwappedIn) {
  const std::array<std::string, 6> kPlaces = {"docs",          "docs/sub",
                                              "docs/sub/deep", "docs/shut",
                                              kTemporary,      std::string(kTemporary) + "/sub"};
  int swapped = 0;
  for (const std::string& place : kPlaces) {
    bool goes_on = true;
    for (int step = 1; goes_on; step += 3) {
      std::array<int, 2> told{};
      ASSERT_EQ(pipe(told.data()), 0);
      WithOverlay([&](const Project& project) {
        // The names are those of the project, so that a step outside would find a file.
        fs::create_directories(project.Outside() + "/sub/deep");
        Write(project.Outside() + "/a.txt", "outside");
        Write(project.Outside() + "/sub/deep/b.txt", "outside");
        const Tree outside = TreeOf(project.Outside());
        const std::string path = project.Merged(place);
        bool was_there = false;
        const Stepped stepped =
            RunToStep([&] { project.Move(); }, step,
                      [&](pid_t) {
                        std::error_code error;
                        was_there = fs::exists(path);
                        fs::rename(path, project.Merged("aside"), error);
                        if (error) fs::remove_all(path, error);
                        fs::create_directory_symlink(project.Outside(), path, error);
                      });
        EXPECT_EQ(TreeOf(project.Outside()), outside) << place << ", step " << step;
        const char what = !stepped.was_reached ? 'e' : was_there ? 's' : 'n';
        EXPECT_EQ(write(told[1], &what, 1), 1);
      });
      close(told[1]);
      char what = 'e';
      if (read(told[0], &what, 1) != 1) what = 'e';
      close(told[0]);
      swapped += what == 's' ? 1 : 0;
      goes_on = what != 'e' && !HasFailure();
    }
  }
  if (IsSkipped()) return;
  EXPECT_GT(swapped, 20);
}

}  // namespace
}  // namespace native_runner
