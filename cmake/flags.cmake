# The flags that every target of the project is built with.
add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion
                    "$<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor;-Wold-style-cast;-Woverloaded-virtual>" -Werror)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # Several conditions are one branch where each call pays for it.
  add_compile_options(-Wno-bitwise-instead-of-logical)
endif()
if(HAMLYN_SANITIZE)
  # UBSan's vptr check asks the kernel through a pipe, and calls an object wrong where descriptors have run out, as they
  # do in a test. Its check for null doubles AddressSanitizer's, for a fourth of the time that a compilation takes.
  add_compile_options(-fsanitize=${HAMLYN_SANITIZE} -fno-sanitize=vptr,null -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${HAMLYN_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # The sanitizers' own instrumentation makes gcc 12 warn about libstdc++'s insides.
    add_compile_options(-Wno-maybe-uninitialized -Wno-stringop-overflow -Wno-array-bounds -Wno-tsan)
  endif()
endif()

# Assertions on the library's own state (base/assert.h) cost nothing in what users run.
if(HAMLYN_SANITIZE OR CMAKE_BUILD_TYPE STREQUAL "Debug")
  add_compile_definitions(HAMLYN_ASSERTIONS)
endif()

# What distributions turn on for programs that read bytes of strangers; for what is installed, not for tests. Sanitizers
# have their own. FORTIFY needs a compiler that optimizes.
function(hamlyn_harden)
  if(HAMLYN_SANITIZE)
    return()
  endif()
  add_compile_options(-fstack-protector-strong -fstack-clash-protection
                      "$<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>")
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
    add_compile_options(-fcf-protection)
  endif()
  add_link_options(LINKER:-z,relro LINKER:-z,now $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-pie>)
endfunction()

# What every message goes through has no stack protector: it would cost each of them instructions, and arrays there are of
# a packet's fixed size. hamlyn_fast_way(target) for all of a layer, hamlyn_fast_way(FILES file...) for some.
function(hamlyn_fast_way first)
  if(HAMLYN_SANITIZE)
    return()
  endif()
  if(first STREQUAL "FILES")
    set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS -fno-stack-protector)
    # gcc takes no precompiled header that was compiled with other options.
    set_property(SOURCE ${ARGN} PROPERTY SKIP_PRECOMPILE_HEADERS ON)
  else()
    target_compile_options(${first} PRIVATE -fno-stack-protector)
  endif()
endfunction()

# A layer is a link target of one folder's sources: hamlyn_layer(name SOURCES ... NEEDS ...).
function(hamlyn_layer name)
  cmake_parse_arguments(LAYER "" "" "SOURCES;NEEDS;NEEDS_PRIVATE" ${ARGN})
  add_library(hamlyn_${name} STATIC ${LAYER_SOURCES})
  target_include_directories(hamlyn_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                             $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src> $<INSTALL_INTERFACE:include>)
  target_link_libraries(hamlyn_${name} PUBLIC ${LAYER_NEEDS} PRIVATE ${LAYER_NEEDS_PRIVATE})
  set_target_properties(hamlyn_${name} PROPERTIES EXPORT_NAME ${name})
  # Several files are compiled as one where nothing is measured: most of the time goes into what they all include.
  set(together node node_server noded perf segment_clerk segment_names simulation_host tool
      tool_transfer)
  if(HAMLYN_SANITIZE)
    list(APPEND together base c fabric_shm fabric_sim interface library protocols segment)
  endif()
  if(name IN_LIST together)
    set_target_properties(hamlyn_${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()
  hamlyn_standard_headers(${name})
endfunction()

# A layer, whole and with what it stands on, as a shared library that shows what the map names and nothing else:
# hamlyn_shared_library(target LAYER target OUTPUT name EXPORT name MAP file ABI number). Not of sanitized code: that cannot
# be linked whole without the program.
function(hamlyn_shared_library name)
  cmake_parse_arguments(SHARED "" "LAYER;OUTPUT;EXPORT;MAP;ABI" "" ${ARGN})
  set(map ${CMAKE_CURRENT_SOURCE_DIR}/${SHARED_MAP})
  # It links archives, which were compiled for that already: CMAKE_POSITION_INDEPENDENT_CODE is on.
  file(CONFIGURE OUTPUT nothing.cc CONTENT "// A library needs a source: all of it comes from the archives.\n")
  add_library(${name} SHARED ${CMAKE_CURRENT_BINARY_DIR}/nothing.cc)
  target_link_libraries(${name} PRIVATE "$<LINK_LIBRARY:WHOLE_ARCHIVE,${SHARED_LAYER}>")
  target_include_directories(${name} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
  # Never unloaded: its threads would go on in what is not mapped any more.
  target_link_options(${name} PRIVATE -Wl,--version-script=${map} -Wl,--no-undefined -Wl,-z,nodelete)
  set_target_properties(${name} PROPERTIES OUTPUT_NAME ${SHARED_OUTPUT} EXPORT_NAME ${SHARED_EXPORT} SOVERSION ${SHARED_ABI}
                        VERSION ${SHARED_ABI}.${PROJECT_VERSION} LINK_DEPENDS ${map})
  add_library(hamlyn::${SHARED_EXPORT} ALIAS ${name})
endfunction()

# What most files of a layer include is compiled once: for most layers the standard headers, half a second of the one or two
# that a file takes. Files of the library, and of the layers above it, take two thirds as long with what those all include.
# Two kinds precompile headers of their own: those that are compiled with options of their own, and the tool's.
function(hamlyn_standard_headers name)
  if(name MATCHES "^(perf|tool|tool_transfer)$")
    return()
  endif()
  target_compile_options(hamlyn_${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
  set(headers algorithm array atomic cerrno chrono cstddef cstdint cstring functional map memory mutex optional span
      stdexcept string string_view thread utility vector unistd.h)
  set(library library/engine.h)
  set(protocols hamlyn/core/terminus.h hamlyn/core/slot.h library/wait/waiting.h library/with_memory.h)
  list(TRANSFORM headers REPLACE "(.+)" "$<$<COMPILE_LANGUAGE:CXX>:<\\1$<ANGLE-R>>")
  list(TRANSFORM ${name} REPLACE "(.+)" "$<$<COMPILE_LANGUAGE:CXX>:<\\1$<ANGLE-R>>")
  if(name MATCHES "^(base|interface)$")
    target_precompile_headers(hamlyn_${name} PRIVATE ${headers})
  elseif(name MATCHES "^(library|protocols)$")
    hamlyn_precompile(hamlyn_${name} PRIVATE ${headers} ${${name}})
  elseif(name MATCHES "^(segment|rpc|job|splitc|vi|am|files)$")
    hamlyn_precompile(hamlyn_${name} REUSE_FROM hamlyn_protocols)
  else()
    target_precompile_headers(hamlyn_${name} REUSE_FROM hamlyn_base)
  endif()
endfunction()

# As target_precompile_headers, where headers of this tree are among them. A compiler cache knows by the macro whose they
# are: those of another tree name files there.
function(hamlyn_precompile target)
  target_compile_definitions(${target} PRIVATE HAMLYN_TREE="${PROJECT_SOURCE_DIR}")
  target_compile_options(${target} PRIVATE -fpch-preprocess)
  target_precompile_headers(${target} ${ARGN})
endfunction()
