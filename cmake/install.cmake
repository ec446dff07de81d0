# What an installation holds for those who write programs: the public headers, the archives of the layers that the
# library rests on, the shared library of the C interface, two ways to find them, find_package(hamlyn) and pkg-config,
# manual pages, and what there is to read.
include(CMakePackageConfigHelpers)

# The layers that `target` needs, itself first, each before those it needs (HAMLYN_LAYERS), and what they need from
# elsewhere (HAMLYN_OTHERS).
function(hamlyn_needs target)
  list(REMOVE_ITEM HAMLYN_LAYERS ${target})
  list(APPEND HAMLYN_LAYERS ${target})
  get_target_property(needed ${target} LINK_LIBRARIES)
  foreach(need IN LISTS needed)
    if(need MATCHES "^hamlyn_")
      hamlyn_needs(${need})
    elseif(need AND NOT need IN_LIST HAMLYN_OTHERS)
      list(APPEND HAMLYN_OTHERS ${need})
    endif()
  endforeach()
  set(HAMLYN_LAYERS ${HAMLYN_LAYERS} PARENT_SCOPE)
  set(HAMLYN_OTHERS ${HAMLYN_OTHERS} PARENT_SCOPE)
endfunction()

hamlyn_needs(hamlyn_c)
hamlyn_needs(hamlyn_rpc)
hamlyn_needs(hamlyn_job)
hamlyn_needs(hamlyn_splitc)
hamlyn_needs(hamlyn_vi)
hamlyn_needs(hamlyn_am)
hamlyn_needs(hamlyn_files)

set(pc_libs)
foreach(layer IN LISTS HAMLYN_LAYERS)
  string(APPEND pc_libs " -l${layer}")
endforeach()
string(APPEND pc_libs " -Wl,-z,nodelete")  # as src/CMakeLists.txt has it
# Of each library from elsewhere: the package that CMake finds it by, and its name for pkg-config.
set(find_dependencies)
set(pc_requires)
foreach(other IN LISTS HAMLYN_OTHERS)
  if(other STREQUAL "Threads::Threads")
    string(APPEND find_dependencies "find_dependency(Threads)\n")
    string(APPEND pc_libs " -pthread")
  elseif(other MATCHES "^(fmt|spdlog)::")
    string(APPEND find_dependencies "find_dependency(${CMAKE_MATCH_1})\n")
    string(APPEND pc_requires " ${CMAKE_MATCH_1}")
  else()
    message(FATAL_ERROR "cmake/install.cmake does not know how an installed library finds ${other}")
  endif()
endforeach()

set(targets hamlyn ${HAMLYN_LAYERS})
if(TARGET hamlyn_shared)
  list(APPEND targets hamlyn_shared hamlyn_vipl hamlyn_libam)
endif()
install(TARGETS ${targets} EXPORT hamlyn-targets)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/hamlyn TYPE INCLUDE)
install(FILES ${PROJECT_SOURCE_DIR}/include/am.h ${PROJECT_SOURCE_DIR}/include/am_counted.h
              ${PROJECT_SOURCE_DIR}/include/vipl.h TYPE INCLUDE)
install(EXPORT hamlyn-targets NAMESPACE hamlyn:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/hamlyn)

file(CONFIGURE OUTPUT hamlyn-config.cmake @ONLY CONTENT [[
include(CMakeFindDependencyMacro)
@find_dependencies@include(${CMAKE_CURRENT_LIST_DIR}/hamlyn-targets.cmake)
]])
write_basic_package_version_file(hamlyn-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/hamlyn-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/hamlyn-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/hamlyn)

# The folder is found from where the file lies, so that an installation can be moved.
file(RELATIVE_PATH pc_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
file(CONFIGURE OUTPUT hamlyn.pc @ONLY CONTENT [[
prefix=${pcfiledir}/@pc_prefix@
Name: hamlyn
Description: @PROJECT_DESCRIPTION@
Version: @PROJECT_VERSION@
Requires:@pc_requires@
Cflags: -I${prefix}/@CMAKE_INSTALL_INCLUDEDIR@
Libs: -L${prefix}/@CMAKE_INSTALL_LIBDIR@@pc_libs@
]])
# The shared library needs nothing of its users.
file(CONFIGURE OUTPUT hamlyn-c.pc @ONLY CONTENT [[
prefix=${pcfiledir}/@pc_prefix@
Name: hamlyn-c
Description: @PROJECT_DESCRIPTION@: the C interface
Version: @PROJECT_VERSION@
Cflags: -I${prefix}/@CMAKE_INSTALL_INCLUDEDIR@
Libs: -L${prefix}/@CMAKE_INSTALL_LIBDIR@ -lhamlyn
]])
file(CONFIGURE OUTPUT vipl.pc @ONLY CONTENT [[
prefix=${pcfiledir}/@pc_prefix@
Name: vipl
Description: VIPL 1.0, the interface of the VI Architecture, on Hamlyn
Version: @PROJECT_VERSION@
Cflags: -I${prefix}/@CMAKE_INSTALL_INCLUDEDIR@
Libs: -L${prefix}/@CMAKE_INSTALL_LIBDIR@ -lvipl
]])
file(CONFIGURE OUTPUT am.pc @ONLY CONTENT [[
prefix=${pcfiledir}/@pc_prefix@
Name: am
Description: Active Messages II on Hamlyn
Version: @PROJECT_VERSION@
Cflags: -I${prefix}/@CMAKE_INSTALL_INCLUDEDIR@
Libs: -L${prefix}/@CMAKE_INSTALL_LIBDIR@ -lam
]])
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/hamlyn.pc ${CMAKE_CURRENT_BINARY_DIR}/hamlyn-c.pc
        ${CMAKE_CURRENT_BINARY_DIR}/vipl.pc ${CMAKE_CURRENT_BINARY_DIR}/am.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

foreach(section 1 3 8)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section}
          FILES_MATCHING PATTERN "*.${section}")
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md
              ${PROJECT_SOURCE_DIR}/CONTRIBUTING.md TYPE DOC)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs TYPE DOC FILES_MATCHING PATTERN "*.md" PATTERN "*.svg" PATTERN man EXCLUDE)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples TYPE DOC FILES_MATCHING PATTERN "*.c" PATTERN "*.cc" PATTERN "*.h")
