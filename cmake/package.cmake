# A Debian package of all that is installed, for `cpack -G DEB`; scripts/package makes one that belongs into /usr.
set(CPACK_PACKAGE_NAME hamlyn)
set(CPACK_PACKAGE_VENDOR "The Hamlyn authors")
set(CPACK_PACKAGE_CONTACT "The Hamlyn authors <hamlyn@localhost>")
# What was built knows where it is to lie: the unit its daemon, the library the daemon that it starts.
set(CPACK_PACKAGING_INSTALL_PREFIX ${CMAKE_INSTALL_PREFIX})
set(CPACK_STRIP_FILES ON)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
# Below the summary, which is the project's description.
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "A receiver says where messages may land and hands out tickets; whoever holds a
ticket may send there, through shared memory, at the speed of a cache line.
.
This package has the node daemon, the command, the library for C and C++ programs, and what there is to read.")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)         # of the commands and the shared library
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)   # for packages of programs that use it
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS libfabric1)  # for links to other hosts: loaded when they are wanted, so not found above
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "g++ | gcc, pkg-config")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/etc/debian/postinst ${PROJECT_SOURCE_DIR}/etc/debian/prerm
                                       ${PROJECT_SOURCE_DIR}/etc/debian/postrm ${PROJECT_SOURCE_DIR}/etc/debian/triggers)
include(CPack)
