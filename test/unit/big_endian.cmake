# byte_order_test.cc on a big-endian machine: s390x, by a cross compiler and qemu-user.
find_program(HAMLYN_BIG_ENDIAN_CXX s390x-linux-gnu-g++)
find_program(HAMLYN_BIG_ENDIAN_RUN NAMES qemu-s390x qemu-s390x-static)
if(NOT HAMLYN_BIG_ENDIAN_CXX OR NOT HAMLYN_BIG_ENDIAN_RUN)
  message(WARNING "Nothing is tested on a big-endian machine: g++-s390x-linux-gnu or qemu-user is not installed. "
                  "The test byte_order_big_endian is skipped.")
  add_test(NAME byte_order_big_endian COMMAND ${CMAKE_COMMAND} -E echo "SKIPPED: no g++-s390x-linux-gnu or qemu-user")
  set_tests_properties(byte_order_big_endian PROPERTIES LABELS unit SKIP_REGULAR_EXPRESSION "SKIPPED")
  return()
endif()

set(sources ${PROJECT_SOURCE_DIR}/src/fabric/ofi/frame.cc ${PROJECT_SOURCE_DIR}/src/fabric/ofi/packets.cc
            ${PROJECT_SOURCE_DIR}/src/protocols/seed.cc ${CMAKE_CURRENT_SOURCE_DIR}/byte_order_test.cc)
foreach(layer IN ITEMS interface base)
  get_target_property(files hamlyn_${layer} SOURCES)
  get_target_property(folder hamlyn_${layer} SOURCE_DIR)
  foreach(file IN LISTS files)
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${folder})
    list(PREPEND sources ${file})
  endforeach()
endforeach()
list(TRANSFORM sources PREPEND "#include \"")
list(TRANSFORM sources APPEND "\"\n")
string(JOIN "" all ${sources})
file(CONFIGURE OUTPUT byte_order_all.cc CONTENT "${all}")

set(program ${PROJECT_BINARY_DIR}/test/bin/byte_order_big_endian)
set(all ${CMAKE_CURRENT_BINARY_DIR}/byte_order_all)
add_custom_command(OUTPUT ${program}
  COMMAND ${CMAKE_CXX_COMPILER_LAUNCHER} ${HAMLYN_BIG_ENDIAN_CXX} -std=c++20 -O0 -Wall -Wextra -Werror
          -I${PROJECT_SOURCE_DIR}/include -I${PROJECT_SOURCE_DIR}/src -I${PROJECT_SOURCE_DIR}
          -MD -MT ${program} -MF ${all}.d -c ${all}.cc -o ${all}.o
  COMMAND ${HAMLYN_BIG_ENDIAN_CXX} -static ${all}.o -o ${program}
  DEPENDS ${all}.cc
  DEPFILE ${all}.d
  COMMENT "Building byte_order for a big-endian machine"
  VERBATIM)
add_custom_target(byte_order_big_endian ALL DEPENDS ${program})
add_test(NAME byte_order_big_endian COMMAND ${HAMLYN_BIG_ENDIAN_RUN} ${program})
set_tests_properties(byte_order_big_endian PROPERTIES LABELS unit TIMEOUT 60
                     PASS_REGULAR_EXPRESSION "big-endian: 0 failures")
