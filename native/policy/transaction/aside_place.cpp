#include "policy/transaction/aside_place.h"

#include <utility>

#include "policy/transaction/host_file_text.h"

namespace native_runner {
namespace {

constexpr std::string_view kPlaceVersion = "aside 1";
constexpr std::string_view kPrefix = ".native-runner-aside-";
constexpr std::size_t kPlaceDigits = 16;

}  // namespace

std::string AsideName(std::string_view digits) {
  return std::string(kPrefix) += digits;
}

bool IsAsidePath(std::string_view path) {
  const std::string_view name = path.substr(0, path.find('/'));
  return name.starts_with(kPrefix) && name.size() == kPrefix.size() + kPlaceDigits &&
         name.find_first_not_of("0123456789abcdef", kPrefix.size()) == std::string_view::npos;
}

std::string EncodeAsidePlace(const AsidePlace& place) {
  std::string text;
  PutField(&text, kPlaceVersion);
  PutField(&text, place.path);
  PutNumber(&text, place.identity.device);
  PutNumber(&text, place.identity.inode);
  return text;
}

Result<AsidePlace> DecodeAsidePlace(std::string_view text) {
  AsidePlace place;
  std::string version;
  const bool is_whole = TakeField(&text, &version) && version == kPlaceVersion &&
                        TakeField(&text, &place.path) && place.path.starts_with('/') &&
                        TakeNumber(&text, &place.identity.device) &&
                        TakeNumber(&text, &place.identity.inode) && text.empty();
  if (is_whole) return place;
  return Error{ErrorCode::kSetup, "the transaction does not say where its commit's files are",
               "look for a directory .native-runner-aside-… beside the workspace, or in it"};
}

}  // namespace native_runner
