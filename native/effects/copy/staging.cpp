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
  const std::string own(last);
  const auto from = upper_.Open(parent);
  if (!from) return from.error();
  const auto mine = from.value().Look(own);
  if (!mine) return mine.error();
  if (mine.value() && mine.value()->links > 1) {
    const std::pair file(mine.value()->device, mine.value()->inode);
    const auto [known, is_first] = linked_.emplace(file, name);
    if (!is_first) {
      if (linkat(aside_, known->second.c_str(), aside_, name.c_str(), 0) != 0) {
        return SystemError((path + ": linkat").c_str(), errno);
      }
      const Descriptor linked(openat(aside_, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
      if (!linked.valid()) return SystemError((path + ": openat").c_str(), errno);
      auto node = NodeOf(linked.get());
      if (!node) return node.error();
      return HostFile(*node);
    }
  }
  const auto let_in = mine.value() ? LetIn(from.value(), own, *mine.value()) : std::nullopt;
  const auto copied =
      CopyEntry(from.value(), own, aside_, name, path, CopyRules{&progress_, &like});
  if (!copied) return copied.error();
  if (copied.value()) return HostFile(copied.value()->copy);
  return Error{ErrorCode::kSetup, path + " was changed while it was to be committed", ""};
}

}  // namespace native_runner
