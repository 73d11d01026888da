#include "workspace/transaction/merge_base.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include "policy/transaction/host_file.h"
#include "workspace/transaction/own_files.h"
#include "workspace/tree/staged_file.h"

namespace native_runner {
namespace {

constexpr const char* kBases = "bases";
constexpr const char* kNewBase = "new-";
constexpr const char* kBaseList = "list";
constexpr const char* kBaseData = "data";
constexpr std::string_view kBaseVersion = "1";
constexpr mode_t kOwnersAlone = 0600;
constexpr int kOpenBase = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr std::size_t kBaseBlock = std::size_t{128} << 10U;

std::string InBases(const std::string& name) {
  return std::string(kBases) + "/" + name;
}

// Empty where there are none yet.
Result<std::vector<std::string>> BaseNames(int directory) {
  Descriptor all(openat(directory, kBases, kOpenBase));
  if (!all.valid() && errno == ENOENT) return std::vector<std::string>();
  if (!all.valid()) return SystemError("openat", errno);
  return ScannedDirectory(std::move(all)).Names();
}

// Appends what a file has from there on to the data; false where it can't be read, or written.
bool Append(int file, std::uint64_t from, int data, std::uint64_t at, std::uint64_t size) {
  std::vector<char> block(std::min<std::uint64_t>(kBaseBlock, size + 1));
  std::uint64_t done = 0;
  while (done < size) {
    const auto most = std::min<std::uint64_t>(block.size(), size - done);
    const ssize_t got = pread(file, block.data(), most, static_cast<off_t>(from + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    const auto read = static_cast<std::size_t>(got);
    if (pwrite(data, block.data(), read, static_cast<off_t>(at + done)) != got) return false;
    done += read;
  }
  return true;
}

void Put(std::string* text, const std::string& path, const MergeBase::Entry& entry) {
  PutField(text, path);
  for (const std::uint64_t number :
       {std::uint64_t{entry.mode}, std::uint64_t{entry.uid}, std::uint64_t{entry.gid}, entry.size,
        entry.offset, std::uint64_t{entry.has_contents ? 1U : 0U}})
    PutNumber(text, number);
  PutField(text, entry.target);
}

bool Take(std::string_view* rest, std::string* path, MergeBase::Entry* entry) {
  std::uint64_t mode = 0;
  std::uint64_t uid = 0;
  std::uint64_t gid = 0;
  std::uint64_t has_contents = 0;
  const bool is_whole = TakeField(rest, path) && TakeNumber(rest, &mode) &&
                        TakeNumber(rest, &uid) && TakeNumber(rest, &gid) &&
                        TakeNumber(rest, &entry->size) && TakeNumber(rest, &entry->offset) &&
                        TakeNumber(rest, &has_contents) && TakeField(rest, &entry->target);
  entry->mode = static_cast<std::uint32_t>(mode);
  entry->uid = static_cast<std::uint32_t>(uid);
  entry->gid = static_cast<std::uint32_t>(gid);
  entry->has_contents = has_contents == 1;
  return is_whole;
}

}  // namespace

std::optional<Error> MergeBase::Stage(int directory, const std::string& name,
                                      const std::vector<Change>& changes, const ScannedTree& tree,
                                      const PathFilter& paths, const MergeBase* earlier) {
  const auto all = OpenOrMakeOwn(directory, kBases);
  if (!all) return all.error();
  const std::string staged = kNewBase + name;
  if (auto error = RemoveOwn(all.value().get(), staged)) return error;
  const auto made = OpenOrMakeOwn(all.value().get(), staged);
  if (!made) return made.error();
  const Descriptor data(openat(made.value().get(), kBaseData,
                               O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kOwnersAlone));
  if (!data.valid()) return SystemError("openat", errno);
  std::string entries;
  std::uint64_t count = 0;
  std::uint64_t at = 0;
  const auto add = [&](const std::string& path, Entry entry, int file, std::uint64_t from) {
    entry.offset = at;
    entry.has_contents = file >= 0 && Append(file, from, data.get(), at, entry.size);
    if (entry.has_contents) at += entry.size;
    Put(&entries, path, entry);
    ++count;
  };
  for (const Change& change : changes) {
    if (!paths.Has(InTree(change.path))) continue;
    Entry entry{change.mode, change.uid, change.gid, change.size, 0, false, change.target};
    Descriptor file;
    if (entry.is_file() && entry.size <= kMostBytes) {
      const auto [parent, last] = SplitPath(change.path);
      const auto in = tree.OpenIfThere(parent);
      if (!in) return in.error();
      auto opened = in.value() ? in.value()->OpenFile(std::string(last)) : Descriptor();
      if (opened) file = std::move(*opened);
    }
    add(change.path, std::move(entry), file.valid() ? file.get() : -1, 0);
  }
  if (earlier != nullptr) {
    for (const auto& [path, entry] : earlier->entries()) {
      if (paths.Has(InTree(path))) continue;
      add(path, entry, entry.has_contents ? earlier->data_.get() : -1, entry.offset);
    }
  }
  std::string text;
  PutField(&text, kBaseVersion);
  PutNumber(&text, NowNs());
  PutNumber(&text, count);
  text += entries;
  PutEnd(&text);
  return ReplaceFile(made.value().get(), kBaseList, text, false);
}

std::optional<Error> MergeBase::Promote(int directory, const std::string& name) {
  const auto all = OpenOrMakeOwn(directory, kBases);
  if (!all) return all.error();
  const int at = all.value().get();
  if (auto error = RemoveOwn(at, name)) return error;
  return RenameOwn(at, kNewBase + name, name);
}

void MergeBase::DropStaged(int directory) {
  const auto names = BaseNames(directory);
  if (!names) return;
  for (const std::string& name : names.value())
    if (name.starts_with(kNewBase)) static_cast<void>(RemoveOwn(directory, InBases(name)));
}

std::optional<Error> MergeBase::DropSince(int directory, std::uint64_t since_ns) {
  const auto names = BaseNames(directory);
  if (!names) return names.error();
  for (const std::string& name : names.value()) {
    if (name.starts_with(kNewBase)) continue;
    const auto base = Load(directory, name);
    if (!base) return base.error();
    if (base.value() && base.value()->created_ns_ < since_ns) continue;
    if (auto error = RemoveOwn(directory, InBases(name))) return error;
  }
  return std::nullopt;
}

Result<std::optional<MergeBase>> MergeBase::Load(int directory, const std::string& name) {
  const Descriptor at(openat(directory, InBases(name).c_str(), kOpenBase));
  if (!at.valid()) {
    if (errno == ENOENT) return std::optional<MergeBase>();
    return SystemError("openat", errno);
  }
  const auto text = ReadWholeFile(at.get(), kBaseList);
  if (!text) return text.error();
  const std::string& whole = text.value() ? *text.value() : std::string();
  std::string_view rest = whole;
  std::string version;
  std::uint64_t count = 0;
  std::optional<MergeBase> base(std::in_place);
  if (!TakeField(&rest, &version) || version != kBaseVersion ||
      !TakeNumber(&rest, &base->created_ns_) || !TakeNumber(&rest, &count)) {
    return std::optional<MergeBase>();
  }
  for (std::uint64_t left = count; left > 0; --left) {
    std::string changed;
    Entry entry;
    if (!Take(&rest, &changed, &entry)) return std::optional<MergeBase>();
    base->entries_.insert_or_assign(std::move(changed), std::move(entry));
  }
  if (!TakeEnd(whole, &rest, true)) return std::optional<MergeBase>();
  base->data_ = Descriptor(openat(at.get(), kBaseData, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  return base;
}

const MergeBase::Entry* MergeBase::Find(const std::string& path) const {
  const auto found = entries_.find(path);
  return found == entries_.end() ? nullptr : &found->second;
}

bool MergeBase::HasContents(const Entry& entry, int file) const {
  if (!entry.has_contents) return false;
  std::vector<char> one(kBaseBlock);
  std::vector<char> other(kBaseBlock);
  for (std::uint64_t done = 0; done < entry.size;) {
    const auto most = std::min<std::uint64_t>(kBaseBlock, entry.size - done);
    const ssize_t kept =
        pread(data_.get(), one.data(), most, static_cast<off_t>(entry.offset + done));
    const ssize_t now = pread(file, other.data(), most, static_cast<off_t>(done));
    if (kept != static_cast<ssize_t>(most) || now != kept ||
        !std::equal(one.begin(), one.begin() + kept, other.begin())) {
      return false;
    }
    done += most;
  }
  return true;
}

std::optional<std::string> MergeBase::ContentsOf(const Entry& entry) const {
  if (!entry.has_contents) return std::nullopt;
  std::string bytes(entry.size, '\0');
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = pread(data_.get(), bytes.data() + done, bytes.size() - done,
                              static_cast<off_t>(entry.offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    done += static_cast<std::size_t>(got);
  }
  return bytes;
}

}  // namespace native_runner
