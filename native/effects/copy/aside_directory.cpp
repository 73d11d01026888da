#include "effects/copy/aside_directory.h"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "effects/changes/scanned_tree.h"
#include "effects/files/remove_entry.h"
#include "effects/tree/beneath.h"
#include "effects/tree/kept_file.h"
#include "policy/transaction/aside_place.h"
#include "supervise/os/real_path.h"
#include "supervise/os/statx.h"

namespace native_runner {
namespace {

constexpr const char* kPlace = "place";
constexpr unsigned kMountId = 0x1000;  // STATX_MNT_ID, of Linux 5.8
constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

Result<std::string> NewName() {
  std::array<unsigned char, 8> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return SystemError("getrandom", errno);
  }
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string digits;
  for (const unsigned char byte : bytes) {
    digits += kDigits[byte >> 4U];
    digits += kDigits[byte & 15U];
  }
  return AsideName(digits);
}

std::optional<Error> WritePlace(int commit, const AsidePlace& place) {
  return ReplaceFile(commit, kPlace, EncodeAsidePlace(place), true);
}

bool IsRefusal(int number) {
  return number == EACCES || number == EPERM || number == EROFS;
}

// nullopt: nothing may be made in it.
Result<std::optional<Descriptor>> MakeIn(int commit, int parent) {
  const auto name = NewName();
  if (!name) return name.error();
  const auto above = PathOf(parent);
  if (!above) return above.error();
  AsidePlace place;
  place.path = (above.value() == "/" ? "" : above.value()) + "/" + name.value();
  if (auto error = WritePlace(commit, place)) return *error;
  if (mkdirat(parent, name.value().c_str(), S_IRWXU) != 0) {
    if (IsRefusal(errno)) return std::optional<Descriptor>();
    return SystemError("mkdirat", errno);
  }
  Descriptor made(openat(parent, name.value().c_str(), kDirectory));
  if (!made.valid()) return SystemError("openat", errno);
  const auto node = NodeOf(made.get());
  if (!node) return node.error();
  place.identity = {node.value().device, node.value().inode};
  if (auto error = WritePlace(commit, place)) return *error;
  if (fsync(parent) != 0) return SystemError("fsync", errno);
  return std::optional(std::move(made));
}

struct Found {
  AsidePlace place;
  Descriptor parent;  // O_PATH
  Descriptor directory;
};

// nullopt: there is none, or not the one that was made.
Result<std::optional<Found>> Find(int commit) {
  const auto text = ReadWholeFile(commit, kPlace);
  if (!text) return text.error();
  if (!text.value()) return std::optional<Found>();
  auto place = DecodeAsidePlace(*text.value());
  if (!place) return place.error();
  Found found;
  found.place = std::move(*place);
  const auto [above, name] = SplitPath(found.place.path);
  const std::string parent = above.empty() ? "/" : std::string(above);
  found.parent = Descriptor(open(parent.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!found.parent.valid()) return std::optional<Found>();
  found.directory = Descriptor(openat(found.parent.get(), std::string(name).c_str(), kDirectory));
  if (!found.directory.valid()) return std::optional<Found>();
  const auto node = NodeOf(found.directory.get());
  if (!node) return node.error();
  const FileIdentity now = {node.value().device, node.value().inode};
  // One that a death has kept from being named whole is empty: it is removed as such.
  const bool is_unnamed = found.place.identity == FileIdentity{};
  if (!is_unnamed && now != found.place.identity) return std::optional<Found>();
  return std::optional(std::move(found));
}

}  // namespace

bool CanRename(int one, int other) {
  struct statx first {};
  struct statx second {};
  constexpr unsigned kWanted = STATX_BASIC_STATS | kMountId;
  if (statx(one, "", AT_EMPTY_PATH, kWanted, &first) != 0 ||
      statx(other, "", AT_EMPTY_PATH, kWanted, &second) != 0) {
    return false;
  }
  const bool is_one_device =
      first.stx_dev_major == second.stx_dev_major && first.stx_dev_minor == second.stx_dev_minor;
  const bool knows_mounts = (first.stx_mask & second.stx_mask & kMountId) != 0;
  return is_one_device && (!knows_mounts || first.stx_mnt_id == second.stx_mnt_id);
}

Result<Descriptor> MakeAsideDirectory(int commit, int host) {
  const Descriptor above(openat(host, "..", kDirectory));
  if (above.valid() && CanRename(host, above.get())) {
    auto made = MakeIn(commit, above.get());
    if (!made) return made.error();
    if (*made) return std::move(**made);
  }
  auto made = MakeIn(commit, host);
  if (!made) return made.error();
  if (!*made) {
    return Error{ErrorCode::kSetup,
                 "no directory can be made beside the workspace or in it, which a commit from "
                 "another file system needs",
                 "open transactions with a `directory` on the workspace's file system"};
  }
  if (auto error = ReplaceFile((*made)->get(), ".gitignore", "*\n", false)) return *error;
  return std::move(**made);
}

Result<std::optional<Descriptor>> OpenAsideDirectory(int commit) {
  auto found = Find(commit);
  if (!found) return found.error();
  if (*found) return std::optional(std::move((*found)->directory));
  const auto text = ReadWholeFile(commit, kPlace);
  if (!text || !text.value()) return std::optional<Descriptor>();
  const auto place = DecodeAsidePlace(*text.value());
  return Error{ErrorCode::kSetup,
               (place ? place.value().path : std::string("the commit's directory")) +
                   ", where a commit keeps the host's files, is not there any more",
               "put it back where it was"};
}

std::optional<Error> RemoveAsideDirectory(int commit) {
  auto found = Find(commit);
  if (!found) return found.error();
  if (!*found) return std::nullopt;
  const std::string name(SplitPath((*found)->place.path).name);
  if ((*found)->place.identity == FileIdentity{}) {
    static_cast<void>(unlinkat((*found)->parent.get(), name.c_str(), AT_REMOVEDIR));
    return std::nullopt;
  }
  const auto removed = RemoveEntry(Beneath::Of(std::move((*found)->parent)), name, true);
  if (removed || removed.error().number == ENOENT) return std::nullopt;
  const FileError& why = removed.error();
  if (why.kind == FileError::Kind::kSandbox) return why.sandbox;
  return SystemError(("rm of " + (*found)->place.path).c_str(), why.number);
}

}  // namespace native_runner
