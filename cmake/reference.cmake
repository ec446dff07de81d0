# The reference: a page of each public header, and an index, made of the headers' comments where there is Python.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/hamlyn/*.h)
  file(GLOB pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/*.md)
  add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/reference/index.md
    COMMAND Python3::Interpreter -B ${PROJECT_SOURCE_DIR}/cmake/reference.py ${PROJECT_BINARY_DIR}/reference ${PROJECT_BINARY_DIR}/pages
    DEPENDS ${headers} ${pages} cmake/reference.py cmake/headers.py
    COMMENT "Writing the reference")
  add_custom_target(reference ALL DEPENDS ${PROJECT_BINARY_DIR}/reference/index.md)
  install(DIRECTORY ${PROJECT_BINARY_DIR}/reference DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs FILES_MATCHING PATTERN "*.md")
  # In the place of those that lead to headers, and have been installed before.
  install(DIRECTORY ${PROJECT_BINARY_DIR}/pages/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs FILES_MATCHING PATTERN "*.md")
endif()
