#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>

#include "policy/options/validate.h"

namespace native_runner {
namespace {

constexpr auto kNames =
    std::to_array<std::string_view>({"argv", "cwd", "limits", "limits.timeoutMs"});

TEST(UnknownField, NamesTheFieldItsPlaceAndTheNearestOne) {
  const Error error = UnknownField("timeoutms", "input", kNames);
  EXPECT_EQ(error.code, ErrorCode::kInvalidValue);
  EXPECT_EQ(error.message,
            "Unknown field \"timeoutms\" in `input`; did you mean `limits.timeoutMs`?");
}

TEST(UnknownField, ListsWhatThereIsWhenNoneIsNear) {
  EXPECT_EQ(UnknownField("colour", "input", kNames).message,
            "Unknown field \"colour\" in `input`; there are `argv`, `cwd`, `limits`");
}

TEST(UnknownField, IsOneLineWhateverTheName) {
  const std::string name = "a\n\"" + std::string(1000, 'b');
  const std::string message = UnknownField(name, "input", kNames).message;
  EXPECT_EQ(message.find('\n'), std::string::npos);
  EXPECT_LT(message.size(), 300u);
}

}  // namespace
}  // namespace native_runner
