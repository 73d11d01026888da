#include "effects/copy/staging.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "effects/copy/copy_entry.h"
#include "effects/tree/beneath.h"
#include "effects/tree/file_stat.h"

namespace native_runner {
namespace {

// Puts other contents into a copy, whose mode may keep its owner out, and gives it its mode after
// that: write(2) takes set-user-ID bits away.
std::optional<Error> Rewrite(int entry, const std::string& path, const HostFile& copy,
                             std::span<const std::uint8_t> contents) {
  const std::string place = DescriptorPath(entry);
  if (chmod(place.c_str(), S_IRUSR | S_IWUSR) != 0) {
    return SystemError((path + ": chmod").c_str(), errno);
  }
  const Descriptor file(open(place.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  if (!file.valid()) return SystemError((path + ": open").c_str(), errno);
  while (!contents.empty()) {
    const ssize_t written = write(file.get(), contents.data(), contents.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return SystemError((path + ": write").c_str(), errno);
    contents = contents.subspan(static_cast<std::size_t>(written));
  }
  if (fchmod(file.get(), copy.mode & kModeBits) != 0) {
    return SystemError((path + ": fchmod").c_str(), errno);
  }
  return std::nullopt;
}

}  // namespace

// A file of ours that its mode keeps us from reading; nullopt: it does not.
std::optional<OpenedDirectory> Staging::LetIn(const ScannedDirectory& from, const std::string& name,
                                              const Node& mine) {
  const bool is_shut = mine.is_file() && (mine.mode & S_IRUSR) == 0 && geteuid() != 0;
  if (!is_shut) return std::nullopt;
  auto place = OpenBeneath(from.descriptor(), name, O_PATH, "open", Mounts::kStay);
  const mode_t mode = mine.mode & kModeBits;
  if (!place || chmod(DescriptorPath(place->get()).c_str(), mode | S_IRUSR) != 0) {
    return std::nullopt;
  }
  return OpenedDirectory(std::move(*place), mode);
}

Result<HostFile> Staging::Copy(const std::string& path, const HostFile& like,
                               const std::string& name) {
  const auto [parent, last] = SplitPath(path);
  const auto from = upper_.Open(parent);
  if (!from) return from.error();
  const auto mine = from.value().Look(std::string(last));
  if (!mine) return mine.error();
  if (mine.value() && mine.value()->links > 1) {
    const std::pair file(mine.value()->device, mine.value()->inode);
    const auto [known, is_first] = linked_.emplace(file, name);
    if (!is_first) {
      if (linkat(aside_, known->second.c_str(), aside_, name.c_str(), 0) != 0) {
        return SystemError((path + ": linkat").c_str(), errno);
      }
      return Made(name, path);
    }
  }
  return CopyAlone(from.value(), path, like, name);
}

Result<HostFile> Staging::CopyWith(std::span<const std::uint8_t> contents, const std::string& path,
                                   const HostFile& like, const std::string& name) {
  const auto from = upper_.Open(SplitPath(path).parent);
  if (!from) return from.error();
  auto copied = CopyAlone(from.value(), path, like, name);
  if (!copied) return copied;
  const Descriptor entry(openat(aside_, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!entry.valid()) return SystemError((path + ": openat").c_str(), errno);
  if (auto error = Rewrite(entry.get(), path, copied.value(), contents)) return std::move(*error);
  return Made(name, path);
}

// A copy that is no link of another.
Result<HostFile> Staging::CopyAlone(const ScannedDirectory& from, const std::string& path,
                                    const HostFile& like, const std::string& name) {
  const std::string own(SplitPath(path).name);
  const auto mine = from.Look(own);
  if (!mine) return mine.error();
  const auto let_in = mine.value() ? LetIn(from, own, *mine.value()) : std::nullopt;
  const auto copied = CopyEntry(from, own, aside_, name, path, CopyRules{&progress_, &like});
  if (!copied) return copied.error();
  if (copied.value()) return HostFile(copied.value()->copy);
  return Error{ErrorCode::kSetup, path + " was changed while it was to be committed", ""};
}

Result<HostFile> Staging::Made(const std::string& name, const std::string& path) const {
  const Descriptor made(openat(aside_, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!made.valid()) return SystemError((path + ": openat").c_str(), errno);
  auto node = NodeOf(made.get());
  if (!node) return node.error();
  return HostFile(*node);
}

}  // namespace native_runner
