// The launcher's answers to renames, observed by its command and by the host.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "launcher/command/renames.h"
#include "tests/launcher/support/launcher_fixture.h"
#include "tests/supervise/support/temp_directory.h"

namespace native_runner {
namespace {

class RenamesTest : public LauncherTest {
 protected:
  // Returns the order of a command in the directory, which the order calls an overlay.
  OrderSpec Renaming(const std::string& script) const {
    OrderSpec spec = {.argv = {"/bin/sh", "-c", script},
                      .environment = {"PATH=/usr/bin:/bin"},
                      .cwd = directory_.path(),
                      .rules = {kRuleOverlay + directory_.path()}};
    spec.header.flags = kOrderNoNewPrivs | kOrderSeccomp | kOrderRenames;
    return spec;
  }

  TempDirectory directory_;
};

TEST_P(RenamesTest, SaysWhetherItCanBeToldOfThem) {
  OrderSpec alone = Renaming("grep Seccomp_filters /proc/self/status");
  alone.header.flags &= ~kOrderSeccomp;  // whose filter asks about renames too
  const RunResult result = Run(alone);
  ExpectExited(result, 0);
  const bool is_reported = result.reports.front().enforced.Has(Layer::kRenameDirectories);
  // The count, of Linux 5.9, is that of the filters which the launcher puts on the command.
  EXPECT_EQ(result.out.find("1") != std::string::npos, is_reported) << result.out;

  OrderSpec plain = Renaming("true");
  plain.header.flags &= ~kOrderRenames;
  EXPECT_FALSE(Run(plain).reports.front().enforced.Has(Layer::kRenameDirectories));
}

TEST_P(RenamesTest, AnOrderWithoutAnOverlayIsRefused) {
  OrderSpec spec = Renaming("true");
  spec.rules.clear();
  EXPECT_EQ(Run(spec).last().kind, ReportKind::kRefused);
  spec.rules = {kRuleOverlay + directory_.Path("missing")};
  const RunResult missing = Run(spec);
  EXPECT_EQ(missing.last().kind, ReportKind::kRefused);
  EXPECT_EQ(std::string(missing.last().text).find("rename-directories"), 0U);
  ExpectExited(Run(Renaming("true")), 0);
}

// In Mode::kInit the test's directory is mounted read-only.
TEST_P(RenamesTest, AnswersAsTheKernelDoes) {
  const std::string script =
      "mkdir -p a/b c && echo f > f && mv f g && mv -T a c && mv -T c/b d && mv g d/g && ls -R . "
      "&& "
      "mv -T nothing x; mv -T c c/in; mv -T d/g c; exit 5";
  const RunResult told = Run(Renaming(script));
  OrderSpec plain = Renaming(script);
  plain.header.flags &= ~kOrderRenames;
  std::filesystem::remove_all(directory_.path());
  std::filesystem::create_directory(directory_.path());
  const RunResult control = Run(plain);
  ExpectExited(told, 5);
  EXPECT_EQ(told.out, control.out);
  EXPECT_EQ(told.err, control.err);
}

INSTANTIATE_LAUNCHER_MODES(RenamesTest);

}  // namespace
}  // namespace native_runner
