#include "workspace/tree/scanned_tree.h"

#include <fcntl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <limits>
#include <utility>

#include "policy/text/path.h"
#include "supervise/os/file.h"

namespace native_runner {
namespace {

constexpr const char* kCall = "open";
constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_NONBLOCK;
constexpr std::uint64_t kBlockBytes = 512;  // of statx(2)'s blocks, whatever the file system's are

FileResult<Descriptor> OpenIn(int root, std::string_view path, int flags = kDirectory,
                              Mounts mounts = Mounts::kStay) {
  return OpenBeneath(root, path, flags, kCall, mounts);
}

// One that is open as O_PATH, as what it is by its descriptor: fchmod(2) takes no such.
bool SetMode(int directory, mode_t mode) {
  return chmod(DescriptorPath(directory).c_str(), mode) == 0;
}

std::optional<mode_t> ModeOf(int place) {
  struct statx status {};
  if (statx(place, "", AT_EMPTY_PATH, STATX_MODE, &status) != 0) return std::nullopt;
  return status.stx_mode & 07777U;
}

// One step down; a directory that is opened for it is added to `opened`.
FileResult<Descriptor> EnterClosed(int parent, std::string_view name,
                                   std::vector<OpenedDirectory>* opened) {
  auto place = OpenIn(parent, name, O_PATH | O_DIRECTORY);
  if (!place) return place;
  const auto mode = ModeOf(place->get());
  if (!mode) return Refused(kCall, errno);
  if ((*mode & S_IRWXU) == S_IRWXU || geteuid() == 0) return OpenIn(place->get(), "");
  auto let_in = OpenedDirectory::Open(std::move(*place), *mode, S_IRWXU);
  if (!let_in) return Refused(kCall, errno);
  opened->push_back(std::move(*let_in));
  return OpenIn(opened->back().place(), "");
}

Error Failed(std::string_view what, const std::string& why) {
  return Error{ErrorCode::kSetup, std::string(what.empty() ? "." : what) + ": " + why, ""};
}

Error Failed(std::string_view what, int number) {
  return Failed(what, std::string(std::strerror(number)));
}

Error Failed(std::string_view what, const FileError& error) {
  if (error.kind == FileError::Kind::kSandbox) return error.sandbox;
  return Failed(what, error.number);
}

bool IsRefused(const FileError& error, int number) {
  return error.kind == FileError::Kind::kSystem && error.number == number;
}

constexpr unsigned kWanted = STATX_BASIC_STATS | STATX_BTIME;

Node AsNode(const struct statx& status) {
  Node node;
  node.mode = status.stx_mode;
  node.uid = status.stx_uid;
  node.gid = status.stx_gid;
  node.size = status.stx_size;
  node.device = makedev(status.stx_dev_major, status.stx_dev_minor);
  node.inode = status.stx_ino;
  node.device_number = makedev(status.stx_rdev_major, status.stx_rdev_minor);
  node.modified_ns = Nanoseconds(status.stx_mtime);
  node.changed_ns = Nanoseconds(status.stx_ctime);
  node.allocated = status.stx_blocks * kBlockBytes;
  node.links = status.stx_nlink;
  if ((status.stx_mask & STATX_BTIME) != 0) node.born_ns = Nanoseconds(status.stx_btime);
  return node;
}

}  // namespace

std::optional<OpenedDirectory> OpenedDirectory::Open(Descriptor place, mode_t mode, mode_t added) {
  if (!SetMode(place.get(), mode | added)) return std::nullopt;
  const mode_t opened = ModeOf(place.get()).value_or(mode | added);
  return OpenedDirectory(std::move(place), mode, opened);
}

OpenedDirectory::~OpenedDirectory() {
  // A command that runs may have given it a mode of its own meanwhile.
  if (place_.valid() && ModeOf(place_.get()) == opened_) SetMode(place_.get(), mode_);
}

Result<std::vector<NamedType>> ScannedDirectory::Entries() const {
  const auto copy = OpenIn(directory_.get(), "");  // which has a position of its own
  if (!copy) return Failed("a directory can't be read", copy.error());
  std::vector<NamedType> entries;
  const auto read = ReadNames(copy.value().get(), std::numeric_limits<std::size_t>::max(), entries);
  if (!read) return Failed("a directory can't be read", read.error());
  std::sort(entries.begin(), entries.end(),
            [](const NamedType& one, const NamedType& other) { return one.name < other.name; });
  return entries;
}

Result<std::vector<std::string>> ScannedDirectory::Names() const {
  auto entries = Entries();
  if (!entries) return entries.error();
  std::vector<std::string> names;
  names.reserve(entries->size());
  for (NamedType& entry : *entries)
    names.push_back(std::move(entry.name));
  return names;
}

Result<Node> NodeOf(int descriptor) {
  struct statx status {};
  if (statx(descriptor, "", AT_EMPTY_PATH, kWanted, &status) != 0) return Failed("statx", errno);
  return AsNode(status);
}

Result<std::optional<Node>> ScannedDirectory::Look(const std::string& name) const {
  struct statx status {};
  const int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | (name.empty() ? AT_EMPTY_PATH : 0);
  if (statx(directory_.get(), name.c_str(), flags, kWanted, &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return std::optional<Node>();
    return Failed(name, errno);
  }
  return std::optional(AsNode(status));
}

Result<std::string> ScannedDirectory::Target(const std::string& link) const {
  TRY_ASSIGN(auto target, TargetIfThere(link));
  if (!target) return Failed(link, ENOENT);
  return std::move(*target);
}

Result<std::optional<std::string>> ScannedDirectory::TargetIfThere(const std::string& link) const {
  std::array<char, PATH_MAX> target{};
  const ssize_t size = readlinkat(directory_.get(), link.c_str(), target.data(), target.size());
  if (size >= 0) return std::optional(std::string(target.data(), static_cast<std::size_t>(size)));
  if (errno == ENOENT || errno == EINVAL) return std::optional<std::string>();
  return Failed(link, errno);
}

Result<Descriptor> ScannedDirectory::OpenFile(const std::string& name) const {
  auto opened = OpenIn(directory_.get(), name, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!opened) return Failed(name, opened.error());
  return std::move(*opened);
}

FileResult<ScannedDirectory> ScannedTree::TryOpen(std::string_view path, int access) const {
  auto opened = OpenIn(root_.get(), path, kDirectory, mounts_);
  // One may be listed and its entries not looked at.
  const bool is_closed = opened ? faccessat(opened->get(), ".", access, AT_EACCESS) != 0
                                : IsRefused(opened.error(), EACCES);
  if (is_closed && opens_closed_) return OpenClosed(path);
  if (!opened) return opened.error();
  return ScannedDirectory(std::move(*opened));
}

bool ScannedTree::KeepsOut(std::string_view path) const {
  if (opens_closed_ || geteuid() == 0) return false;  // no mode keeps root out
  const auto place = OpenIn(root_.get(), path, O_PATH | O_DIRECTORY, mounts_);
  if (!place) return IsRefused(place.error(), EACCES);
  return faccessat(place.value().get(), ".", R_OK | X_OK, AT_EACCESS) != 0 && errno == EACCES;
}

Result<ScannedTree> ScannedTree::WhereOpen() const {
  auto root = DuplicateOf(root_.get());
  if (!root) return root.error();
  return ScannedTree(std::move(*root), false, mounts_);
}

// Each on the way may be one that keeps its owner out.
FileResult<ScannedDirectory> ScannedTree::OpenClosed(std::string_view path) const {
  std::vector<OpenedDirectory> opened;
  auto at = EnterClosed(root_.get(), "", &opened);
  for (const std::string_view name : PathComponents(path)) {
    if (!at) break;
    at = EnterClosed(at->get(), name, &opened);
  }
  if (!at) return at.error();
  return ScannedDirectory(std::move(*at), std::move(opened));
}

Result<ScannedDirectory> ScannedTree::Open(std::string_view path) const {
  auto opened = TryOpen(path, X_OK);
  if (!opened) return Failed(path, opened.error());
  return std::move(*opened);
}

Result<ScannedDirectory> ScannedTree::OpenToChange(std::string_view path) const {
  auto opened = TryOpen(path, X_OK | W_OK);
  if (!opened) return Failed(path, opened.error());
  return std::move(*opened);
}

Result<std::optional<ScannedDirectory>> ScannedTree::OpenIfThere(std::string_view path) const {
  auto opened = TryOpen(path, X_OK);
  if (opened) return std::optional<ScannedDirectory>(std::move(*opened));
  constexpr std::array kNone = {ENOENT, ENOTDIR, ELOOP, EXDEV};
  const auto refused = [&opened](int number) { return IsRefused(opened.error(), number); };
  if (std::any_of(kNone.begin(), kNone.end(), refused)) return std::optional<ScannedDirectory>();
  return Failed(path, opened.error());
}

ParentAndName SplitPath(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return {"", path};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

std::optional<Error> SpotView::Open(std::string_view parent) {
  parent_.reset();
  directory_.reset();  // what was opened for it is shut before
  TRY_ASSIGN(auto opened, tree_.OpenIfThere(parent));
  if (opened) directory_ = std::make_shared<const ScannedDirectory>(std::move(*opened));
  parent_ = parent;
  return std::nullopt;
}

Result<Spot> SpotView::At(std::string_view path) {
  const auto [parent, last] = SplitPath(InTree(path));
  const std::string name(last);
  if (parent_ == parent && directory_) {
    TRY_ASSIGN(auto node, directory_->Look(name));
    if (node) return Spot{directory_, std::move(node)};
  }
  TRY(Open(parent));
  if (!directory_) return Spot{};
  TRY_ASSIGN(auto node, directory_->Look(name));
  return Spot{directory_, std::move(node)};
}

Result<Spot> SpotOf(const ScannedTree& tree, std::string_view path) {
  return SpotView(tree).At(path);
}

}  // namespace native_runner
