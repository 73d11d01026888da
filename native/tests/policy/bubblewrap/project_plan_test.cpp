#include <gtest/gtest.h>

#include <algorithm>

#include "policy/bubblewrap/project.h"

namespace native_runner {
namespace project_plan_test {

using Texts = std::vector<std::string>;

ProjectPolicy Policy() {
  ProjectPolicy policy;
  policy.folders = {"/home/me/p", "/srv/shared"};
  policy.projects = policy.folders;
  return policy;
}

ProjectFacts Facts() {
  ProjectFacts facts;
  facts.scratch = {"/tmp"};
  facts.host.bwrap_perms = true;
  return facts;
}

// The options from the first mount after the private ones on.
Texts Mounts(const ProjectPolicy& policy, const ProjectFacts& facts, int descriptor = -1) {
  const Texts all = BubblewrapOptions(PlanProject(policy, facts, descriptor, 0));
  const auto tmp = std::find(all.begin(), all.end(), "/tmp");
  return {tmp + 1, all.end()};
}

const Texts kSeal = {"--remount-ro", "/dev", "--tmpfs", "/dev/shm", "--chdir", "/home/me/p"};

Texts operator+(Texts a, const Texts& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(PlanProject, IsAReadOnlyRootWithTheFoldersWritable) {
  EXPECT_EQ(BubblewrapOptions(PlanProject(Policy(), Facts(), -1, 0)), (Texts{"--die-with-parent",
                                                                             "--new-session",
                                                                             "--unshare-net",
                                                                             "--unshare-user",
                                                                             "--unshare-pid",
                                                                             "--unshare-ipc",
                                                                             "--unshare-uts",
                                                                             "--unshare-cgroup",
                                                                             "--cap-drop",
                                                                             "ALL",
                                                                             "--as-pid-1",
                                                                             "--ro-bind",
                                                                             "/",
                                                                             "/",
                                                                             "--proc",
                                                                             "/proc",
                                                                             "--dev",
                                                                             "/dev",
                                                                             "--tmpfs",
                                                                             "/tmp",
                                                                             "--bind",
                                                                             "/home/me/p",
                                                                             "/home/me/p",
                                                                             "--bind",
                                                                             "/srv/shared",
                                                                             "/srv/shared"} +
                                                                       kSeal));
}

TEST(PlanProject, ShowsTheHomeFirstAndWhatIsMountedInItReadOnly) {
  ProjectFacts facts = Facts();
  facts.home = "/home/me";
  facts.home_mounts = {"/home/me/disk"};
  facts.home_descriptor = 9;
  facts.host.secret_directories = {"/home/me/.ssh"};
  EXPECT_EQ(Mounts(Policy(), facts),
            (Texts{"--bind-fd", "9", "/home/me", "--ro-bind", "/home/me/disk", "/home/me/disk",
                   "--tmpfs", "/home/me/.ssh", "--bind", "/home/me/p", "/home/me/p", "--bind",
                   "/srv/shared", "/srv/shared", "--remount-ro", "/home/me/.ssh"} +
             kSeal));
}

TEST(PlanProject, BindsFoldersByDescriptorWhereItCan) {
  EXPECT_EQ(Mounts(Policy(), Facts(), 6),
            (Texts{"--bind-fd", "6", "/home/me/p", "--bind-fd", "7", "/srv/shared"} + kSeal));
}

TEST(PlanProject, WhatLiesAboveAProtectedPathIsAMountToo) {
  ProjectFacts facts = Facts();
  facts.protected_paths = {"/home/me/p/.git/hooks"};
  facts.pinned = {"/home/me/p/.git", "/home/me/p/.git"};
  facts.placeholders = {"/home/me/p/.envrc"};
  EXPECT_EQ(Mounts(Policy(), facts),
            (Texts{"--bind", "/home/me/p", "/home/me/p", "--perms", "0555", "--tmpfs",
                   "/home/me/p/.envrc", "--bind", "/home/me/p/.git", "/home/me/p/.git", "--ro-bind",
                   "/home/me/p/.git/hooks", "/home/me/p/.git/hooks", "--bind", "/srv/shared",
                   "/srv/shared"} +
             kSeal));
  facts.host.bwrap_perms = false;
  facts.protected_paths = facts.pinned = {};
  EXPECT_EQ(Mounts(Policy(), facts),
            (Texts{"--bind", "/home/me/p", "/home/me/p", "--ro-bind", "/home/me/p/.envrc",
                   "/home/me/p/.envrc", "--bind", "/srv/shared", "/srv/shared"} +
             kSeal));
}

TEST(PlanProject, ANewRepositoryIsMadeInADirectoryOfItsOwn) {
  ProjectFacts facts = Facts();
  facts.new_repositories = {"/home/me/p/.git"};
  EXPECT_EQ(Mounts(Policy(), facts), (Texts{"--bind", "/home/me/p", "/home/me/p", "--bind",
                                            "/home/me/p/.git/native-runner-new", "/home/me/p/.git",
                                            "--bind", "/srv/shared", "/srv/shared"} +
                                      kSeal));
}

TEST(PlanProject, NothingInsideAProtectedPathIsMadeWritableAgain) {
  ProjectFacts facts = Facts();
  facts.protected_paths = {"/home/me/p/.git", "/home/me/p/.git/hooks"};
  facts.pinned = {"/home/me/p/.git"};
  EXPECT_EQ(Mounts(Policy(), facts),
            (Texts{"--bind", "/home/me/p", "/home/me/p", "--ro-bind", "/home/me/p/.git",
                   "/home/me/p/.git", "--bind", "/srv/shared", "/srv/shared"} +
             kSeal));
}

TEST(PlanProject, SecretsAreHiddenOutsideAndInsideOfFolders) {
  ProjectFacts facts = Facts();
  facts.host.secret_directories = {"/home/me/.ssh", "/home/me/p/.ssh"};
  facts.host.secret_files = {"/home/me/.netrc", "/home/me/.ssh/id"};
  EXPECT_EQ(
      Mounts(Policy(), facts),
      (Texts{"--ro-bind", "/dev/null", "/home/me/.netrc", "--tmpfs", "/home/me/.ssh", "--bind",
             "/home/me/p", "/home/me/p", "--tmpfs", "/home/me/p/.ssh", "--bind", "/srv/shared",
             "/srv/shared", "--remount-ro", "/home/me/.ssh", "--remount-ro", "/home/me/p/.ssh"} +
       kSeal));
}

TEST(PlanProject, ASecretWhereNothingShowsMakesNoFile) {
  ProjectFacts facts = Facts();
  facts.host.secret_files = {"/tmp/home/.netrc"};
  EXPECT_EQ(Mounts(Policy(), facts), Mounts(Policy(), Facts()));
  ProjectPolicy policy = Policy();
  policy.folders = policy.projects = {"/tmp/home"};
  const Texts mounts = Mounts(policy, facts);
  EXPECT_EQ(
      Texts(mounts.begin(), mounts.begin() + 6),
      (Texts{"--bind", "/tmp/home", "/tmp/home", "--ro-bind", "/dev/null", "/tmp/home/.netrc"}));
}

TEST(PlanProject, AFolderInASecretDirectoryIsShown) {
  ProjectFacts facts = Facts();
  ProjectPolicy policy = Policy();
  policy.folders = policy.projects = {"/home/me/.config/p"};
  facts.host.secret_directories = {"/home/me/.config", "/home/me/.config/gh",
                                   "/home/me/.config/p/keys"};
  const Texts mounts = Mounts(policy, facts);
  EXPECT_EQ(Texts(mounts.begin(), mounts.begin() + 11),
            (Texts{"--tmpfs", "/home/me/.config", "--bind", "/home/me/.config/p",
                   "/home/me/.config/p", "--tmpfs", "/home/me/.config/p/keys", "--remount-ro",
                   "/home/me/.config", "--remount-ro", "/home/me/.config/p/keys"}));
}

TEST(PlanProject, TheHostsProcIsReadOnly) {
  ProjectPolicy policy = Policy();
  policy.host_proc = true;
  ProjectFacts facts = Facts();
  facts.host.is_root = true;
  const Texts all = BubblewrapOptions(PlanProject(policy, facts, -1, 0));
  EXPECT_EQ(std::count(all.begin(), all.end(), "--proc"), 0);
  const Texts bind = {"--ro-bind", "/proc", "/proc"};
  EXPECT_NE(std::search(all.begin(), all.end(), bind.begin(), bind.end()), all.end());
}

TEST(CheckPolicy, OfAProjectNamesTheField) {
  const auto fault = [](const ProjectPolicy& policy) {
    const auto error = CheckPolicy(policy);
    return error ? error->message : "";
  };
  EXPECT_EQ(fault(Policy()), "");
  for (const char* folder : {"/", "//", "/proc", "/dev/shm", "/sys/fs"}) {
    ProjectPolicy policy = Policy();
    policy.folders[1] = folder;
    EXPECT_NE(fault(policy).find("`folders[1]`"), std::string::npos) << folder;
  }
  for (const char* path : {"", "/etc", "../x", "a/../../x", ".", "./"}) {
    ProjectPolicy policy = Policy();
    policy.read_only = {".git/hooks", path};
    EXPECT_NE(fault(policy).find("`readOnly[1]`"), std::string::npos) << path;
  }
  ProjectPolicy policy = Policy();
  policy.projects = {"/home/me"};
  EXPECT_NE(fault(policy).find("`projects[0]`"), std::string::npos);
}

}  // namespace project_plan_test
}  // namespace native_runner
