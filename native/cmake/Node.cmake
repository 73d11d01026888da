# The running Node tells where its headers are: no download. Of those, the addon sees Node-API's
# alone, whose functions other hosts have as well (docs/platforms/bun-deno.md): neither V8's nor
# libuv's.
find_program(NODE_PROGRAM node REQUIRED)
execute_process(
  COMMAND "${NODE_PROGRAM}" -p "require('node:path').resolve(process.execPath, '../../include/node')"
  OUTPUT_VARIABLE NODE_INCLUDE_DIR OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
if(NOT EXISTS "${NODE_INCLUDE_DIR}/node_api.h")
  message(FATAL_ERROR
    "Node's headers are not beside the running node (${NODE_INCLUDE_DIR}). "
    "Install the Node that nodejs.org ships, or your distribution's node headers package "
    "(libnode-dev, nodejs-devel, nodejs-dev).")
endif()

set(NODE_API_INCLUDE_DIR "${CMAKE_BINARY_DIR}/node_api")
file(MAKE_DIRECTORY "${NODE_API_INCLUDE_DIR}")
foreach(header js_native_api.h js_native_api_types.h node_api.h node_api_types.h)
  file(CREATE_LINK "${NODE_INCLUDE_DIR}/${header}" "${NODE_API_INCLUDE_DIR}/${header}" SYMBOLIC)
endforeach()

set(NODE_ADDON_API_DIR "${CMAKE_SOURCE_DIR}/node_modules/node-addon-api")
if(NOT EXISTS "${NODE_ADDON_API_DIR}/napi.h")
  message(FATAL_ERROR "node-addon-api is not installed: run `npm ci` first")
endif()
