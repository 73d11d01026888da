#include <gtest/gtest.h>

#include "supervise/preparation/run_result.h"

namespace native_runner {
namespace {

using Names = std::vector<std::string>;

TEST(LayerRecord, NamesLayersInTheOrderOfTheirAdding) {
  LayerRecord record = {Layer::kSeccomp, Layer::kMountNamespace};
  record.Add(Layer::kCgroup);
  record.Add(Layer::kSeccomp);
  EXPECT_EQ(record.Names(), (Names{"seccomp", "mount-namespace", "cgroup"}));
  EXPECT_TRUE(LayerRecord().IsEmpty());
  EXPECT_FALSE(record.IsEmpty());
}

TEST(LayerRecord, OptionsStandWhereTheyWereAdded) {
  LayerRecord record = {Layer::kNoCapabilities, Layer::kSeccomp};
  record.Remove({Layer::kNoCapabilities, Layer::kNoProc});
  record.AddOpened("--cap-add CAP_NET_RAW");
  record.AddOpened("--bind / /");
  record.AddEnforced({Layer::kCommandSeparation, Layer::kPidNamespace, Layer::kLandlockFiles});
  EXPECT_EQ(record.OpenedNames(), (Names{"opened:--cap-add CAP_NET_RAW", "opened:--bind / /"}));
  EXPECT_EQ(record.Names(), (Names{"seccomp", "opened:--cap-add CAP_NET_RAW", "opened:--bind / /",
                                   "landlock-fs", "pid-namespace", "command-separation"}));
  record.Remove({Layer::kPidNamespace});
  EXPECT_FALSE(record.Has(Layer::kPidNamespace));
  EXPECT_TRUE(record.Has(Layer::kLandlockFiles) && record.Has(Layer::kSeccomp));
}

TEST(LayerRecord, TakesOverAllOfAnother) {
  LayerRecord limits = {Layer::kRlimits};
  limits.AddOpened("--share-net");
  limits.Add(Layer::kCgroup);
  LayerRecord record = {Layer::kSeccomp};
  record.Add(limits);
  EXPECT_EQ(record.Names(), (Names{"seccomp", "rlimits", "cgroup", "opened:--share-net"}));
}

}  // namespace
}  // namespace native_runner
