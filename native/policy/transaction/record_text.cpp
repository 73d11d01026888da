#include "policy/transaction/record_text.h"

#include "protocol/decimal.h"

namespace native_runner {

void PutLine(std::string* text, std::string_view name, std::string_view value) {
  *text += name;
  *text += '=';
  *text += value;
  *text += '\0';
}

bool TakeLine(std::string_view* rest, std::string_view name, std::string* value) {
  const std::size_t end = rest->find('\0');
  if (end == std::string_view::npos || rest->substr(0, name.size()) != name ||
      rest->size() <= name.size() || (*rest)[name.size()] != '=' || end <= name.size()) {
    return false;
  }
  *value = rest->substr(name.size() + 1, end - name.size() - 1);
  rest->remove_prefix(end + 1);
  return true;
}

bool TakeLine(std::string_view* rest, std::string_view name, std::uint64_t* number) {
  std::string text;
  if (!TakeLine(rest, name, &text)) return false;
  const char* at = text.c_str();
  return TakeDecimal(&at, number) && *at == '\0';
}

}  // namespace native_runner
