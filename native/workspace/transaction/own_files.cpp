#include "workspace/transaction/own_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <system_error>
#include <utility>

#include "supervise/os/file.h"
#include "workspace/files/directory_entries.h"
#include "workspace/tree/beneath.h"

namespace native_runner {

namespace {

constexpr std::size_t kTimeDigits = 20;

}  // namespace

std::string TextOf(const TimedName& name) {
  const std::string digits = std::to_string(name.added_ns);
  return std::string(kTimeDigits - digits.size(), '0') + digits + "-" + name.id;
}

std::optional<TimedName> TimedNameOf(const std::string& text) {
  if (text.size() <= kTimeDigits + 1 || text[kTimeDigits] != '-') return std::nullopt;
  TimedName name;
  const char* const end = text.data() + kTimeDigits;
  const auto [at, failed] = std::from_chars(text.data(), end, name.added_ns);
  if (failed != std::errc() || at != end) return std::nullopt;
  name.id = text.substr(kTimeDigits + 1);
  return name;
}

Result<Descriptor> OpenOwn(int directory, const std::string& name) {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  const int opened = openat(directory, name.c_str(), kFlags);
  if (opened < 0) return SystemError("openat", errno);
  return Descriptor(opened);
}

Result<Descriptor> MakeOwn(int directory, const std::string& name) {
  if (mkdirat(directory, name.c_str(), S_IRWXU) != 0) return SystemError("mkdirat", errno);
  return OpenOwn(directory, name);
}

Result<Descriptor> OpenOrMakeOwn(int directory, const std::string& name) {
  if (mkdirat(directory, name.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
    return SystemError("mkdirat", errno);
  }
  return OpenOwn(directory, name);
}

Result<bool> HoldsOwn(int directory, const std::string& name) {
  if (faccessat(directory, name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0) return true;
  if (errno == ENOENT) return false;
  return SystemError("faccessat", errno);
}

std::optional<Error> RemoveOwn(int directory, const std::string& name, bool may_stop) {
  auto copy = DuplicateOf(directory);
  if (!copy) return copy.error();
  const auto removed = RemoveEntry(Beneath::Of(std::move(*copy)), name, true, may_stop);
  if (removed) return std::nullopt;
  const FileError& why = removed.error();
  if (why.kind == FileError::Kind::kSandbox) return why.sandbox;
  if (why.number == ENOENT) return std::nullopt;
  return SystemError("rm in a transaction's directory", why.number);
}

std::optional<Error> RenameOwn(int directory, const std::string& from, const std::string& to) {
  if (renameat(directory, from.c_str(), directory, to.c_str()) == 0) return std::nullopt;
  return SystemError("renameat", errno);
}

}  // namespace native_runner
