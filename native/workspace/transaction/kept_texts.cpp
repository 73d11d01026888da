#include "workspace/transaction/kept_texts.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include "workspace/transaction/transaction_directory.h"
#include "workspace/tree/helper_thread.h"
#include "workspace/tree/staged_file.h"

namespace native_runner {
namespace {

constexpr const char* kTexts = "texts";
constexpr const char* kReplacedTexts = "replaced-texts";
constexpr const char* kNewTexts = "new-";
constexpr const char* kTextList = "list";
constexpr const char* kTextData = "data";
constexpr std::string_view kTextsVersion = "1";
constexpr std::size_t kLookedAt = 8'000;                       // bytes, as git does
constexpr std::size_t kWrittenAtOnce = std::size_t{1} << 20U;  // bytes

// What one list has.
struct KeptText {
  TextOnHost text;
  std::uint64_t offset = 0;
};

// Where those for the copies of a workspace are, in the state directory. What two workspaces have
// in one place by an accident of numbers is still told apart by the files themselves.
std::string PlaceFor(const std::string& workspace) {
  return std::string(kReplacedTexts) + "/" + std::to_string(ChecksumOf(workspace));
}

// Those in a place of a directory, the oldest first, and those that were being written; empty where
// none are kept, or they can't be read.
std::vector<std::string> TextNames(int directory, const std::string& place) {
  auto all = OpenOwn(directory, place);
  if (!all) return {};
  auto names = ScannedDirectory(std::move(*all)).Names();
  return names ? std::move(*names) : std::vector<std::string>();
}

// When it was kept.
std::uint64_t TimeOf(const std::string& name) {
  const std::size_t begin = name.starts_with(kNewTexts) ? std::string_view(kNewTexts).size() : 0;
  const auto timed = TimedNameOf(name.substr(begin));
  return timed ? timed->added_ns : 0;
}

// Empty where it is not whole.
std::vector<KeptText> ReadTextList(int texts, const FileSystemList& now) {
  const auto text = ReadWholeFile(texts, kTextList);
  if (!text || !text.value()) return {};
  std::string_view whole = *text.value();
  const auto then = TakeFileSystems(&whole);
  if (!then) return {};
  const Renumbering renumbering(then.value(), now);
  std::string_view rest = whole;
  std::string version;
  std::uint64_t count = 0;
  if (!TakeField(&rest, &version) || version != kTextsVersion || !TakeNumber(&rest, &count)) {
    return {};
  }
  std::vector<KeptText> kept;
  for (std::uint64_t left = count; left > 0; --left) {
    KeptText each;
    if (!TakeField(&rest, &each.text.path) || !TakeHostFile(&rest, &each.text.file) ||
        !TakeNumber(&rest, &each.offset)) {
      return {};
    }
    renumbering.Apply(&each.text.file);
    kept.push_back(std::move(each));
  }
  if (!TakeEnd(whole, &rest, true)) return {};
  return kept;
}

std::uint64_t BytesOf(int directory, const std::string& texts) {
  struct stat status {};
  const std::string data = texts + "/" + kTextData;
  if (fstatat(directory, data.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return 0;
  return static_cast<std::uint64_t>(status.st_size);
}

std::uint64_t BytesOf(int directory, const std::string& place,
                      const std::vector<std::string>& names) {
  std::uint64_t bytes = 0;
  for (const std::string& name : names)
    bytes += BytesOf(directory, place + "/" + name);
  return bytes;
}

// nullopt: it is not that file any more, or no text.
std::optional<std::string> TextOf(const ScannedDirectory& directory, const std::string& name,
                                  const HostFile& file) {
  const auto is_it = [&file](int opened) {
    const auto node = NodeOf(opened);
    return node && static_cast<const HostFile&>(node.value()) == file;
  };
  const auto opened = directory.OpenFile(name);
  if (!opened || !is_it(opened.value().get())) return std::nullopt;
  const int at = opened.value().get();
  const auto beginning = ReadBytes(at, 0, std::min<std::uint64_t>(file.size, kLookedAt));
  if (!beginning || !IsText(*beginning)) return std::nullopt;
  auto bytes = file.size <= kLookedAt ? beginning : ReadBytes(at, 0, file.size);
  return bytes && is_it(at) ? std::move(bytes) : std::nullopt;
}

// Writes the data, and returns the text of the list; "": there was nothing to be kept.
Result<std::string> WriteTexts(int into, const ScannedTree& host,
                               const std::vector<TextOnHost>& texts, std::uint64_t most) {
  const Descriptor data(
      openat(into, kTextData, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!data.valid()) return SystemError("openat", errno);
  std::string entries;
  std::string waiting;
  std::uint64_t count = 0;
  std::uint64_t offset = 0;
  SpotView host_at(host);
  for (const TextOnHost& text : texts) {
    if (IsStopped()) return Error{ErrorCode::kClosed, "the transaction was closed", ""};
    if (text.file.size > kMostText || offset + text.file.size > most) continue;
    const auto at = host_at.At(text.path);
    const std::string name(SplitPath(text.path).name);
    const bool is_there = at && at.value().node;
    const auto bytes = is_there ? TextOf(*at.value().directory, name, text.file) : std::nullopt;
    if (!bytes) continue;
    waiting += *bytes;
    if (waiting.size() >= kWrittenAtOnce) {
      if (!WriteBytes(data.get(), waiting)) return SystemError("write", errno);
      waiting.clear();
    }
    PutField(&entries, text.path);
    PutHostFile(&entries, text.file);
    PutNumber(&entries, offset);
    offset += bytes->size();
    ++count;
  }
  if (!WriteBytes(data.get(), waiting)) return SystemError("write", errno);
  if (count == 0) return std::string();
  std::string list;
  PutField(&list, kTextsVersion);
  PutNumber(&list, count);
  list += entries;
  PutEnd(&list);
  return list;
}

// Adds them to a place of a directory, `most` bytes at most.
std::optional<Error> AddTexts(int directory, const std::string& place, const ScannedTree& host,
                              const std::vector<TextOnHost>& texts, std::uint64_t most,
                              const FileSystemList& file_systems) {
  const auto id = NewId();
  if (!id) return id.error();
  const std::string name = TextOf(TimedName{NowNs(), id.value()});
  const auto all = OpenOrMakeOwn(directory, place);
  if (!all) return all.error();
  const std::string staged = kNewTexts + name;
  const auto made = MakeOwn(all.value().get(), staged);
  if (!made) return made.error();
  const auto list = WriteTexts(made.value().get(), host, texts, most);
  std::optional<Error> error;
  if (!list) error = list.error();
  const bool is_any = list && !list.value().empty();
  if (is_any) {
    const std::string whole = WithFileSystems(file_systems, list.value());
    error = ReplaceFile(made.value().get(), kTextList, whole, false);
    if (!error) error = RenameOwn(all.value().get(), staged, name);
  }
  if (error || !is_any) static_cast<void>(RemoveOwn(all.value().get(), staged));
  return error;
}

}  // namespace

bool IsText(const std::string& bytes) {
  return std::string_view(bytes).substr(0, kLookedAt).find('\0') == std::string_view::npos;
}

bool WriteBytes(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = write(file, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

std::optional<std::string> ReadBytes(int file, std::uint64_t offset, std::uint64_t size) {
  std::string bytes(size, '\0');
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got =
        pread(file, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    done += static_cast<std::size_t>(got);
  }
  return bytes;
}

std::optional<Error> KeepTexts(int directory, const ScannedTree& host,
                               const std::vector<TextOnHost>& texts,
                               const FileSystemList& file_systems) {
  if (texts.empty()) return std::nullopt;
  const auto names = TextNames(directory, kTexts);
  const std::uint64_t kept = BytesOf(directory, kTexts, names);
  if (kept >= kMostKeptTexts || names.size() >= kMostTimesKept) return std::nullopt;
  return AddTexts(directory, kTexts, host, texts, kMostKeptTexts - kept, file_systems);
}

std::optional<Error> KeepReplacedTexts(int state, const std::string& workspace,
                                       const ScannedTree& host,
                                       const std::vector<TextOnHost>& texts,
                                       const FileSystemList& file_systems) {
  if (texts.empty()) return std::nullopt;
  const std::string place = PlaceFor(workspace);
  const auto names = TextNames(state, place);
  std::uint64_t bytes = BytesOf(state, place, names);
  for (const TextOnHost& text : texts)
    bytes += text.file.size <= kMostText ? text.file.size : 0;
  std::size_t count = names.size();
  for (const std::string& oldest : names) {
    if (bytes <= kMostKeptTexts && count < kMostTimesKept) break;
    bytes -= BytesOf(state, place + "/" + oldest);
    --count;
    if (auto error = RemoveOwn(state, place + "/" + oldest)) return error;
  }
  const auto all = OpenOrMakeOwn(state, kReplacedTexts);
  if (!all) return all.error();
  return AddTexts(state, place, host, texts, kMostKeptTexts, file_systems);
}

void TidyReplacedTexts(int state, const std::string& workspace,
                       std::optional<std::uint64_t> oldest_ns) {
  const std::string place = PlaceFor(workspace);
  const auto names = TextNames(state, place);
  for (const std::string& name : names) {
    const bool is_needed = name.starts_with(kNewTexts) ? TimeOf(name) + kAbandonedNs > NowNs()
                                                       : oldest_ns && TimeOf(name) >= *oldest_ns;
    if (!is_needed) static_cast<void>(RemoveOwn(state, place + "/" + name));
  }
  // These stay while something is in them.
  if (oldest_ns) return;
  for (const std::string& empty : {place, std::string(kReplacedTexts)})
    static_cast<void>(unlinkat(state, empty.c_str(), AT_REMOVEDIR));
}

KeptTexts::KeptTexts(Descriptor directory, const FileSystemList& file_systems)
    : KeptTexts(std::move(directory), kTexts, file_systems) {}

KeptTexts KeptTexts::OfCopies(Descriptor state, const std::string& workspace,
                              const FileSystemList& file_systems) {
  return {std::move(state), PlaceFor(workspace), file_systems};
}

KeptTexts::KeptTexts(Descriptor directory, const std::string& place,
                     const FileSystemList& file_systems)
    : directory_(std::move(directory)) {
  for (const std::string& name : TextNames(directory_.get(), place)) {
    if (name.starts_with(kNewTexts)) continue;
    const std::string at = place + "/" + name;
    const auto texts = OpenOwn(directory_.get(), at);
    if (!texts) continue;
    for (KeptText& each : ReadTextList(texts.value().get(), file_systems)) {
      places_.emplace(std::move(each.text.path), Place{each.text.file, at, each.offset});
    }
  }
}

std::optional<std::string> KeptTexts::Find(const std::string& path, const HostFile& file) const {
  const auto [first, last] = places_.equal_range(path);
  for (auto at = first; at != last; ++at) {
    const Place& place = at->second;
    if (place.file != file) continue;
    const std::string name = place.name + "/" + kTextData;
    const Descriptor data(
        openat(directory_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!data.valid()) continue;
    if (auto bytes = ReadBytes(data.get(), place.offset, file.size)) return bytes;
  }
  return std::nullopt;
}

void TidyTexts(int directory, const Ledger& ledger, const FileSystemList& file_systems) {
  const auto is_needed = [&ledger](const KeptText& each) {
    const auto known = ledger.baselines.find(each.text.path);
    return known != ledger.baselines.end() && known->second.host == each.text.file;
  };
  for (const std::string& name : TextNames(directory, kTexts)) {
    const std::string at = std::string(kTexts) + "/" + name;
    if (!name.starts_with(kNewTexts)) {
      const auto texts = OpenOwn(directory, at);
      if (!texts) continue;
      const auto kept = ReadTextList(texts.value().get(), file_systems);
      if (std::any_of(kept.begin(), kept.end(), is_needed)) continue;
    }
    static_cast<void>(RemoveOwn(directory, at));
  }
}

}  // namespace native_runner
