#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace native_runner {

inline std::string AttributesText(const std::string& path) {
  std::string names(64 << 10, '\0');
  const ssize_t size = llistxattr(path.c_str(), names.data(), names.size());
  std::map<std::string, std::string> values;
  for (const char* at = names.data(); size > 0 && at < names.data() + size;
       at += std::strlen(at) + 1) {
    std::string value(64 << 10, '\0');
    const ssize_t got = lgetxattr(path.c_str(), at, value.data(), value.size());
    values[at] = value.substr(0, static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  }
  std::ostringstream text;
  for (const auto& [name, value] : values)
    text << ' ' << name << '=' << value;
  return text.str();
}

// How many bytes of a file are not holes. (st_blocks is no measure of it: while the kernel writes
// a new file back, ext4 may count neither the blocks that it reserved nor those that it took.)
inline off_t DataBytes(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  off_t bytes = 0;
  off_t data = lseek(file, 0, SEEK_DATA);
  while (data >= 0) {
    const off_t hole = lseek(file, data, SEEK_HOLE);
    bytes += hole - data;
    data = lseek(file, hole, SEEK_DATA);
  }
  if (file >= 0) close(file);
  return bytes;
}

// All that is known of each file of a tree, by path; "." is its top. Directories and files that
// keep their owner out are opened on the way, and stay open: the last thing that is looked at.
inline std::map<std::string, std::string> ListingOf(const std::string& directory) {
  namespace fs = std::filesystem;
  std::map<std::string, std::string> listing;
  std::map<ino_t, std::string> first;
  std::vector<std::string> waiting = {"."};
  while (!waiting.empty()) {
    const std::string path = waiting.back();
    waiting.pop_back();
    const std::string full = directory + "/" + path;
    struct stat status {};
    lstat(full.c_str(), &status);
    std::ostringstream text;
    text << std::oct << status.st_mode << std::dec << ' ' << status.st_uid << ':' << status.st_gid
         << ' ' << status.st_rdev << ' ' << status.st_mtim.tv_sec << '.' << status.st_mtim.tv_nsec;
    if (S_ISDIR(status.st_mode)) {
      text << AttributesText(full);
      const bool is_shut = (status.st_mode & S_IRWXU) != S_IRWXU && geteuid() != 0;
      if (is_shut) chmod(full.c_str(), 0700);
      std::set<std::string> names;
      for (const auto& entry : fs::directory_iterator(full))
        names.insert(entry.path().filename());
      for (const std::string& name : names)
        waiting.push_back(path == "." ? name : path + "/" + name);
    } else if (S_ISLNK(status.st_mode)) {
      text << " -> " << fs::read_symlink(full).string();
    } else if (S_ISREG(status.st_mode)) {
      if ((status.st_mode & S_IRUSR) == 0 && geteuid() != 0) chmod(full.c_str(), 0600);
      text << ' ' << DataBytes(full) << AttributesText(full) << ' '
           << std::hash<std::string>()(std::string(
                  std::istreambuf_iterator<char>(std::ifstream(full, std::ios::binary).rdbuf()),
                  {}));
    }
    if (!S_ISDIR(status.st_mode)) {
      const auto known = first.emplace(status.st_ino, path).first;
      text << " is " << known->second << " of " << status.st_nlink;
    }
    listing[path] = text.str();
  }
  return listing;
}

}  // namespace native_runner
