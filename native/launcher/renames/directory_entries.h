#pragma once

#include <cstddef>

namespace native_runner {

// What a directory, open for reading, has in it, without "." and "..", read without allocating. The
// descriptor is its owner's, and nobody else may read from it meanwhile.
class DirectoryEntries {
 public:
  // Begins with the first.
  explicit DirectoryEntries(int directory);

  // 1: there is one; 0: there is none any more; or -errno.
  long Next();

  // Of the one that there is; valid until the next.
  const char* name() const { return name_; }
  bool is_directory() const;

 private:
  int directory_;
  const char* name_ = nullptr;
  unsigned char type_ = 0;
  std::size_t position_ = 0;
  std::size_t filled_ = 0;
  alignas(8) char bytes_[2048];
};

}  // namespace native_runner
