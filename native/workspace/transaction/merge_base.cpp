#include "workspace/transaction/merge_base.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include "policy/transaction/host_file.h"
#include "workspace/transaction/checkpoints.h"
#include "workspace/transaction/kept_texts.h"
#include "workspace/transaction/own_files.h"
#include "workspace/tree/staged_file.h"

namespace native_runner {
namespace {

constexpr const char* kBases = "bases";
constexpr const char* kReplaced = "replaced";
constexpr const char* kNewKept = "new-";
constexpr const char* kKeptList = "list";
constexpr const char* kKeptData = "data";
constexpr std::string_view kKeptVersion = "2";
constexpr mode_t kOwnersAlone = 0600;
constexpr std::size_t kBaseBlock = std::size_t{128} << 10U;
// Of what one commit, or undo, has replaced: it must not cost as much again.
constexpr std::uint64_t kMostReplaced = std::uint64_t{256} << 20U;

std::string Inside(const char* all, const std::string& name) {
  return std::string(all) + "/" + name;
}

// Those below `all` in the order of time; empty where there are none yet.
Result<std::vector<TimedName>> KeptNames(int directory, const char* all) {
  const auto is_there = HoldsOwn(directory, all);
  if (!is_there) return is_there.error();
  std::vector<TimedName> kept;
  if (!is_there.value()) return kept;
  auto opened = OpenOwn(directory, all);
  if (!opened) return opened.error();
  const auto names = ScannedDirectory(std::move(*opened)).Names();
  if (!names) return names.error();
  for (const std::string& name : names.value())
    if (auto each = TimedNameOf(name)) kept.push_back(std::move(*each));
  std::sort(kept.begin(), kept.end(), [](const TimedName& one, const TimedName& other) {
    return TextOf(one) < TextOf(other);
  });
  return kept;
}

// Later than all that are there, even if the clock was set back.
std::uint64_t NextTime(const std::vector<TimedName>& kept) {
  return kept.empty() ? NowNs() : std::max(NowNs(), kept.back().added_ns + 1);
}

// Appends so many bytes of a file to the data; false where it can't be read, or written.
bool Append(int file, int data, std::uint64_t at, std::uint64_t size) {
  std::vector<char> block(std::min<std::uint64_t>(kBaseBlock, size + 1));
  std::uint64_t done = 0;
  while (done < size) {
    const auto most = std::min<std::uint64_t>(block.size(), size - done);
    const ssize_t got = pread(file, block.data(), most, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    const auto read = static_cast<std::size_t>(got);
    if (pwrite(data, block.data(), read, static_cast<off_t>(at + done)) != got) return false;
    done += read;
  }
  return true;
}

void Put(std::string* text, const std::string& path, const KeptPaths::Entry& entry) {
  PutField(text, path);
  for (const std::uint64_t number :
       {std::uint64_t{entry.mode}, std::uint64_t{entry.uid}, std::uint64_t{entry.gid}, entry.size,
        entry.offset, std::uint64_t{entry.has_contents ? 1U : 0U}})
    PutNumber(text, number);
  PutField(text, entry.target);
}

bool Take(std::string_view* rest, std::string* path, KeptPaths::Entry* entry) {
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

void Put(std::string* text, const KeptPaths::About& about) {
  PutNumber(text, about.created_ns);
  PutField(text, about.workspace);
  const auto paths = about.scope.paths();
  PutNumber(text, paths.size());
  for (const std::string& path : paths)
    PutField(text, path);
}

bool Take(std::string_view* rest, KeptPaths::About* about) {
  std::uint64_t count = 0;
  const bool is_whole = TakeNumber(rest, &about->created_ns) &&
                        TakeField(rest, &about->workspace) && TakeNumber(rest, &count);
  if (!is_whole || count == 0) return is_whole;
  std::vector<std::string> paths;
  for (; count > 0; --count)
    if (!TakeField(rest, &paths.emplace_back())) return false;
  auto scope = PathFilter::Of(paths);
  if (!scope) return false;
  about->scope = std::move(*scope);
  return true;
}

// Writes a whole one below `all` by a name for those that are not done.
std::optional<Error> WriteNew(int directory, const char* all, const std::string& name,
                              const KeptPaths::About& about, const KeptPaths::Entries& entries,
                              const ScannedTree& tree) {
  const auto in = OpenOrMakeOwn(directory, all);
  if (!in) return in.error();
  const std::string staged = kNewKept + name;
  if (auto error = RemoveOwn(in.value().get(), staged)) return error;
  const auto made = MakeOwn(in.value().get(), staged);
  if (!made) return made.error();
  return KeptPaths::Write(made.value().get(), about, entries, tree);
}

// Hard links, or copies where the file system has none: those count as shared with nobody.
std::optional<Error> LinkKept(int from, int to) {
  for (const char* const name : {kKeptList, kKeptData}) {
    if (linkat(from, name, to, name, 0) == 0) continue;
    const Descriptor file(openat(from, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    const Descriptor copy(
        openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kOwnersAlone));
    struct stat status {};
    if (!file.valid() || !copy.valid() || fstat(file.get(), &status) != 0) {
      return SystemError("linkat", errno);
    }
    if (!Append(file.get(), copy.get(), 0, static_cast<std::uint64_t>(status.st_size))) {
      return SystemError("copy of a merge base", errno);
    }
  }
  return std::nullopt;
}

// False for one whose removal a death has interrupted.
bool IsWhole(int kept) {
  return faccessat(kept, kKeptList, F_OK, AT_SYMLINK_NOFOLLOW) == 0 &&
         faccessat(kept, kKeptData, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

Result<KeptPaths::Entry> EntryAt(const ScannedTree& tree, const std::string& path) {
  const auto spot = SpotOf(tree, path);
  if (!spot) return spot.error();
  KeptPaths::Entry entry;
  const auto& node = spot.value().node;
  if (!node) return entry;
  entry = {node->mode, node->uid, node->gid, node->size, 0, false, ""};
  if (node->is_link()) {
    const auto target = spot.value().directory->Target(std::string(SplitPath(path).name));
    if (target) entry.target = target.value();
  }
  return entry;
}

// Removes what processes were writing that have died: another one's is not that old.
void RemoveAbandoned(int state) {
  auto all = OpenOwn(state, kReplaced);
  if (!all) return;
  const auto names = ScannedDirectory(std::move(*all)).Names();
  if (!names) return;
  for (const std::string& name : names.value()) {
    if (!name.starts_with(kNewKept)) continue;
    const auto kept = TimedNameOf(name.substr(std::string_view(kNewKept).size()));
    if (kept && kept->added_ns + kAbandonedNs > NowNs()) continue;
    static_cast<void>(RemoveOwn(state, Inside(kReplaced, name)));
  }
}

Result<std::set<std::string>> CheckpointIds(int transaction) {
  const auto records = ListCheckpoints(transaction);
  if (!records) return records.error();
  std::set<std::string> ids;
  for (const CheckpointRecord& record : records.value())
    ids.insert(record.id);
  return ids;
}

Result<std::optional<KeptPaths>> ReadKept(int directory, const char* all, const TimedName& name) {
  const auto opened = OpenOwn(directory, Inside(all, TextOf(name)));
  if (!opened) return std::optional<KeptPaths>();  // removed since
  return KeptPaths::Read(opened.value().get());
}

}  // namespace

std::optional<Error> KeptPaths::Write(int directory, const About& about, const Entries& entries,
                                      const ScannedTree& tree) {
  const Descriptor data(openat(directory, kKeptData,
                               O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kOwnersAlone));
  if (!data.valid()) return SystemError("openat", errno);
  std::string text;
  PutField(&text, kKeptVersion);
  Put(&text, about);
  PutNumber(&text, entries.size());
  std::uint64_t at = 0;
  for (const auto& [path, known] : entries) {
    Entry entry = known;
    entry.offset = at;
    entry.has_contents = false;
    if (entry.is_file() && entry.size <= std::min(kMostBytes, about.most_bytes - at)) {
      const auto [parent, name] = SplitPath(path);
      const auto in = tree.OpenIfThere(parent);
      if (!in) return in.error();
      const auto file =
          in.value() ? in.value()->OpenFile(std::string(name)) : Result<Descriptor>(Descriptor());
      entry.has_contents =
          file && file.value().valid() && Append(file.value().get(), data.get(), at, entry.size);
    }
    if (entry.has_contents) at += entry.size;
    Put(&text, path, entry);
  }
  PutEnd(&text);
  return ReplaceFile(directory, kKeptList, text, false);
}

Result<std::optional<KeptPaths>> KeptPaths::Read(int directory) {
  const auto text = ReadWholeFile(directory, kKeptList);
  if (!text) return text.error();
  const std::string& whole = text.value() ? *text.value() : std::string();
  std::string_view rest = whole;
  std::string version;
  std::uint64_t count = 0;
  std::optional<KeptPaths> kept(std::in_place);
  if (!TakeField(&rest, &version) || version != kKeptVersion || !Take(&rest, &kept->about_) ||
      !TakeNumber(&rest, &count)) {
    return std::optional<KeptPaths>();
  }
  for (; count > 0; --count) {
    std::string path;
    Entry entry;
    if (!Take(&rest, &path, &entry)) return std::optional<KeptPaths>();
    kept->entries_.insert_or_assign(std::move(path), std::move(entry));
  }
  if (!TakeEnd(whole, &rest, true)) return std::optional<KeptPaths>();
  kept->data_ = Descriptor(openat(directory, kKeptData, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  return kept;
}

const KeptPaths::Entry* KeptPaths::Find(const std::string& path) const {
  const auto found = entries_.find(path);
  return found == entries_.end() ? nullptr : &found->second;
}

bool KeptPaths::IsAt(const Entry& entry, const Spot& spot, const std::string& name) const {
  if (!spot.node) return entry.mode == 0;
  const Node& now = *spot.node;
  if (now.mode != entry.mode || now.uid != entry.uid || now.gid != entry.gid) return false;
  if (now.is_link()) {
    const auto target = spot.directory->Target(name);
    return target && target.value() == entry.target;
  }
  if (!now.is_file()) return true;
  if (now.size != entry.size) return false;
  const auto file = spot.directory->OpenFile(name);
  return file && HasContents(entry, file.value().get());
}

bool KeptPaths::HasContents(const Entry& entry, int file) const {
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

std::optional<std::string> KeptPaths::ContentsOf(const Entry& entry) const {
  if (!entry.has_contents) return std::nullopt;
  return ReadBytes(data_.get(), entry.offset, entry.size);
}

std::optional<Error> StageBase(int directory, const std::string& name,
                               const KeptPaths::About& about, const std::vector<Change>& changes,
                               const ScannedTree& tree, const std::set<std::string>& others) {
  KeptPaths::Entries entries;
  for (const std::string& path : others) {
    if (!about.scope.Has(InTree(path))) continue;
    auto entry = EntryAt(tree, path);
    if (!entry) return entry.error();
    entries.insert_or_assign(path, std::move(*entry));
  }
  for (const Change& change : changes) {
    if (!about.scope.Has(InTree(change.path))) continue;
    entries.insert_or_assign(change.path, KeptPaths::Entry{change.mode, change.uid, change.gid,
                                                           change.size, 0, false, change.target});
  }
  return WriteNew(directory, kBases, name, about, entries, tree);
}

Result<std::string> AddStagedBase(int directory, const std::string& name,
                                  const CheckpointRecord* checkpoint) {
  const auto names = KeptNames(directory, kBases);
  if (!names) return names.error();
  auto id = checkpoint != nullptr ? Result<std::string>(checkpoint->id) : NewId();
  if (!id) return id;
  const std::uint64_t added_ns =
      checkpoint != nullptr ? checkpoint->created_ns : NextTime(names.value());
  const std::string added = TextOf({added_ns, *id});
  auto error = RenameOwn(directory, Inside(kBases, kNewKept + name), Inside(kBases, added));
  if (error) return *error;
  return id;
}

void DropStagedBases(int directory) {
  const auto all = OpenOwn(directory, kBases);
  if (!all) return;
  auto own = DuplicateOf(all.value().get());
  if (!own) return;
  const auto names = ScannedDirectory(std::move(*own)).Names();
  if (!names) return;
  for (const std::string& name : names.value())
    if (name.starts_with(kNewKept)) static_cast<void>(RemoveOwn(all.value().get(), name));
}

std::optional<Error> ShareBases(int directory, int to, bool keeps_times, const std::string& only) {
  const auto ours = KeptNames(directory, kBases);
  if (!ours) return ours.error();
  const auto theirs = KeptNames(to, kBases);
  if (!theirs) return theirs.error();
  const auto all = OpenOrMakeOwn(to, kBases);
  if (!all) return all.error();
  const std::uint64_t now = NextTime(theirs.value());
  for (const TimedName& name : ours.value()) {
    if (!only.empty() && name.id != only) continue;
    const bool is_there =
        std::any_of(theirs.value().begin(), theirs.value().end(),
                    [&name](const TimedName& each) { return each.id == name.id; });
    if (is_there) continue;
    const auto from = OpenOwn(directory, Inside(kBases, TextOf(name)));
    if (!from) return from.error();
    if (!IsWhole(from.value().get())) continue;
    const std::string staged = kNewKept + name.id;
    if (auto error = RemoveOwn(all.value().get(), staged)) return error;
    const auto made = MakeOwn(all.value().get(), staged);
    if (!made) return made.error();
    if (auto error = LinkKept(from.value().get(), made.value().get())) return error;
    const std::string added = TextOf({keeps_times ? name.added_ns : now, name.id});
    if (auto error = RenameOwn(all.value().get(), staged, added)) return error;
  }
  return std::nullopt;
}

Result<bool> DropBasesSince(int directory, std::uint64_t since_ns) {
  const auto names = KeptNames(directory, kBases);
  if (!names) return names.error();
  bool had_some = false;
  for (const TimedName& name : names.value()) {
    if (name.added_ns < since_ns) continue;
    had_some = true;
    if (auto error = RemoveOwn(directory, Inside(kBases, TextOf(name)))) return *error;
  }
  return had_some;
}

bool TidyBases(int directory) {
  const auto names = KeptNames(directory, kBases);
  if (!names) return true;
  const auto checkpoints = CheckpointIds(directory);
  if (!checkpoints) return true;
  bool has_some = false;
  for (const TimedName& name : names.value()) {
    struct stat status {};
    if (checkpoints.value().contains(name.id)) {
      has_some = true;
      continue;
    }
    const std::string path = Inside(kBases, TextOf(name));
    const bool is_alone =
        fstatat(directory, (path + "/" + kKeptList).c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        status.st_nlink == 1;
    has_some |= !is_alone || RemoveOwn(directory, path);
  }
  return has_some;
}

std::optional<Error> KeepReplaced(int state, const std::string& workspace,
                                  const std::vector<std::string>& paths, const ScannedTree& host) {
  KeptPaths::Entries entries;
  for (const std::string& path : paths) {
    auto entry = EntryAt(host, path);
    if (!entry) return entry.error();
    entries.insert_or_assign(path, std::move(*entry));
  }
  const auto id = NewId();
  if (!id) return id.error();
  const auto names = KeptNames(state, kReplaced);
  if (!names) return names.error();
  const KeptPaths::About about{NextTime(names.value()), workspace, {}, kMostReplaced};
  const std::string name = TextOf({about.created_ns, id.value()});
  const std::string staged = Inside(kReplaced, kNewKept + name);
  auto error = WriteNew(state, kReplaced, name, about, entries, host);
  if (!error) error = RenameOwn(state, staged, Inside(kReplaced, name));
  if (error) static_cast<void>(RemoveOwn(state, staged));
  return error;
}

bool HasReplaced(int state) {
  const auto has = HoldsOwn(state, kReplaced);
  return !has || has.value();
}

Result<std::set<std::string>> ReplacedPaths(int state, const std::string& workspace) {
  const auto names = KeptNames(state, kReplaced);
  if (!names) return names.error();
  std::set<std::string> paths;
  for (const TimedName& name : names.value()) {
    const auto kept = ReadKept(state, kReplaced, name);
    if (!kept) return kept.error();
    if (!kept.value() || kept.value()->about().workspace != workspace) continue;
    for (const auto& [path, entry] : kept.value()->entries())
      paths.insert(path);
  }
  return paths;
}

void TidyReplaced(int state, const std::string& workspace, std::optional<std::uint64_t> oldest_ns) {
  const auto names = KeptNames(state, kReplaced);
  if (!names) return;
  for (const TimedName& name : names.value()) {
    if (oldest_ns && name.added_ns >= *oldest_ns) continue;
    const auto kept = ReadKept(state, kReplaced, name);
    const bool is_others = kept && kept.value() && kept.value()->about().workspace != workspace;
    if (!is_others) static_cast<void>(RemoveOwn(state, Inside(kReplaced, TextOf(name))));
  }
  RemoveAbandoned(state);
  static_cast<void>(unlinkat(state, kReplaced, AT_REMOVEDIR));  // stays while something is in it
}

Result<MergeBase> MergeBase::Of(int one, int other, int state, const std::string& workspace) {
  const auto ours = KeptNames(one, kBases);
  if (!ours) return ours.error();
  const auto theirs = KeptNames(other, kBases);
  if (!theirs) return theirs.error();
  const auto our_checkpoints = CheckpointIds(one);
  if (!our_checkpoints) return our_checkpoints.error();
  const auto their_checkpoints = CheckpointIds(other);
  if (!their_checkpoints) return their_checkpoints.error();
  MergeBase base;
  const auto add = [&base](int directory, const TimedName& name) -> std::optional<Error> {
    auto kept = ReadKept(directory, kBases, name);
    if (!kept) return kept.error();
    if (*kept) base.bases_.push_back(std::move(**kept));
    return std::nullopt;
  };
  for (const TimedName& name : ours.value()) {
    const bool is_shared =
        their_checkpoints.value().contains(name.id) ||
        std::any_of(theirs.value().begin(), theirs.value().end(),
                    [&name](const TimedName& each) { return each.id == name.id; });
    if (!is_shared) continue;
    if (auto error = add(one, name)) return *error;
  }
  for (const TimedName& name : theirs.value()) {
    const bool is_known =
        std::any_of(ours.value().begin(), ours.value().end(),
                    [&name](const TimedName& each) { return each.id == name.id; });
    if (is_known || !our_checkpoints.value().contains(name.id)) continue;
    if (auto error = add(other, name)) return *error;
  }
  std::sort(base.bases_.begin(), base.bases_.end(),
            [](const KeptPaths& first, const KeptPaths& second) {
              return first.about().created_ns > second.about().created_ns;
            });
  const std::uint64_t since = base.bases_.empty() ? 0 : base.bases_.back().about().created_ns;
  const auto replaced = KeptNames(state, kReplaced);
  if (!replaced) return replaced.error();
  for (const TimedName& name : replaced.value()) {
    if (name.added_ns <= since) continue;
    auto kept = ReadKept(state, kReplaced, name);
    if (!kept) return kept.error();
    if (*kept && (*kept)->about().workspace == workspace) {
      base.replaced_.push_back(std::move(**kept));
    }
  }
  return base;
}

std::optional<MergeBase::Found> MergeBase::Find(const std::string& path) const {
  const auto base = std::find_if(bases_.begin(), bases_.end(), [&path](const KeptPaths& each) {
    return each.about().scope.Has(InTree(path));
  });
  const bool has_base = base != bases_.end();
  if (has_base) {
    if (const auto* entry = base->Find(path)) return Found{&*base, entry, false};
  }
  for (const KeptPaths& each : replaced_) {
    if (has_base && each.about().created_ns <= base->about().created_ns) continue;
    if (const auto* entry = each.Find(path)) return Found{&each, entry, true};
  }
  return std::nullopt;
}

void MergeBase::AddPaths(std::set<std::string>* paths) const {
  for (const auto* all : {&bases_, &replaced_})
    for (const KeptPaths& kept : *all)
      for (const auto& [path, entry] : kept.entries())
        paths->insert(path);
}

}  // namespace native_runner
