#pragma once

// Makes calls that are refused or fail, for a launcher that is to tell of them.
int AskRefused(const char* what);
