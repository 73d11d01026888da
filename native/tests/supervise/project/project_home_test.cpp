// How a project's commands see the home, and what the launcher is asked for.

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "protocol/order.h"
#include "supervise/project/homes.h"
#include "tests/supervise/support/temp_directory.h"

namespace native_runner {
namespace {

using Paths = std::vector<std::string>;

class ProjectHomeTest : public testing::Test {
 protected:
  ProjectHomeTest() {
    for (const char* name : {"home/.config/gh", "home/project", "home/disk/inner", "elsewhere"})
      std::filesystem::create_directories(directory_.Path(name));
    policy_.home = Home();
    policy_.folders = {directory_.Path("elsewhere")};
  }

  std::string Home(const std::string& below = "") { return directory_.Path("home" + below); }

  ProjectHome Find(const Paths& secrets = {}, std::optional<Paths> mounts = Paths()) {
    return FindProjectHome(policy_, {}, secrets, std::move(mounts));
  }

  Paths StepsFor(const ProjectHome& home, std::span<const PlacedDirectory> folders = {}) {
    SpawnPlan plan;
    const auto error = OrderHome(home, folders, 9, 5, &plan);
    EXPECT_FALSE(error) << error->message;
    EXPECT_EQ(plan.spawn.inherited.size(), 1u);
    return plan.caches;
  }

  std::string Named(const std::string& path) {
    struct stat status {};
    EXPECT_EQ(stat(path.c_str(), &status), 0);
    return std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino) + ":" + path;
  }

  TempDirectory directory_;
  ProjectPolicy policy_;
};

TEST_F(ProjectHomeTest, HidesTheOutermostSecretsThereOrNot) {
  const Paths secrets = {Home("/.config/gh/hosts.yml"), Home("/.config/gh"), Home("/.aws"),
                         directory_.Path("elsewhere/.env"), "/etc/shadow"};
  const ProjectHome home = Find(secrets);
  EXPECT_EQ(home.path, Home());
  EXPECT_EQ(home.hidden, (Paths{Home("/.aws"), Home("/.config/gh")}));
  EXPECT_EQ(StepsFor(home),
            Paths{kStepCache + std::string("9:") + Named(Home()) + "\n.aws\n.config/gh"});
}

TEST_F(ProjectHomeTest, KeepsWhatIsMountedInItAndTheFolders) {
  if (geteuid() != 0) GTEST_SKIP() << "an ordinary user's home with mounts is read-only";
  policy_.folders = {Home("/project"), Home("/disk/inner")};
  const ProjectHome home = Find({}, Paths{Home("/disk"), Home("/project/mounted"), Home("/gone")});
  EXPECT_EQ(home.mounts, Paths{Home("/disk")});
  const PlacedDirectory folders[] = {{Home("/project"), {1, 2}}, {Home("/disk/inner"), {3, 4}}};
  EXPECT_EQ(StepsFor(home, folders),
            (Paths{kStepCache + std::string("9:") + Named(Home()), kStepKept + Named(Home("/disk")),
                   kStepKept + ("1:2:" + Home("/project"))}));
}

TEST_F(ProjectHomeTest, StaysReadOnlyWhereASecretCanNotBeHidden) {
  EXPECT_EQ(Find({Home()}).path, "");
  EXPECT_EQ(Find({directory_.Path("")}).path, "");
  EXPECT_EQ(Find({Home("/a\nb")}).path, "");
  EXPECT_EQ(Find({Home("/disk/token")}, Paths{Home("/disk")}).path, "");
  policy_.folders = {Home("/.config/gh")};
  EXPECT_EQ(Find({Home("/.config")}).path, "");
  EXPECT_EQ(Find({Home("/.config/gh/token")}).path, Home());  // inside a folder: a mask hides it
}

TEST_F(ProjectHomeTest, StaysReadOnlyForAnOrdinaryUserWithAMountInIt) {
  if (geteuid() == 0) GTEST_SKIP() << "root needs no user namespace";
  EXPECT_EQ(Find({}, Paths{Home("/disk")}).path, "");
}

TEST_F(ProjectHomeTest, StaysReadOnlyWhereThereIsNone) {
  EXPECT_EQ(Find({}, std::nullopt).path, "");
  policy_.folders = {directory_.Path("")};
  EXPECT_EQ(Find().path, "");
  policy_.folders = {Home()};
  EXPECT_EQ(Find().path, "");
  policy_.folders = {};
  EXPECT_EQ(FindProjectHome(policy_, {directory_.Path("")}, {}, Paths()).path, "");
  for (const char* home : {"", "/dev/shm", "/proc/self", "/nonexistent"}) {
    policy_.home = home;
    EXPECT_EQ(Find().path, "") << home;
  }
  std::filesystem::create_directory_symlink(Home(), directory_.Path("link"));
  policy_.home = directory_.Path("link");
  EXPECT_EQ(Find().path, "");
  policy_.home = Home();
  EXPECT_EQ(Find().path, Home());
}

TEST_F(ProjectHomeTest, StaysReadOnlyWithMoreInItThanTheLauncherTakes) {
  policy_.folders.clear();
  for (std::size_t each = 0; each < kMostKept; ++each)
    policy_.folders.push_back(Home("/folder" + std::to_string(each)));
  EXPECT_EQ(Find().path, "");
  policy_.folders.pop_back();
  EXPECT_EQ(Find().path, Home());
}

}  // namespace
}  // namespace native_runner
