#pragma once

namespace native_runner {

// What an order with kOrderNamespaces has in place of rules: the steps by which a launcher makes
// namespaces, furnishes them, and enters them. They are taken in their order, and the first that
// fails is the end (kRefused). The first character is the step's kind; FILE is DEVICE:INODE:PATH
// (file_identity.h), a directory that is looked up in the namespaces as they are by then and must
// be the one that the host has looked at; NUMBER is a descriptor that the launcher was started
// with.
//
// A launcher takes such an order when it is started with an argument, kNamespacesRole. Without one
// it is the launcher of a command, closes what it was started with, and takes no such order.

// Makes a user namespace in which the user stays who he is, with all capabilities. For who may make
// no other namespace without.
inline constexpr char kStepUserNamespace = 'u';

// Makes a mount namespace. What is mounted in it is its own; what the host mounts or unmounts later
// is seen in it too.
inline constexpr char kStepMountNamespace = 'm';

// FILE: of the overlay to come, the next layer that it only reads, from the uppermost on; where it
// puts changes; and what it needs for that besides, on the same mount. See overlay(5) in
// Documentation/filesystems of Linux.
inline constexpr char kStepLower = 'l';
inline constexpr char kStepUpper = 'c';
inline constexpr char kStepWork = 'w';

// FILE: mounts the overlay of these on it.
inline constexpr char kStepOverlay = 'o';

// NUMBER: enters the namespace that it is, and closes it.
inline constexpr char kStepJoin = 'j';

// NUMBER:PATH: refuses unless the path leads to what the descriptor is.
inline constexpr char kStepShown = 's';

// NUMBER: has the overlay whose root it is forget what nobody uses of what it knows of its layers,
// so that it looks at them again; closes it.
inline constexpr char kStepLookAgain = 'a';

// NUMBER: executes it, with the order's argv and environment, and all that it was started with. The
// last step. Who has none of this kind ends with kExited.
inline constexpr char kStepExecute = 'x';

// Whether a step makes something: the launcher then hands it over with a report of its own, kMade.
constexpr bool MakesSomething(char kind) {
  return kind == kStepUserNamespace || kind == kStepMountNamespace || kind == kStepOverlay;
}

inline constexpr char kNamespacesRole[] = "namespaces";

}  // namespace native_runner
