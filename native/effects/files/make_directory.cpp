#include "effects/files/make_directory.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <string>

namespace native_runner {
namespace {

constexpr const char* kCall = "mkdir";

FileResult<Descriptor> Step(int directory, const std::string& name, mode_t mode, bool is_last) {
  const bool made = mkdirat(directory, name.c_str(), mode) == 0;
  const int number = errno;
  auto entered = OpenBeneath(directory, name, O_PATH | O_DIRECTORY, kCall);
  if (entered || entered.error().kind != FileError::Kind::kSystem) return entered;
  const int why = entered.error().number;
  if (why == ENOENT && !made) return Refused(kCall, number);
  // The name is taken, as mkdir(2) says it.
  return why == ENOTDIR && is_last ? Refused(kCall, EEXIST) : entered.error();
}

}  // namespace

FileResult<Done> MakeDirectory(const Beneath& root, std::string_view relative, MakeRule rule) {
  if (!rule.recursive) {
    if (relative.empty()) return Refused(kCall, EEXIST);
    const auto place = root.PlaceOf(relative, kCall);
    if (!place) return place.error();
    const Place& at = place.value();
    if (mkdirat(at.directory.get(), at.name.c_str(), rule.mode) != 0) return Refused(kCall, errno);
    return Done{};
  }
  Descriptor reached;
  int directory = root.directory();
  while (!relative.empty()) {
    const std::size_t end = std::min(relative.find('/'), relative.size());
    const bool is_last = end == relative.size();
    auto entered = Step(directory, std::string(relative.substr(0, end)), rule.mode, is_last);
    if (!entered) return entered.error();
    reached = std::move(*entered);
    directory = reached.get();
    relative.remove_prefix(std::min(end + 1, relative.size()));
  }
  return Done{};
}

}  // namespace native_runner
