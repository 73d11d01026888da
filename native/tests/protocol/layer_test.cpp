#include "protocol/layer.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace native_runner {
namespace {

TEST(Layer, EachNameIsOfOneLayer) {
  std::set<std::string> names;
  for (std::size_t at = 0; at < kLayerNames.size(); ++at) {
    const auto layer = static_cast<Layer>(at);
    EXPECT_EQ(LayerOf(LayerName(layer)), layer) << LayerName(layer);
    names.insert(LayerName(layer));
  }
  EXPECT_EQ(names.size(), kLayerNames.size());
}

// The contract's names, at both ends of the list and in its middle: audits and policies hold them.
TEST(Layer, NamesAreThoseOfAudits) {
  EXPECT_STREQ(LayerName(Layer::kMountNamespace), "mount-namespace");
  EXPECT_STREQ(LayerName(Layer::kNoCapabilities), "no-capabilities");
  EXPECT_STREQ(LayerName(Layer::kLandlockFiles), "landlock-fs");
  EXPECT_STREQ(LayerName(Layer::kTreeKillPidNamespace), "tree-kill:pid-namespace");
  EXPECT_STREQ(LayerName(Layer::kTransactionOverlay), "transaction:overlay");
}

TEST(Layer, NoOtherTextIsOne) {
  for (const char* text : {"", "Seccomp", "seccomp ", "opened:--share-net", "tree-kill:"})
    EXPECT_EQ(LayerOf(text), std::nullopt) << text;
}

TEST(LayerSet, HoldsWhatWasAdded) {
  LayerSet set = {Layer::kMountNamespace, Layer::kSession};
  EXPECT_TRUE(set.Has(Layer::kMountNamespace) && set.Has(Layer::kSession));
  EXPECT_FALSE(set.Has(Layer::kSeccomp));
  set.Add(Layer::kSeccomp);
  set.Remove(Layer::kMountNamespace);
  set.Remove(Layer::kNoProc);
  EXPECT_EQ(set, (LayerSet{Layer::kSeccomp, Layer::kSession}));
  EXPECT_FALSE(set.IsEmpty());
  EXPECT_TRUE(LayerSet{}.IsEmpty());
}

}  // namespace
}  // namespace native_runner
