#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>

namespace native_runner {

// A directory of its own for one test, by its real path; removed with all that is in it.
class TempDirectory {
 public:
  explicit TempDirectory(const std::string& above = testing::TempDir()) {
    std::error_code ignored;
    path_ = std::filesystem::canonical(above, ignored).string() + "/supervise-XXXXXX";
    if (mkdtemp(path_.data()) == nullptr) ADD_FAILURE() << "mkdtemp " << path_;
  }
  ~TempDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::string Path(std::string_view name) const { return path_ + "/" + std::string(name); }

  std::string Write(std::string_view name, std::string_view text, mode_t mode = 0644) const {
    const std::string file = Path(name);
    std::ofstream(file, std::ios::binary) << text;
    EXPECT_EQ(chmod(file.c_str(), mode), 0) << file;
    return file;
  }

  std::string Read(std::string_view name) const {
    std::ostringstream text;
    text << std::ifstream(Path(name), std::ios::binary).rdbuf();
    return text.str();
  }

  bool Has(std::string_view name) const {
    std::error_code ignored;
    return std::filesystem::exists(std::filesystem::symlink_status(Path(name), ignored));
  }

 private:
  std::string path_;
};

}  // namespace native_runner
