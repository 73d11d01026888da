#pragma once

// What the probe tries on other processes and on other sockets than its own; each prints what it
// found and returns the exit code.

// Prints "DOMAIN:TYPE " for each that socketpair(2) makes, with and without flags.
int ListPairs();

// Makes a pair of TYPE (a number) and tries in every way to reach the socket at `path` from it.
int SendElsewhere(int type, const char* path);

// Sets a limit or a priority, of the parent ("other"), of all in our process group ("group") or of
// ourselves ("self"). Prints the errno, 0 for success.
int SetOf(const char* what, const char* whose);
