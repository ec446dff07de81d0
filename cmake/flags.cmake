# The flags that every target of the project is built with.
add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion
                    "$<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor;-Wold-style-cast;-Woverloaded-virtual>" -Werror)
if(HAMLYN_SANITIZE)
  # The sanitizers' own instrumentation makes gcc 12 warn about libstdc++'s insides.
  add_compile_options(-fsanitize=${HAMLYN_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all
                      -Wno-maybe-uninitialized -Wno-stringop-overflow -Wno-array-bounds -Wno-tsan)
  add_link_options(-fsanitize=${HAMLYN_SANITIZE})
endif()

# A layer is a folder and a link target: hamlyn_layer(name SOURCES ... NEEDS ...).
function(hamlyn_layer name)
  cmake_parse_arguments(LAYER "" "" "SOURCES;NEEDS;NEEDS_PRIVATE" ${ARGN})
  add_library(hamlyn_${name} STATIC ${LAYER_SOURCES})
  target_include_directories(hamlyn_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                             $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src> $<INSTALL_INTERFACE:include>)
  target_link_libraries(hamlyn_${name} PUBLIC ${LAYER_NEEDS} PRIVATE ${LAYER_NEEDS_PRIVATE})
  set_target_properties(hamlyn_${name} PROPERTIES EXPORT_NAME ${name})
  # Under sanitizers, where nothing is measured, several files are compiled as one: most of the time goes into what they
  # all include. (Of these layers clang-tidy sees that they can be.)
  if(HAMLYN_SANITIZE AND name MATCHES "^(base|interface|fabric_shm|fabric_sim|library|protocols)$")
    set_target_properties(hamlyn_${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()
endfunction()
