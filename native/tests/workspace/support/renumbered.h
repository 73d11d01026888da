#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "policy/transaction/file_systems.h"

namespace native_runner {

// Makes the files of a transaction's directory what they would be if the devices had had other
// numbers when they were written, as before a boot. The real ones can't be changed by a user.
class Renumbered {
 public:
  // `is_other`: so would be the file systems themselves, which are lost.
  explicit Renumbered(std::string directory, bool is_other = false)
      : directory_(std::move(directory)), is_other_(is_other) {}

  // Does nothing to a file that is not there; returns whether it was.
  bool Journal(const std::string& name) const { return File(name, DecodeJournal, EncodeJournal); }
  bool Place(const std::string& name) const {
    return File(name, DecodeBackupPlace, EncodeBackupPlace);
  }
  bool Manifest(const std::string& name) const {
    return File(name, DecodeManifest, EncodeManifest);
  }
  bool LedgerAt(const std::string& name) const { return File(name, DecodeLedger, EncodeLedger); }

  // All that a commit keeps; returns the number of files.
  int Commit() const {
    int files = Place("commit/place") ? 1 : 0;
    for (const char* name : {"commit/plan", "commit/begun", "commit/done", "commit/undone"})
      files += Journal(name) ? 1 : 0;
    return files;
  }

 private:
  template <typename Decode, typename Encode>
  bool File(const std::string& name, const Decode& decode, const Encode& encode) const {
    const std::string path = directory_ + "/" + name;
    if (!std::filesystem::exists(path)) return false;
    std::ostringstream read;
    read << std::ifstream(path, std::ios::binary).rdbuf();
    const std::string text = read.str();
    std::string_view rest = text;
    const auto now = TakeFileSystems(&rest);
    EXPECT_TRUE(now) << name;
    auto decoded = decode(rest);
    EXPECT_TRUE(decoded) << name;
    if (!now || !decoded) return false;
    FileSystemList then = now.value();
    for (NumberedFileSystem& each : then)
      each.device += kApart;
    Renumbering(now.value(), then).Apply(&*decoded);
    for (NumberedFileSystem& each : then) {
      if (!is_other_) continue;
      each.id = {each.id.uuid + 1, each.id.fsid + 1, each.id.handle + 1};
    }
    std::ofstream(path, std::ios::binary) << WithFileSystems(then, encode(*decoded));
    return true;
  }

  static constexpr std::uint64_t kApart = 0x5000;  // so many minors further

  std::string directory_;
  bool is_other_;
};

}  // namespace native_runner
