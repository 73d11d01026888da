#pragma once

// The probe's attempts on other processes and on sockets that are not its own. Each prints its
// findings and returns the exit code.

// Prints "DOMAIN:TYPE " for each that socketpair(2) makes, with and without flags.
int ListPairs();

// Makes a pair of TYPE (a number) and tries in every way to reach the socket at `path` from it.
int SendElsewhere(int type, const char* path);

// Sets a limit or a priority, of the parent ("other"), of all in our process group ("group") or of
// ourselves ("self"). Prints the errno, 0 for success.
int SetOf(const char* what, const char* whose);
