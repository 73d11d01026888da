#include <gtest/gtest.h>

#include "policy/text/text.h"

namespace native_runner {
namespace {

TEST(Quoted, IsOneLineThatTellsValuesApart) {
  EXPECT_EQ(Quoted(""), "\"\"");
  EXPECT_EQ(Quoted("a b"), "\"a b\"");
  EXPECT_EQ(Quoted("a\"b\\c"), "\"a\\\"b\\\\c\"");
  EXPECT_EQ(Quoted("a\nb"), "\"a\\nb\"");
  EXPECT_EQ(Quoted(std::string_view("a\0b\x1f\x7f", 5)), "\"a\\u0000b\\u001f\\u007f\"");
  EXPECT_EQ(Quoted("grün 日本"), "\"grün 日本\"");
}

TEST(QuotedShort, CutsLongValuesBetweenCharacters) {
  EXPECT_EQ(QuotedShort(std::string(200, 'a')), '"' + std::string(200, 'a') + '"');
  EXPECT_EQ(QuotedShort(std::string(201, 'a')), '"' + std::string(200, 'a') + "\"...");
  const std::string cut = std::string(199, 'a') + "é" + "tail";
  EXPECT_EQ(QuotedShort(cut), '"' + std::string(199, 'a') + "\"...");
}

}  // namespace
}  // namespace native_runner
