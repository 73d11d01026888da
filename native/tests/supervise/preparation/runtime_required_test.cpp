#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "protocol/order.h"
#include "supervise/preparation/backend.h"

namespace native_runner {
namespace {

Preparation Prepared(LayerRecord layers, std::uint32_t flags) {
  Preparation preparation;
  preparation.record.runtime = "some";
  preparation.record.layers = std::move(layers);
  preparation.order.flags = flags;
  return preparation;
}

TEST(ApplyRequired, WhatThePreparationHasNeedsNoMore) {
  Preparation preparation = Prepared({Layer::kSeccomp, Layer::kMountNamespace}, 0);
  EXPECT_EQ(ApplyRequired({}, &preparation), std::nullopt);
  EXPECT_EQ(ApplyRequired({"mount-namespace", "seccomp", "seccomp"}, &preparation), std::nullopt);
  EXPECT_EQ(preparation.order.required, LayerSet{});
}

TEST(ApplyRequired, WhatTheLauncherMayAddIsAskedOfIt) {
  const struct {
    const char* layer;
    std::uint32_t flag;
    Layer asked;
  } rows[] = {
      {"landlock-fs", kOrderLandlock, Layer::kLandlockFiles},
      {"landlock-scope", kOrderLandlock, Layer::kLandlockScope},
      {"landlock-tcp", kOrderNoSockets, Layer::kLandlockTcp},
      {"pid-namespace", kOrderMakeInit, Layer::kPidNamespace},
      {"tree-kill:pid-namespace", kOrderMakeInit, Layer::kPidNamespace},
      {"rename-directories", kOrderRenames, Layer::kRenameDirectories},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.layer);
    Preparation able = Prepared({}, row.flag);
    EXPECT_EQ(ApplyRequired({row.layer}, &able), std::nullopt);
    EXPECT_EQ(able.order.required, LayerSet{row.asked});

    const std::uint32_t others = kOrderKnownFlags & ~row.flag;
    Preparation unable = Prepared({}, others);
    EXPECT_TRUE(ApplyRequired({row.layer}, &unable)) << "another flag must not do";
    EXPECT_EQ(unable.order.required, LayerSet{});
  }
}

TEST(ApplyRequired, BitsAddUpToThoseThatAreThere) {
  Preparation preparation = Prepared({}, kOrderLandlock | kOrderMakeInit);
  preparation.order.required = {Layer::kLandlockFiles};  // the runtime's own
  EXPECT_EQ(ApplyRequired({"pid-namespace"}, &preparation), std::nullopt);
  EXPECT_EQ(preparation.order.required, (LayerSet{Layer::kLandlockFiles, Layer::kPidNamespace}));
}

TEST(ApplyRequired, WhatNobodyCanAddIsASetupErrorThatNamesIt) {
  Preparation preparation = Prepared({Layer::kSeccomp}, kOrderLandlock | kOrderMakeInit);
  for (const char* layer : {"mount-namespace", "no-such-layer", "", "Seccomp"}) {
    const auto error = ApplyRequired({"seccomp", layer}, &preparation);
    ASSERT_TRUE(error) << layer;
    EXPECT_EQ(error->code, ErrorCode::kSetup);
    EXPECT_NE(error->message.find(std::string("the required layer \"").append(layer).append("\"")),
              std::string::npos);
    EXPECT_NE(error->message.find("some"), std::string::npos);
    EXPECT_FALSE(error->fix.empty());
  }
}

TEST(ApplyRequired, SaysWhichOptionTookALayerAway) {
  Preparation preparation = Prepared({Layer::kSeccomp}, 0);
  preparation.record.layers.AddOpened("--share-net");
  const auto error = ApplyRequired({"network-namespace"}, &preparation);
  ASSERT_TRUE(error);
  EXPECT_NE(error->message.find("(opened:--share-net)"), std::string::npos) << error->message;
}

}  // namespace
}  // namespace native_runner
