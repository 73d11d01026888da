# A room is one folder of native/. Its headers are reached as "room/file.h" through a directory that
# holds a link to this room alone, so that a target sees only the rooms it is linked with: an
# include against the arrows of docs/architecture.md does not compile.
function(native_runner_room name)
  set(root "${CMAKE_BINARY_DIR}/rooms/${name}")
  file(MAKE_DIRECTORY "${root}")
  file(CREATE_LINK "${CMAKE_SOURCE_DIR}/native/${name}" "${root}/${name}" SYMBOLIC)
  set(NATIVE_RUNNER_ROOM_${name} "${root}" PARENT_SCOPE)
endfunction()

function(native_runner_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wconversion -Wshadow)
  if(NATIVE_RUNNER_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()

# Warnings, no exceptions, and the sanitizers that were asked for.
function(native_runner_options target)
  native_runner_warnings(${target})
  target_compile_options(${target} PRIVATE -fno-exceptions)
  if(NATIVE_RUNNER_SANITIZE)
    target_compile_options(${target} PRIVATE
      -fsanitize=${NATIVE_RUNNER_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
    target_link_options(${target} PRIVATE -fsanitize=${NATIVE_RUNNER_SANITIZE})
  endif()
endfunction()

# For what is linked into the launcher, which has no C library to call.
set(NATIVE_RUNNER_FREESTANDING
  -O2 -fno-exceptions -fno-rtti -fno-builtin -fno-pie -fno-stack-protector -U_FORTIFY_SOURCE
  -fno-asynchronous-unwind-tables -ffunction-sections -fdata-sections)
