#include "effects/files/replace_unchanged.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "effects/tree/beneath.h"

namespace native_runner {
namespace {

// How long those are waited for who have it locked for a few system calls.
constexpr int kLockTries = 500;
constexpr useconds_t kLockStepUs = 2000;

bool Is(const FileError& error, int number) {
  return error.kind == FileError::Kind::kSystem && error.number == number;
}

std::optional<FileError> Lock(int fd) {
  for (int i = 0; i < kLockTries; ++i) {
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) return std::nullopt;
    if (errno != EWOULDBLOCK && errno != EINTR) return Refused("flock", errno);
    usleep(kLockStepUs);
  }
  return Refused("flock", EBUSY);
}

// The file, open in whichever way its mode lets us; a lock needs no more.
FileResult<Descriptor> OpenToLock(int directory, const std::string& name) {
  const auto entry = OpenBeneath(directory, name, O_PATH, "open");
  if (!entry) return Is(entry.error(), ENOENT) ? HasChanged() : entry.error();
  const auto stat = StatOf(entry.value().get(), "open");
  if (!stat) return stat.error();
  if (stat.value().type != FileType::kFile) return HasChanged();
  auto file = Reopen(entry.value().get(), O_RDONLY, "open");
  if (file || !Is(file.error(), EACCES)) return file;
  return Reopen(entry.value().get(), O_WRONLY, "open");
}

bool IsVersion(int directory, const std::string& name, const FileVersion& version) {
  const auto now = LookAt(directory, name, "open");
  return now && now.value() && now.value()->version == version;
}

}  // namespace

FileError HasChanged() {
  FileError error;
  error.kind = FileError::Kind::kChanged;
  return error;
}

FileResult<ExistingFile> LookAt(int directory, const std::string& name, const char* call) {
  const auto entry = OpenBeneath(directory, name, O_PATH, call);
  if (!entry) {
    if (Is(entry.error(), ENOENT)) return ExistingFile();
    return entry.error();
  }
  const auto stat = StatOf(entry.value().get(), call);
  if (!stat) return stat.error();
  return ExistingFile(stat.value());
}

FileResult<Done> PutBack(StagedFile& staged, int directory, const std::string& name) {
  const auto back = staged.Exchange(name);
  if (!back) return back.error();
  // What comes out now is ours, unless somebody wrote without asking: that is the latest.
  const auto out = LookAt(directory, back.value(), "open");
  const auto ours = StatOf(staged.get(), "open");
  const bool is_there = out && out.value();
  if (is_there && ours && !out.value()->version.SameFile(ours.value().version)) {
    const auto again = staged.Exchange(name);
    if (!again) return again.error();
  }
  return HasChanged();
}

FileResult<Done> ExchangeUnchanged(StagedFile& staged, int directory, const std::string& name,
                                   const FileVersion& version) {
  const auto exchanged = staged.Exchange(name);
  if (!exchanged) {
    if (Is(exchanged.error(), ENOENT)) return HasChanged();
    // The file system can't: what others do from here on is not seen.
    return Is(exchanged.error(), EINVAL) ? staged.Replace(name) : exchanged.error();
  }
  const auto out = LookAt(directory, exchanged.value(), "open");
  if (out && out.value() && out.value()->version.SameContent(version)) return Done{};
  return PutBack(staged, directory, name);
}

FileResult<Done> ReplaceUnchanged(StagedFile& staged, int directory, const std::string& name,
                                  const FileVersion& version) {
  const auto old = OpenToLock(directory, name);
  if (!old) return old.error();
  if (auto refused = Lock(old.value().get())) return std::move(*refused);
  if (auto refused = Lock(staged.get())) return std::move(*refused);
  if (!IsVersion(directory, name, version)) return HasChanged();
  return ExchangeUnchanged(staged, directory, name, version);
}

}  // namespace native_runner
