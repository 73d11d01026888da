#include "effects/files/rename_entry.h"

#include <cerrno>
#include <cstdio>

namespace native_runner {

FileResult<Done> RenameEntry(const Beneath& root, std::string_view from, std::string_view to) {
  constexpr const char* kCall = "rename";
  const auto source = root.PlaceOf(from, kCall);
  if (!source) return source.error();
  const auto target = root.PlaceOf(to, kCall);
  if (!target) return target.error();
  const Place& a = source.value();
  const Place& b = target.value();
  if (renameat(a.directory.get(), a.name.c_str(), b.directory.get(), b.name.c_str()) != 0) {
    return Refused(kCall, errno);
  }
  return Done{};
}

}  // namespace native_runner
