# The running Node tells where its headers are: no download, and always those of the Node that will
# load the addon. Node carries its own libuv, whose symbols the executable exports.
find_program(NODE_PROGRAM node REQUIRED)
execute_process(
  COMMAND "${NODE_PROGRAM}" -p "require('node:path').resolve(process.execPath, '../../include/node')"
  OUTPUT_VARIABLE NODE_INCLUDE_DIR OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
if(NOT EXISTS "${NODE_INCLUDE_DIR}/node_api.h" OR NOT EXISTS "${NODE_INCLUDE_DIR}/uv.h")
  message(FATAL_ERROR
    "Node's headers are not beside the running node (${NODE_INCLUDE_DIR}). "
    "Install the Node that nodejs.org ships, or your distribution's node headers package "
    "(libnode-dev, nodejs-devel, nodejs-dev).")
endif()

set(NODE_ADDON_API_DIR "${CMAKE_SOURCE_DIR}/node_modules/node-addon-api")
if(NOT EXISTS "${NODE_ADDON_API_DIR}/napi.h")
  message(FATAL_ERROR "node-addon-api is not installed: run `npm ci` first")
endif()
