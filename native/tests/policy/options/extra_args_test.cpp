#include <gtest/gtest.h>

#include "policy/options/validate.h"

namespace native_runner {
namespace {

using Words = std::vector<std::string>;

LayerSet UndoneBy(const Words& words) {
  LayerSet undone;
  for (const ExtraArg& arg : ExtraArgs(words))
    undone.bits |= arg.undone.bits;
  return undone;
}

TEST(CheckExtraArgs, TakesOptionsWithTheirOperands) {
  EXPECT_FALSE(CheckExtraArgs({}));
  EXPECT_FALSE(CheckExtraArgs({"--share-net", "--bind", "/data", "/data", "--setenv", "A", "-b"}));
}

TEST(CheckExtraArgs, NamesWhatItCannotPassOn) {
  const struct {
    Words words;
    const char* in_message;
  } rows[] = {
      {{"ls"}, "extraArgs[0]"},
      {{"--"}, "extraArgs[0]"},
      {{"--dir", "/x", "--args", "3"}, "extraArgs[2]"},
      {{"--share-net", "--bind", "/data"}, "extraArgs[1]"},
      {{"--dir"}, "extraArgs[0]"},
      {{"--dir", std::string("/a\0b", 4)}, "extraArgs[1]"},
  };
  for (const auto& row : rows) {
    const auto error = CheckExtraArgs(row.words);
    ASSERT_TRUE(error) << row.in_message;
    EXPECT_EQ(error->code, ErrorCode::kInvalidValue);
    EXPECT_NE(error->message.find(row.in_message), std::string::npos) << error->message;
  }
}

TEST(ExtraArgs, TellsWhichLayersAreUndone) {
  EXPECT_EQ(UndoneBy({"--share-net"}), LayerSet{Layer::kNetworkNamespace});
  EXPECT_EQ(UndoneBy({"--cap-add", "CAP_SYS_ADMIN"}), LayerSet{Layer::kNoCapabilities});
  const LayerSet all = {Layer::kReadOnlyRoot, Layer::kSecretsMasked, Layer::kNoProc};
  EXPECT_EQ(UndoneBy({"--bind", "/", "/"}), all);
  EXPECT_EQ(UndoneBy({"--dev-bind", "/", "/"}), all);
  EXPECT_EQ(UndoneBy({"--bind", "/data", "/usr/local"}), LayerSet{Layer::kReadOnlyRoot});
  EXPECT_EQ(UndoneBy({"--ro-bind", "/etc/ssl", "/x"}), LayerSet{Layer::kSecretsMasked});
  EXPECT_EQ(UndoneBy({"--proc", "/proc"}), (LayerSet{Layer::kReadOnlyRoot, Layer::kNoProc}));
  EXPECT_EQ(UndoneBy({"--bind", "/proc", "/x"}), (LayerSet{Layer::kReadOnlyRoot, Layer::kNoProc}));
  EXPECT_EQ(UndoneBy({"--ro-bind", "/proc/sys", "/x"}), LayerSet{Layer::kNoProc});
}

TEST(ExtraArgs, LeavesHarmlessOnesAlone) {
  EXPECT_EQ(UndoneBy({"--bind", "/data", "/data", "--dir", "/x", "--hostname", "box"}), LayerSet{});
  EXPECT_EQ(ExtraArgs({"--bind", "/data", "/data"})[0].text, "--bind /data /data");
  EXPECT_TRUE(ExtraArgs({"--bind", "/data", "/data"})[0].opens);
  EXPECT_FALSE(ExtraArgs({"--dir", "/data"})[0].opens);
}

TEST(CheckKeepsNetwork, RefusesWhatLeavesTheNamespaceThatWasMade) {
  for (const char* option : {"--share-net", "--unshare-net", "--unshare-all"}) {
    const auto error = CheckKeepsNetwork({"--dir", "/x", option});
    ASSERT_TRUE(error) << option;
    EXPECT_EQ(error->code, ErrorCode::kInvalidValue);
    EXPECT_NE(error->message.find("extraArgs[2]"), std::string::npos) << error->message;
    EXPECT_FALSE(CheckKeepsNetwork({"--setenv", option, option, "--unshare-ipc"})) << option;
  }
}

}  // namespace
}  // namespace native_runner
