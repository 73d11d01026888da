#include "tests/supervise/support/fake_cgroups.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

namespace native_runner {
namespace {

FakeCgroups* current = nullptr;

}  // namespace

FakeCgroups::FakeCgroups(std::set<std::string> files) : files_(std::move(files)) {
  current = this;
}

FakeCgroups::~FakeCgroups() {
  current = nullptr;
}

std::string FakeCgroups::Value(const std::string& file) const {
  if (groups_.size() != 1) return "none";
  const std::string path = *groups_.begin() + "/" + file;
  if (!std::filesystem::exists(path)) return "none";
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

void FakeCgroups::Set(const std::string& file, const std::string& value) const {
  ASSERT_EQ(groups_.size(), 1u);
  std::ofstream(*groups_.begin() + "/" + file) << value;
}

// Notes a group that was made.
int NoteDirectory(const char* path) {
  if (!current->Contains(path)) return 0;
  current->groups_.insert(path);
  for (const std::string& file : current->files_) {
    std::ofstream(std::string(path) + "/" + file).flush();
  }
  return 0;
}

int RemoveDirectory(const char* path) {
  if (current != nullptr && current->groups_.contains(path)) {
    if (current->busy_) {
      errno = EBUSY;
      return -1;
    }
    for (const std::string& file : current->files_)
      unlink((std::string(path) + "/" + file).c_str());
    current->groups_.erase(path);
  }
  return static_cast<int>(syscall(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR));
}

}  // namespace native_runner

extern "C" {
// A sanitizer's runtime calls it for the directory of its reports, before anything of its own
// works.
__attribute__((no_sanitize("address", "undefined"))) int mkdir(const char* path,
                                                               mode_t mode) noexcept {
  const long made = syscall(SYS_mkdirat, AT_FDCWD, path, mode);
  if (made != 0 || native_runner::current == nullptr) return static_cast<int>(made);
  return native_runner::NoteDirectory(path);
}
int rmdir(const char* path) noexcept {
  return native_runner::RemoveDirectory(path);
}
}
