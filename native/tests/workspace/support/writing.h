#pragma once

#include <gtest/gtest.h>

#include <string_view>

#include "tests/workspace/support/tree.h"
#include "workspace/files/workspace_files.h"

namespace native_runner {

inline FileResult<FileStat> Write(const Beneath& root, std::string_view path, std::string_view text,
                                  const WriteRule& rule = {}) {
  return WriteFile(root, path, BytesOf(text), rule);
}

inline FileVersion VersionOf(const Beneath& root, std::string_view path) {
  const auto entry = root.Entry(path, "stat");
  EXPECT_TRUE(entry) << path;
  return StatOf(entry.value().get(), "stat").value().version;
}

inline WriteRule Unchanged(const FileVersion& version) {
  WriteRule rule;
  rule.condition = WriteRule::If::kUnchanged;
  rule.version = version;
  return rule;
}

inline WriteRule Absent() {
  WriteRule rule;
  rule.condition = WriteRule::If::kAbsent;
  return rule;
}

}  // namespace native_runner
