#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "policy/run/outcome.h"

namespace native_runner {
namespace {

constexpr const char* kUidMap = "bwrap: setting up uid map: Permission denied";
constexpr const char* kNoNamespace =
    "bwrap: No permissions to create new namespace, likely because the kernel";
constexpr const char* kNoProc = "bwrap: Can't mount proc on /newroot/proc: Operation not permitted";
constexpr const char* kOutOfNamespaces =
    "bwrap: Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces "
    "exceeded (ENOSPC)";

// An ordinary user on a host that forbids nothing.
SetupFacts Usual() {
  SetupFacts facts;
  facts.max_user_namespaces = "127000";
  return facts;
}

SetupFacts InContainer(const char* container) {
  SetupFacts facts = Usual();
  facts.container = container;
  return facts;
}

std::string FixOf(std::string_view reason, const SetupFacts& facts = Usual()) {
  return BubblewrapFix(reason, facts, "bwrap");
}

void ExpectHas(const std::string& text, std::string_view part) {
  EXPECT_NE(text.find(part), std::string::npos) << '"' << text << "\" lacks \"" << part << '"';
}

TEST(BubblewrapFix, GivesUbuntusProfileForTheProgramThatIsUsed) {
  SetupFacts facts = Usual();
  facts.apparmor_userns = "1";
  for (const char* reason :
       {kUidMap, "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted"})
    ExpectHas(FixOf(reason, facts), "profile bwrap /usr/bin/bwrap flags=(unconfined) {");
  ExpectHas(FixOf(kUidMap, facts), "kernel.apparmor_restrict_unprivileged_userns=0");
  ExpectHas(BubblewrapFix(kUidMap, facts, "/opt/bin/bwrap"), "profile bwrap /opt/bin/bwrap ");
  facts.is_root = true;
  EXPECT_EQ(FixOf(kUidMap, facts), "");
}

TEST(BubblewrapFix, KnowsWhatCachesNeed) {
  ExpectHas(FixOf("caches: this kernel's tmpfs has no extended attributes (Linux has them from 6.6 "
                  "on): Operation not supported"),
            "Linux 6.6");
  ExpectHas(FixOf("caches: upper layer: No space left on device"), "limits.memoryBytes");
  ExpectHas(FixOf("caches: overlay over /home/ada/.npm/_cacache: Invalid argument"), "name others");
}

TEST(BubblewrapFix, NamesTheProfileThatConfinesThisProcess) {
  SetupFacts facts = Usual();
  facts.apparmor_profile = "snap.host";
  ExpectHas(FixOf(kNoNamespace, facts), "AppArmor's profile snap.host confines");
  ExpectHas(FixOf(kNoNamespace, facts), "`/usr/bin/bwrap px,`");
  ExpectHas(FixOf("bwrap: Unknown option --size", facts), "whose --help lists --size;");
  facts.is_root = true;
  EXPECT_EQ(FixOf(kNoNamespace, facts).find("px,"), std::string::npos);
  facts.container = "docker";  // whose profile it is
  ExpectHas(FixOf(kNoNamespace, facts), "apparmor=unconfined");
}

TEST(BubblewrapFix, NamesTheSettingThatForbidsNamespaces) {
  ExpectHas(FixOf(kOutOfNamespaces), "sysctl -w user.max_user_namespaces=");
  ExpectHas(FixOf("bwrap: Creating new namespace failed: No space left on device"),
            "user.max_user_namespaces=");
  SetupFacts none = Usual();
  none.max_user_namespaces = "0";
  ExpectHas(FixOf(kNoNamespace, none), "user.max_user_namespaces=");
  SetupFacts debian = Usual();
  debian.unprivileged_userns = "0";
  ExpectHas(FixOf(kNoNamespace, debian), "kernel.unprivileged_userns_clone=1");
}

TEST(BubblewrapFix, NamesTheOptionOfTheContainer) {
  ExpectHas(FixOf(kNoProc, InContainer("docker")), "systempaths=unconfined");
  ExpectHas(FixOf(kNoProc, InContainer("podman")), "unmask=ALL");
  ExpectHas(FixOf(kNoProc, InContainer("kubernetes")), "procMount: Unmasked");
  ExpectHas(FixOf(kNoProc, InContainer("lxc")), "security.nesting=true");
  ExpectHas(FixOf(kNoProc, InContainer("other")), "systempaths=unconfined");
  ExpectHas(FixOf(kNoNamespace, InContainer("kubernetes")), "seccompProfile");
  ExpectHas(FixOf("bwrap: Failed to make / slave: Permission denied", InContainer("docker")),
            "seccomp=unconfined");
}

TEST(BubblewrapFix, NamesWhatCoversProc) {
  SetupFacts facts = Usual();
  facts.covered_proc = "/proc/kcore";
  ExpectHas(FixOf(kNoProc, facts), "another mount covers /proc/kcore");
  ExpectHas(FixOf(kNoProc, facts), "`procBind: false`");
}

TEST(BubblewrapFix, NamesTheOptionOfTheOuterBwrap) {
  SetupFacts facts = Usual();
  facts.is_in_bwrap = true;
  ExpectHas(FixOf(kNoProc, facts), "--proc /proc");
  ExpectHas(FixOf(kOutOfNamespaces, facts), "without --disable-userns");
  ExpectHas(FixOf(kNoNamespace, facts), "seccomp");
  facts.covered_proc = "/proc/loadavg";
  ExpectHas(FixOf(kNoProc, facts), "/proc/loadavg here");
  ExpectHas(FixOf(kNoProc, facts), "start the outer bwrap without that mount");
  ExpectHas(FixOf(kNoProc, facts), "`procBind: false`");
  // These are told by the message alone.
  ExpectHas(FixOf("bwrap: setting up uid map: Read-only file system"), "--proc /proc");
  ExpectHas(FixOf("bwrap: open /proc/35/ns/ns failed: No such file or directory"), "--proc /proc");
}

TEST(BubblewrapFix, KnowsOtherLacks) {
  ExpectHas(FixOf("/usr/bin/bwrap can't be started: pidfd_open: Function not implemented"),
            "outside of gVisor");
  ExpectHas(FixOf("bwrap: pivot_root: Invalid argument"), "ramdisk");
  ExpectHas(
      FixOf("bwrap: Creating new namespace failed, likely because the kernel does not support "
            "user namespaces."),
      "CONFIG_USER_NS=y");
}

TEST(BubblewrapFix, SaysNothingWhereItDoesNotKnow) {
  SetupFacts none = InContainer("docker");
  none.max_user_namespaces = "0";
  for (const char* reason : {"", "bwrap ended during set-up with status 3 and without a word",
                             "cannot enter /x: Permission denied"}) {
    EXPECT_EQ(FixOf(reason, none), "") << reason;
  }
  EXPECT_EQ(FixOf("bwrap: Can't find source path /x: No such file or directory"), "");
  EXPECT_EQ(FixOf("bwrap: Can't mkdir /x: No space left on device"), "");
  EXPECT_EQ(FixOf(kNoNamespace), "");
}

TEST(EntryFix, IsForRootAlone) {
  ExpectHas(EntryFix("cannot enter /workspace: Permission denied", true), "`chown`");
  ExpectHas(EntryFix("bwrap: Can't chdir to /workspace: Permission denied", true), "`chown`");
  EXPECT_EQ(EntryFix("cannot enter /workspace: Permission denied", false), "");
  EXPECT_EQ(EntryFix("cannot enter /workspace: No such file or directory", true), "");
}

}  // namespace
}  // namespace native_runner
