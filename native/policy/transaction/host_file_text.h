#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "policy/transaction/host_file.h"

namespace native_runner {

// How the files of a transaction's directory are written: fields that each end with a NUL, since a
// path may hold anything else. Numbers are decimal.
void PutField(std::string* text, std::string_view value);
void PutNumber(std::string* text, std::uint64_t number);
void PutHostFile(std::string* text, const HostFile& file);

// Take the next field from `rest`. False where there is none, or where it is not of that kind.
bool TakeField(std::string_view* rest, std::string* value);
bool TakeNumber(std::string_view* rest, std::uint64_t* number);
bool TakeHostFile(std::string_view* rest, HostFile* file);

}  // namespace native_runner
