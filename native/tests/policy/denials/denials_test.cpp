#include "policy/denials/denials.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "policy/denials/observation.h"

namespace native_runner {
namespace {

Observation RefusedRead() {
  Observation observation;
  observation.kind = Observation::Kind::kRead;
  observation.call = "openat";
  observation.path = "/data/file";
  observation.program = "cat";
  observation.error = EACCES;
  observation.count = 1;
  return observation;
}

DeniedRun DeniedRunOf(bool explain, OutcomeKind kind, std::vector<Observation> observations) {
  auto scene = std::make_shared<DenialScene>();
  scene->wall = DenialScene::Wall::kLandlock;
  DeniedRun run;
  run.scene = std::move(scene);
  run.argv = {"/opt/tool"};
  run.explain = explain;
  run.advice = std::make_shared<const AdviceLists>();
  run.outcome.kind = kind;
  run.observations = std::move(observations);
  return run;
}

// True if the report of denials has looked at the host.
bool Looks(const DeniedRun& run) {
  bool has_looked = false;
  static_cast<void>(ReportDenials(run, [&has_looked](const std::string&) {
    has_looked = true;
    return HostLookup();
  }));
  return has_looked;
}

TEST(ReportDenials, LooksAtTheHostOnlyWhereItSaysSo) {
  for (const OutcomeKind kind :
       {OutcomeKind::kExited, OutcomeKind::kSignaled, OutcomeKind::kTimedOut, OutcomeKind::kAborted,
        OutcomeKind::kNotFound, OutcomeKind::kNotExecutable, OutcomeKind::kSetupFailed,
        OutcomeKind::kLimitExceeded}) {
    for (const bool explain : {false, true}) {
      for (const bool is_refused : {false, true}) {
        std::vector<Observation> observations;
        if (is_refused) observations.push_back(RefusedRead());
        const DeniedRun run = DeniedRunOf(explain, kind, std::move(observations));
        const bool is_missing = kind == OutcomeKind::kNotFound;
        EXPECT_EQ(NeedsLook(run), explain && (is_refused || is_missing));
        EXPECT_TRUE(NeedsLook(run) || !Looks(run));
      }
    }
  }
  EXPECT_TRUE(Looks(DeniedRunOf(true, OutcomeKind::kExited, {RefusedRead()})));
  EXPECT_TRUE(Looks(DeniedRunOf(true, OutcomeKind::kNotFound, {})));
}

TEST(MissingPrograms, AreWhatWasLookedForAlongPath) {
  Observation look = RefusedRead();
  look.error = ENOENT;
  DeniedRun run = DeniedRunOf(true, OutcomeKind::kExited, {});
  run.environment = {"PATH=relative:/opt/bin:/usr/bin/:"};
  for (const char* path : {"/opt/bin/opened", "/opt/lib/looked", "/usr/bin/looked", "/looked"}) {
    look.path = path;
    look.call = look.path.ends_with("looked") ? "newfstatat" : "openat";
    run.observations.push_back(look);
  }
  look.kind = Observation::Kind::kExec;
  look.call = "execve";
  look.path = "/opt/bin/executed";
  run.observations.push_back(look);
  std::vector<std::string> names;
  for (const Observation& each : MissingPrograms(run))
    names.push_back(each.path);
  EXPECT_EQ(names, (std::vector<std::string>{"looked", "executed"}));
}

TEST(MissingPrograms, AreTheWordsOfACommandWhoseShellFoundNone) {
  DeniedRun run = DeniedRunOf(true, OutcomeKind::kExited, {});
  run.argv = {"sh", "-c", "A=b ./x /opt/y z/y; g++ -o one|two-2 && two-2 \"$(three.sh)\""};
  EXPECT_TRUE(MissingPrograms(run).empty());
  EXPECT_FALSE(NeedsLook(run));
  run.outcome.exit_code = 127;
  std::vector<std::string> names;
  for (const Observation& each : MissingPrograms(run))
    names.push_back(each.path);
  EXPECT_EQ(names, (std::vector<std::string>{"sh", "b", "g++", "one", "two-2", "three.sh"}));
  EXPECT_TRUE(NeedsLook(run));
  run.explain = false;
  EXPECT_FALSE(NeedsLook(run));
}

// A run of bwrap's that shows /usr, and whose program was found nowhere.
DeniedRun MissingProgram(const std::string& program, const std::string& search_path) {
  DeniedRun run = DeniedRunOf(true, OutcomeKind::kNotFound, {});
  run.argv = {program};
  run.environment = {"PATH=" + search_path};
  auto scene = std::make_shared<DenialScene>();
  scene->wall = DenialScene::Wall::kBubblewrap;
  Mount shown;
  shown.source = shown.target = "/usr";
  scene->mounts = {shown};
  run.scene = std::move(scene);
  return run;
}

HostLookup ProgramAt(const std::string& real, const std::string& link) {
  HostLookup at;
  at.type = HostLookup::Type::kFile;
  at.link = link;
  at.real = real;
  at.readable = at.executable = true;
  return at;
}

// The host of NixOS: /usr/bin/env and all programs of PATH are links into the store.
HostLookup LookAtNix(const std::string& path) {
  for (const char* directory : {"/usr", "/usr/bin", "/nix", "/nix/store", "/nix/store/abc/bin"}) {
    if (path != directory) continue;
    HostLookup at;
    at.type = HostLookup::Type::kDirectory;
    at.real = path;
    return at;
  }
  const std::string real = "/nix/store/abc/bin/" + path.substr(path.rfind('/') + 1);
  if (path == real) return ProgramAt(real, "");
  const bool is_link = path.starts_with("/usr/bin/") || path.starts_with("/run/current-system/");
  return is_link ? ProgramAt(real, real) : HostLookup();
}

TEST(ReportDenials, GrantsTheStoreThatAMissingProgramIsIn) {
  for (const char* directory : {"/usr/bin", "/run/current-system/sw/bin"}) {
    const DenialLog log = ReportDenials(MissingProgram("env", directory), LookAtNix);
    ASSERT_EQ(log.denials.size(), 1U) << directory;
    const Denial& denial = log.denials.front();
    EXPECT_EQ(denial.path, std::string(directory) + "/env");
    EXPECT_EQ(denial.grant.option, "mounts");
    EXPECT_EQ(denial.grant.host_path, "/nix/store");
    EXPECT_EQ(denial.grant.guest_path, "/nix/store");
    EXPECT_FALSE(denial.grant.writable);
  }
}

TEST(ReportDenials, GrantsTheProgramItselfWhereTheStoreShows) {
  DeniedRun run = MissingProgram("env", "/run/current-system/sw/bin");
  auto scene = std::make_shared<DenialScene>(*run.scene);
  Mount store;
  store.source = store.target = "/nix/store";
  scene->mounts.push_back(store);
  run.scene = std::move(scene);
  const DenialLog log = ReportDenials(run, LookAtNix);
  ASSERT_EQ(log.denials.size(), 1U);
  EXPECT_EQ(log.denials.front().grant.host_path, "/run/current-system/sw/bin/env");
}

// Shows `home` of the host as the commands' home, at /home/user.
DeniedRun RunWithOwnHome(const std::string& home) {
  Observation observation = RefusedRead();
  observation.path = "/home/user/data/file";
  observation.error = ENOENT;
  DeniedRun run = DeniedRunOf(true, OutcomeKind::kExited, {observation});
  run.outcome.exit_code = 1;
  auto scene = std::make_shared<DenialScene>();
  scene->wall = DenialScene::Wall::kBubblewrap;
  Mount shown;
  shown.kind = Mount::Kind::kBind;
  shown.source = "/state/home";
  shown.target = "/home/user";
  scene->mounts = {shown};
  scene->home = home;
  run.scene = std::move(scene);
  return run;
}

TEST(ReportDenials, SaysWhatTheCommandsOwnHomeHides) {
  const auto look = [](const std::string& path) {
    return path == "/home/user/data/file" ? ProgramAt(path, "") : HostLookup();
  };
  const DenialLog log = ReportDenials(RunWithOwnHome("/state/home"), look);
  ASSERT_EQ(log.denials.size(), 1U);
  EXPECT_EQ(log.denials.front().path, "/home/user/data/file");
  EXPECT_EQ(log.denials.front().host_path, "/home/user/data/file");
  // A mount of the user's, without the file: the host gave the error.
  EXPECT_TRUE(ReportDenials(RunWithOwnHome(""), look).denials.empty());
}

// A run in a sandbox that shows no home, whose program tried to write into it.
DeniedRun HomelessRun(int exit_code, const std::string& call, const std::string& path, int error) {
  Observation observation = RefusedRead();
  observation.kind = Observation::Kind::kWrite;
  observation.call = call;
  observation.path = path;
  observation.error = error;
  DeniedRun run = MissingProgram("git", "/usr/bin");
  run.environment.emplace_back("HOME=/home/user");
  run.outcome.kind = OutcomeKind::kExited;
  run.outcome.exit_code = exit_code;
  run.observations = {observation};
  return run;
}

HostLookup LookAtHome(const std::string& path) {
  HostLookup at;
  if (path != "/" && path != "/home" && !path.starts_with("/home/user")) return at;
  at.type = HostLookup::Type::kDirectory;
  at.real = path;
  at.writable = path.starts_with("/home/user");
  return at;
}

TEST(ReportDenials, NameTheHomeThatAFailedProgramCouldNotWrite) {
  const struct {
    const char* call;
    const char* path;
    int error;
  } kWrites[] = {{"mkdir", "/home", EROFS},
                 {"mkdir", "/home/user", EROFS},
                 {"openat", "/home/user/.gitconfig.lock", ENOENT}};
  for (const auto& write : kWrites) {
    const DenialLog log =
        ReportDenials(HomelessRun(1, write.call, write.path, write.error), LookAtHome);
    ASSERT_EQ(log.denials.size(), 1U) << write.path;
    EXPECT_EQ(log.denials.front().path, write.path);
    EXPECT_NE(log.denials.front().not_advised.find("HOME"), std::string::npos);
    EXPECT_TRUE(ReportDenials(HomelessRun(0, write.call, write.path, write.error), LookAtHome)
                    .denials.empty())
        << "it did without: " << write.path;
  }
}

TEST(ReportDenials, TellNothingOfAHomeThatTheHostRefusesOrLacks) {
  const auto denials = [](const std::string& path, int error) {
    return ReportDenials(HomelessRun(1, "mkdir", path, error), LookAtHome).denials.size();
  };
  EXPECT_EQ(denials("/home/user/.cache", ENOENT), 1U) << "control";
  EXPECT_EQ(denials("/home/user/.cache", ENOSPC), 0U);
  EXPECT_EQ(denials("/srv/of-nobody", EROFS), 0U);
  DeniedRun run = HomelessRun(1, "mkdir", "/home/gone/.cache", ENOENT);
  run.environment.back() = "HOME=/home/gone";
  EXPECT_TRUE(ReportDenials(run, LookAtHome).denials.empty());
}

TEST(ReportDenials, TellNothingOfAProgramThatTheHostLacks) {
  EXPECT_TRUE(ReportDenials(MissingProgram("env", "/opt/bin"), LookAtNix).denials.empty());
}

}  // namespace
}  // namespace native_runner
