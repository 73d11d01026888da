// A scan and a commit do by themselves what helper threads do, where a limit allows none.
#include "workspace/tree/helper_thread.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "policy/transaction/host_file.h"
#include "tests/workspace/support/overlay.h"
#include "workspace/changes/patch.h"
#include "workspace/changes/scan.h"

namespace native_runner {
namespace {

constexpr int kDirectories = 40;
constexpr int kFiles = 4;

// A scan that has enough to do for several threads, and the digests of all that it finds.
bool IsAllFound(const Overlay& overlay) {
  const ScannedTree upper(Overlay::Open(overlay.Upper()));
  const auto changes = ScanChanges(upper, overlay.HostTree(), Ledger());
  if (!changes) return false;
  std::vector<std::string> digests;
  MakeDigests(upper, changes.value(), &digests);
  int files = 0;
  for (const std::string& digest : digests)
    files += digest.empty() ? 0 : 1;
  return files == kDirectories * kFiles;
}

TEST(HelperThreadTest, IsNotNeeded) {
  if (geteuid() == 0) GTEST_SKIP() << "root may start as many as it likes";
  const Overlay overlay;
  for (int directory = 0; directory < kDirectories; ++directory)
    for (int file = 0; file < kFiles; ++file) {
      overlay.Change("d" + std::to_string(directory) + "/f" + std::to_string(file), "mine");
    }
  for (const bool may_start : {true, false}) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const rlimit none{0, 0};
      if (!may_start && setrlimit(RLIMIT_NPROC, &none) != 0) _exit(1);
      if (HelperThread::Start([] {}).has_value() != may_start) _exit(2);
      _exit(IsAllFound(overlay) ? 0 : 3);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 0) << may_start;
  }
}

}  // namespace
}  // namespace native_runner
