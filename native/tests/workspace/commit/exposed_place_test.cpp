// A place aside that lies in the workspace, where commands may reach it: what is to come to the
// host is looked at once more at the last moment.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/workspace/support/overlay.h"
#include "workspace/commit/perform.h"

namespace native_runner {
namespace {

class ExposedPlaceTest : public testing::TestWithParam<Operation::Kind> {
 protected:
  ExposedPlaceTest() {
    std::filesystem::create_directory(overlay_.Host("aside"));
    overlay_.Put("aside/0", "staged");
    if (GetParam() == Operation::Kind::kExchange) overlay_.Put("a", "host");
  }

  Sites Open(bool is_exposed) const {
    Sites sites{overlay_.HostTree(), overlay_.UpperTree(),
                ScannedTree(Overlay::Open(overlay_.Host("aside"))), std::nullopt, is_exposed};
    return sites;
  }

  // Returns the planned operation that moves the staged file to the host.
  Operation Bring(const Sites& sites) const {
    Operation operation{GetParam(), {Site::kBackup, "0"}, {Site::kHost, "a"}, {}, {}};
    operation.from_file = *sites.Look(operation.from).value();
    if (GetParam() == Operation::Kind::kExchange) {
      operation.to_file = *sites.Look(operation.to).value();
    }
    return operation;
  }

  std::string Read(const char* name) const {
    const std::string path = std::string("host/") + name;
    return overlay_.host_place().Has(path) ? overlay_.host_place().Read(path) : "none";
  }

  // Replaces the staged file by another one, as a command may.
  void Swap() const {
    std::filesystem::rename(overlay_.Host("aside/0"), overlay_.Host("aside/away"));
    overlay_.Put("aside/0", "evil");
  }

  Overlay overlay_;
};

TEST_P(ExposedPlaceTest, WhatWasPutThereByOthersDoesNotComeToTheHost) {
  const std::string before = Read("a");
  const Sites sites = Open(true);
  const Operation bring = Bring(sites);
  Swap();
  const auto not_done = Perform(sites, bring, Likeness::kExact);
  ASSERT_TRUE(not_done);
  EXPECT_TRUE(not_done->is_conflict);
  EXPECT_EQ(Read("a"), before);
  EXPECT_EQ(Read("aside/0"), "evil");
}

TEST_P(ExposedPlaceTest, WhatWasStagedDoes) {
  const Sites sites = Open(true);
  EXPECT_FALSE(Perform(sites, Bring(sites), Likeness::kExact));
  EXPECT_EQ(Read("a"), "staged");
}

// The control: a place that no other process reaches is not checked, since that costs time.
TEST_P(ExposedPlaceTest, ElsewhereTheSameSwapIsNotSeen) {
  const Sites sites = Open(false);
  const Operation bring = Bring(sites);
  Swap();
  static_cast<void>(Perform(sites, bring, Likeness::kExact));
  EXPECT_EQ(Read("a"), "evil");
}

INSTANTIATE_TEST_SUITE_P(, ExposedPlaceTest,
                         testing::Values(Operation::Kind::kMove, Operation::Kind::kExchange),
                         [](const auto& given) {
                           return std::string(given.param == Operation::Kind::kMove ? "Added"
                                                                                    : "Modified");
                         });

}  // namespace
}  // namespace native_runner
