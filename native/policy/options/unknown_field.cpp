#include "policy/options/unknown_field.h"

#include <string>

#include "policy/text/nearest_name.h"
#include "policy/text/quote.h"

namespace native_runner {

Error UnknownField(std::string_view name, std::string_view place,
                   std::span<const std::string_view> known) {
  const std::string quoted = QuotedShort(name);
  std::string message = "Unknown field " + quoted + " in `" + std::string(place) + "`";
  const std::string_view nearest = NearestName(name, known);
  if (!nearest.empty()) {
    message += "; did you mean `" + std::string(nearest) + "`?";
    return {ErrorCode::kInvalidValue, std::move(message), ""};
  }
  std::string_view before = "; there are ";
  for (const std::string_view each : known) {
    if (each.find('.') != std::string_view::npos) continue;
    message += std::string(before) + "`" + std::string(each) + "`";
    before = ", ";
  }
  return {ErrorCode::kInvalidValue, std::move(message), ""};
}

}  // namespace native_runner
