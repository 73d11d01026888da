#include "workspace/transaction/merge_base.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "policy/transaction/host_file.h"
#include "workspace/transaction/checkpoints.h"
#include "workspace/transaction/kept_texts.h"
#include "workspace/transaction/transaction_directory.h"
#include "workspace/tree/staged_file.h"

namespace native_runner {
namespace {

constexpr const char* kBases = "bases";
constexpr const char* kReplaced = "replaced";
constexpr const char* kNewKept = "new-";
constexpr const char* kLeft = "new-left-";
constexpr const char* kLater = "later-";
constexpr const char* kKeptList = "list";
constexpr const char* kKeptData = "data";
constexpr std::string_view kKeptVersion = "3";
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

void Put(std::string* text, const std::vector<std::string>& fields) {
  PutNumber(text, fields.size());
  for (const std::string& field : fields)
    PutField(text, field);
}

bool Take(std::string_view* rest, std::vector<std::string>* fields) {
  std::uint64_t count = 0;
  if (!TakeNumber(rest, &count)) return false;
  for (; count > 0; --count)
    if (!TakeField(rest, &fields->emplace_back())) return false;
  return true;
}

void Put(std::string* text, const KeptPaths::About& about) {
  PutNumber(text, about.created_ns);
  PutField(text, about.workspace);
  Put(text, about.origins);
  Put(text, about.scope.paths());
}

bool Take(std::string_view* rest, KeptPaths::About* about) {
  std::vector<std::string> paths;
  const bool is_whole = TakeNumber(rest, &about->created_ns) &&
                        TakeField(rest, &about->workspace) && Take(rest, &about->origins) &&
                        Take(rest, &paths);
  if (!is_whole || paths.empty()) return is_whole;
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

Result<std::vector<std::string>> FileNames(int directory) {
  auto own = DuplicateOf(directory);
  if (!own) return own.error();
  return ScannedDirectory(std::move(*own)).Names();
}

// Hard links, or copies where the file system has none: those count as shared with nobody.
std::optional<Error> LinkKept(int from, int to) {
  const auto names = FileNames(from);
  if (!names) return names.error();
  for (const std::string& each : names.value()) {
    const char* const name = each.c_str();
    if (linkat(from, name, to, name, 0) == 0) continue;
    if (each.starts_with(kLater)) continue;  // a copy would count nothing
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

Result<KeptPaths::Entry> EntryAt(SpotView& tree, const std::string& path) {
  const auto spot = tree.At(path);
  if (!spot) return spot.error();
  KeptPaths::Entry entry;
  const auto& node = spot.value().node;
  if (!node || node->is_whiteout()) return entry;  // of an upper directory
  entry = {node->mode, node->uid, node->gid, node->size, 0, false, ""};
  if (node->is_link()) {
    const auto target = spot.value().directory->Target(std::string(SplitPath(path).name));
    if (target) entry.target = target.value();
  }
  return entry;
}

// False: it can't be read, or is shorter.
Result<bool> KeepContents(SpotView& tree, const std::string& path, std::uint64_t size, int data,
                          std::uint64_t at) {
  TRY_ASSIGN(const Spot spot, tree.At(path));
  if (!spot.node) return false;
  const auto file = spot.directory->OpenFile(std::string(SplitPath(path).name));
  return file && Append(file.value().get(), data, at, size);
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

bool Contains(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

// What was dropped, until the state of the checkpoint is added.
Result<std::vector<std::string>> LeftIn(int directory) {
  const auto all = OpenOwn(directory, kBases);
  if (!all) return all.error();
  auto names = FileNames(all.value().get());
  if (names)
    std::erase_if(*names, [](const std::string& name) { return !name.starts_with(kLeft); });
  return names;
}

// Gives the state of a checkpoint the lists of what was dropped, by which others have come from it.
std::optional<Error> TakeLeft(int directory, const std::string& staged) {
  const auto to = OpenOwn(directory, staged);
  if (!to) return to.error();
  const auto all = LeftIn(directory);
  if (!all) return all.error();
  for (const std::string& left : all.value()) {
    const auto from = OpenOwn(directory, Inside(kBases, left));
    if (!from) return from.error();
    const auto names = FileNames(from.value().get());
    if (!names) return names.error();
    const auto dropped = TimedNameOf(left.substr(std::string_view(kLeft).size()));
    for (const std::string& name : names.value()) {
      const bool is_list = name == kKeptList;
      if (!dropped || (!is_list && !name.starts_with(kLater))) continue;
      const std::string later = is_list ? kLater + dropped->id : name;
      // Where it can't be linked, the base counts as unshared.
      static_cast<void>(
          linkat(from.value().get(), name.c_str(), to.value().get(), later.c_str(), 0));
    }
    if (auto error = RemoveOwn(directory, Inside(kBases, left))) return error;
  }
  return std::nullopt;
}

// The files by whose names other transactions share a base: its list, and those of later states.
using SharedFile = std::pair<dev_t, ino_t>;

// Counts for each such file of a base the names that it has elsewhere.
Result<std::set<SharedFile>> CountOthers(int base, std::map<SharedFile, nlink_t>* others) {
  const auto names = FileNames(base);
  if (!names) return names.error();
  std::set<SharedFile> files;
  for (const std::string& name : names.value()) {
    struct stat status {};
    if (name != kKeptList && !name.starts_with(kLater)) continue;
    if (fstatat(base, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
      return SystemError("fstatat", errno);
    }
    const SharedFile file{status.st_dev, status.st_ino};
    others->emplace(file, status.st_nlink).first->second -= 1;
    files.insert(file);
  }
  return files;
}

// A transaction's bases, and its checkpoints.
struct Origins {
  struct Base {
    std::string id;
    std::shared_ptr<const KeptPaths> kept;
  };
  std::vector<Base> bases;
  std::set<std::string> checkpoints;

  bool Has(const std::string& id) const {
    return std::any_of(bases.begin(), bases.end(),
                       [&id](const Base& each) { return each.id == id; });
  }

  // Of which paths it has come from a state; none: of no path.
  std::vector<PathFilter> ScopesOf(const std::string& id) const {
    if (checkpoints.contains(id)) return {PathFilter()};
    std::vector<PathFilter> scopes;
    for (const Base& each : bases) {
      const KeptPaths::About& about = each.kept->about();
      if (each.id == id || Contains(about.origins, id)) scopes.push_back(about.scope);
    }
    return scopes;
  }
};

Result<Origins> OriginsOf(int transaction) {
  const auto names = KeptNames(transaction, kBases);
  if (!names) return names.error();
  auto checkpoints = CheckpointIds(transaction);
  if (!checkpoints) return checkpoints.error();
  Origins origins;
  origins.checkpoints = std::move(*checkpoints);
  for (const TimedName& name : names.value()) {
    auto kept = ReadKept(transaction, kBases, name);
    if (!kept) return kept.error();
    if (!*kept) continue;
    origins.bases.push_back({name.id, std::make_shared<const KeptPaths>(std::move(**kept))});
  }
  return origins;
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
  SpotView tree_at(tree);
  for (const auto& [path, known] : entries) {
    Entry entry = known;
    entry.offset = at;
    entry.has_contents = false;
    // A command may have removed or replaced it since it was looked at.
    constexpr int kMostLooks = 5;
    for (int left = kMostLooks; left > 0; --left) {
      const bool has_room = entry.size <= std::min(kMostBytes, about.most_bytes - at);
      if (!entry.is_file() || !has_room) break;
      TRY_ASSIGN(entry.has_contents, KeepContents(tree_at, path, entry.size, data.get(), at));
      if (entry.has_contents) break;
      TRY_ASSIGN(entry, EntryAt(tree_at, path));
      entry.offset = at;
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

bool KeptPaths::IsSame(const Entry& entry, const KeptPaths& other, const Entry& others) const {
  if (entry.mode != others.mode || entry.uid != others.uid || entry.gid != others.gid ||
      entry.target != others.target) {
    return false;
  }
  if (!entry.is_file()) return true;
  return entry.size == others.size && others.has_contents &&
         HasContents(entry, other.data_.get(), others.offset);
}

bool KeptPaths::HasContents(const Entry& entry, int file, std::uint64_t offset) const {
  if (!entry.has_contents) return false;
  std::vector<char> one(kBaseBlock);
  std::vector<char> other(kBaseBlock);
  for (std::uint64_t done = 0; done < entry.size;) {
    const auto most = std::min<std::uint64_t>(kBaseBlock, entry.size - done);
    const ssize_t kept =
        pread(data_.get(), one.data(), most, static_cast<off_t>(entry.offset + done));
    const ssize_t now = pread(file, other.data(), most, static_cast<off_t>(offset + done));
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

Result<std::vector<std::string>> OriginIds(int directory) {
  const auto names = KeptNames(directory, kBases);
  if (!names) return names.error();
  const auto checkpoints = CheckpointIds(directory);
  if (!checkpoints) return checkpoints.error();
  std::set<std::string> ids = checkpoints.value();
  for (const TimedName& name : names.value())
    ids.insert(name.id);
  return std::vector<std::string>(ids.begin(), ids.end());
}

std::optional<Error> StageBase(int directory, const std::string& name,
                               const KeptPaths::About& about, const std::vector<Change>& changes,
                               const ScannedTree& tree, const std::set<std::string>& others) {
  KeptPaths::Entries entries;
  SpotView at(tree);
  for (const std::string& path : others) {
    if (!about.scope.Has(InTree(path))) continue;
    auto entry = EntryAt(at, path);
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

std::optional<Error> AddStagedBase(int directory, const std::string& name, const std::string& id) {
  const auto names = KeptNames(directory, kBases);
  if (!names) return names.error();
  const auto is_it = [&id](const TimedName& each) { return each.id == id; };
  if (std::any_of(names.value().begin(), names.value().end(), is_it)) return std::nullopt;
  return RenameOwn(directory, Inside(kBases, kNewKept + name),
                   Inside(kBases, TextOf({NextTime(names.value()), id})));
}

std::optional<Error> AddStagedBase(int directory, const std::string& name,
                                   const CheckpointRecord& checkpoint) {
  const std::string staged = Inside(kBases, kNewKept + name);
  if (auto error = TakeLeft(directory, staged)) return error;
  return RenameOwn(directory, staged,
                   Inside(kBases, TextOf({checkpoint.created_ns, checkpoint.id})));
}

bool IsBaseStaged(int directory, const std::string& name) {
  const auto staged = OpenOwn(directory, Inside(kBases, kNewKept + name));
  return staged && IsWhole(staged.value().get());
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

Result<bool> DropBasesSince(int directory, const CheckpointRecord& checkpoint) {
  const auto names = KeptNames(directory, kBases);
  if (!names) return names.error();
  if (names.value().empty()) return false;
  for (const TimedName& name : names.value()) {
    if (name.added_ns < checkpoint.created_ns) continue;
    const std::string left = Inside(kBases, kLeft + TextOf(name));
    if (auto error = RemoveOwn(directory, left)) return *error;
    if (auto error = RenameOwn(directory, Inside(kBases, TextOf(name)), left)) return *error;
  }
  const auto all = LeftIn(directory);
  if (!all) return all.error();
  bool had_come = false;
  for (const std::string& left : all.value()) {
    const auto opened = OpenOwn(directory, Inside(kBases, left));
    if (!opened) return opened.error();
    const auto kept = KeptPaths::Read(opened.value().get());
    if (!kept) return kept.error();
    if (kept.value() && Contains(kept.value()->about().origins, checkpoint.id)) {
      had_come = true;
    } else if (auto error = RemoveOwn(directory, Inside(kBases, left))) {
      return *error;
    }
  }
  return had_come;
}

bool HasDroppedBases(int directory) {
  const auto left = LeftIn(directory);
  return left && !left.value().empty();
}

void RestoreDroppedBases(int directory) {
  const auto all = LeftIn(directory);
  if (!all) return;
  for (const std::string& left : all.value()) {
    const std::string name = left.substr(std::string_view(kLeft).size());
    static_cast<void>(RenameOwn(directory, Inside(kBases, left), Inside(kBases, name)));
  }
}

bool TidyBases(int directory) {
  const auto names = KeptNames(directory, kBases);
  if (!names) return true;
  std::map<std::string, std::set<SharedFile>> bases;
  std::map<SharedFile, nlink_t> others;
  for (const TimedName& name : names.value()) {
    const std::string path = Inside(kBases, TextOf(name));
    const auto opened = OpenOwn(directory, path);
    auto files = opened ? CountOthers(opened.value().get(), &others)
                        : Result<std::set<SharedFile>>(opened.error());
    if (!files) return true;
    bases.emplace(path, std::move(*files));
  }
  bool has_some = false;
  for (const auto& [path, files] : bases) {
    const bool is_shared =
        std::any_of(files.begin(), files.end(),
                    [&others](const SharedFile& each) { return others.at(each) > 0; });
    has_some |= is_shared || RemoveOwn(directory, path);
  }
  return has_some;
}

std::optional<Error> KeepReplaced(int state, const std::string& workspace,
                                  const std::vector<std::string>& paths, const ScannedTree& host,
                                  const std::string& undone_by) {
  KeptPaths::Entries entries;
  SpotView at(host);
  for (const std::string& path : paths) {
    auto entry = EntryAt(at, path);
    if (!entry) return entry.error();
    entries.insert_or_assign(path, std::move(*entry));
  }
  const auto id = NewId();
  if (!id) return id.error();
  const auto names = KeptNames(state, kReplaced);
  if (!names) return names.error();
  KeptPaths::About about{NextTime(names.value()), workspace, {}, {}, kMostReplaced};
  if (!undone_by.empty()) about.origins.push_back(undone_by);
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
  const auto ours = OriginsOf(one);
  if (!ours) return ours.error();
  const auto theirs = OriginsOf(other);
  if (!theirs) return theirs.error();
  MergeBase base;
  const auto add = [&base](const Origins::Base& each, const Origins& others) {
    auto scopes = others.ScopesOf(each.id);
    if (!scopes.empty()) base.bases_.push_back({each.id, each.kept, std::move(scopes)});
  };
  for (const Origins::Base& each : ours.value().bases)
    add(each, theirs.value());
  for (const Origins::Base& each : theirs.value().bases)
    if (!ours.value().Has(each.id)) add(each, ours.value());
  std::sort(base.bases_.begin(), base.bases_.end(), [](const Base& first, const Base& second) {
    return first.kept->about().created_ns > second.kept->about().created_ns;
  });
  for (std::size_t at = 0; at < base.bases_.size(); ++at) {
    Base& each = base.bases_[at];
    each.origins.resize(base.bases_.size());
    for (std::size_t earlier = at + 1; earlier < base.bases_.size(); ++earlier)
      each.origins[earlier] = Contains(each.kept->about().origins, base.bases_[earlier].id);
  }
  const std::uint64_t since = base.bases_.empty() ? 0 : base.bases_.back().kept->about().created_ns;
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

bool MergeBase::Base::Has(const std::string& path) const {
  return kept->about().scope.Has(InTree(path)) &&
         std::any_of(scopes.begin(), scopes.end(),
                     [&path](const PathFilter& each) { return each.Has(InTree(path)); });
}

MergeBase::Had MergeBase::HadBy(const Base* base, const std::string& path) const {
  if (base != nullptr) {
    if (const auto* entry = base->kept->Find(path)) return {base->kept.get(), entry, false};
  }
  for (const KeptPaths& each : replaced_) {
    if (base != nullptr && each.about().created_ns <= base->kept->about().created_ns) continue;
    if (const auto* entry = each.Find(path)) return {&each, entry, true};
  }
  return {};
}

// Finds what states had at one path. As git's recursive merge: of several last common states, what
// one has as their own last common state had it counts as unchanged there.
class MergeBase::Finder {
 public:
  Finder(const MergeBase& base, const std::string& path) : base_(base), path_(path) {}

  // One, or several that differ.
  std::vector<Had> Run(const Set& among) {
    const auto known = found_.find(among);
    if (known != found_.end()) return known->second;
    Set earlier(among.size());
    for (std::size_t at = 0; at < among.size(); ++at)
      if (among[at]) Add(base_.bases_[at].origins, &earlier);
    std::vector<Had> all;
    Set come(among.size());  // what those that were looked at have come from
    for (std::size_t at = 0; at < among.size(); ++at) {
      if (!among[at] || earlier[at]) continue;
      const Base& each = base_.bases_[at];
      Join(base_.HadBy(&each, path_), Common(among, come, each.origins), &all);
      Add(each.origins, &come);
    }
    if (all.empty()) all.push_back(base_.HadBy(nullptr, path_));
    found_.emplace(among, all);
    return all;
  }

 private:
  static void Add(const Set& some, Set* to) {
    for (std::size_t at = 0; at < some.size(); ++at)
      if (some[at]) (*to)[at] = true;
  }
  static Set Common(Set among, const Set& one, const Set& other) {
    for (std::size_t at = 0; at < among.size(); ++at)
      among[at] = among[at] && one[at] && other[at];
    return among;
  }
  static bool AreSame(const Had& one, const Had& other) {
    if (one.kept == nullptr || other.kept == nullptr) return one.kept == other.kept;
    return one.kept->IsSame(*one.entry, *other.kept, *other.entry);
  }

  void Join(const Had& had, const Set& common, std::vector<Had>* all) {
    const auto is = [](const Had& one) {
      return [&one](const Had& other) { return AreSame(one, other); };
    };
    const auto same = std::find_if(all->begin(), all->end(), is(had));
    if (same != all->end()) {
      // A state's own entry counts more than what the host had, which may have changed since.
      if (!had.is_hosts) *same = had;
      return;
    }
    if (!all->empty()) {
      const std::vector<Had> before = Run(common);
      if (before.size() == 1 && AreSame(before.front(), had)) return;
      if (before.size() == 1) std::erase_if(*all, is(before.front()));
    }
    all->push_back(had);
  }

  const MergeBase& base_;
  const std::string& path_;
  std::map<Set, std::vector<Had>> found_;
};

std::optional<MergeBase::Found> MergeBase::Find(const std::string& path) const {
  Set all(bases_.size());
  for (std::size_t at = 0; at < bases_.size(); ++at)
    all[at] = bases_[at].Has(path);
  std::vector<Had> had = Finder(*this, path).Run(all);
  const auto first =
      std::find_if(had.begin(), had.end(), [](const Had& each) { return each.kept != nullptr; });
  if (first == had.end()) return std::nullopt;
  Found found{*first, {}};
  had.erase(first);
  found.rivals = std::move(had);
  return found;
}

void MergeBase::AddPaths(std::set<std::string>* paths) const {
  const auto add = [paths](const KeptPaths& kept) {
    for (const auto& [path, entry] : kept.entries())
      paths->insert(path);
  };
  for (const Base& base : bases_)
    add(*base.kept);
  for (const KeptPaths& kept : replaced_)
    add(kept);
}

}  // namespace native_runner
