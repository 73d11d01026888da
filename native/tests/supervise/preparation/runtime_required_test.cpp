#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "protocol/order.h"
#include "protocol/report.h"
#include "supervise/preparation/runtime.h"

namespace native_runner {
namespace {

using Layers = std::vector<std::string>;

Preparation Prepared(Layers layers, std::uint32_t flags) {
  Preparation preparation;
  preparation.record.runtime = "some";
  preparation.record.layers = std::move(layers);
  preparation.order.flags = flags;
  return preparation;
}

TEST(ApplyRequired, WhatThePreparationHasNeedsNoMore) {
  Preparation preparation = Prepared({"seccomp", "mount-namespace"}, 0);
  EXPECT_EQ(ApplyRequired({}, &preparation), std::nullopt);
  EXPECT_EQ(ApplyRequired({"mount-namespace", "seccomp", "seccomp"}, &preparation), std::nullopt);
  EXPECT_EQ(preparation.order.required, 0u);
}

TEST(ApplyRequired, WhatTheLauncherMayAddIsAskedOfIt) {
  const struct {
    const char* layer;
    std::uint32_t flag;
    std::uint32_t bit;
  } rows[] = {
      {"landlock-fs", kOrderLandlock, kEnforcedLandlockFiles},
      {"landlock-scope", kOrderLandlock, kEnforcedLandlockScope},
      {"landlock-tcp", kOrderNoSockets, kEnforcedLandlockTcp},
      {"pid-namespace", kOrderMakeInit, kEnforcedOwnInit},
      {"tree-kill:pid-namespace", kOrderMakeInit, kEnforcedOwnInit},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.layer);
    Preparation able = Prepared({}, row.flag);
    EXPECT_EQ(ApplyRequired({row.layer}, &able), std::nullopt);
    EXPECT_EQ(able.order.required, row.bit);

    const std::uint32_t others = kOrderKnownFlags & ~row.flag;
    Preparation unable = Prepared({}, others);
    EXPECT_TRUE(ApplyRequired({row.layer}, &unable)) << "another flag must not do";
    EXPECT_EQ(unable.order.required, 0u);
  }
}

TEST(ApplyRequired, BitsAddUpToThoseThatAreThere) {
  Preparation preparation = Prepared({}, kOrderLandlock | kOrderMakeInit);
  preparation.order.required = kEnforcedLandlockFiles;  // the runtime's own
  EXPECT_EQ(ApplyRequired({"pid-namespace"}, &preparation), std::nullopt);
  EXPECT_EQ(preparation.order.required, kEnforcedLandlockFiles | kEnforcedOwnInit);
}

TEST(ApplyRequired, WhatNobodyCanAddIsASetupErrorThatNamesIt) {
  Preparation preparation = Prepared({"seccomp"}, kOrderLandlock | kOrderMakeInit);
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
  Preparation preparation = Prepared({"seccomp", "opened:--share-net"}, 0);
  const auto error = ApplyRequired({"network-namespace"}, &preparation);
  ASSERT_TRUE(error);
  EXPECT_NE(error->message.find("(opened:--share-net)"), std::string::npos) << error->message;
}

}  // namespace
}  // namespace native_runner
