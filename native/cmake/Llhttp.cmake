# llhttp, Node's parser of HTTP/1, from third_party/. Built as it comes, without our warnings. Hidden, so
# that neither the addon's llhttp replaces Node's nor Node's replaces the addon's. It reads what a hostile
# command sends: it is built with the sanitizers, and for libFuzzer with what guides that.
set(LLHTTP_ROOT "${CMAKE_SOURCE_DIR}/third_party/llhttp")

add_library(own_llhttp STATIC
  "${LLHTTP_ROOT}/src/api.c" "${LLHTTP_ROOT}/src/http.c" "${LLHTTP_ROOT}/src/llhttp.c")
target_include_directories(own_llhttp SYSTEM PUBLIC "${LLHTTP_ROOT}/include")
target_compile_options(own_llhttp PRIVATE -w -fvisibility=hidden -ffunction-sections -fdata-sections)
if(NATIVE_RUNNER_SANITIZE)
  target_compile_options(own_llhttp PRIVATE
    -fsanitize=${NATIVE_RUNNER_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
endif()
if(NATIVE_RUNNER_FUZZ)
  target_compile_options(own_llhttp PRIVATE -fsanitize=fuzzer-no-link)
endif()
set_target_properties(own_llhttp PROPERTIES EXPORT_COMPILE_COMMANDS OFF)
