#pragma once
// Where node daemons listen, and whom we believe to be one.
#include <string>
#include <vector>

#include "base/file_descriptor.h"

namespace hamlyn::node {

inline constexpr const char* kServiceSocket = "/run/hamlyn/node.sock";
inline constexpr const char* kServiceUser = "hamlyn";

// Where a user's own daemon may have its folder.
struct OwnPlaces {
  std::string runtime = {};            // $XDG_RUNTIME_DIR, if the program takes anything from its caller
  std::string run_user = "/run/user";  // with a folder for each user, whatever the variable says
  std::string home = {};               // as the system's users have it
  std::string host = "localhost";      // this one's name
  std::string last = "/tmp";           // where others might be first: of who has none of those
};
OwnPlaces own_places();

// The folders of a user's own daemon, the one first where it is started. Others than the user can make none
// of them beforehand, but the one in `last`, which is there alone or not at all.
std::vector<std::string> own_folders(const OwnPlaces& places);

// The socket of this user's own daemon, in a directory of mode 0700 that is made if need be. Throws Error:
// node_not_trusted if somebody else could get into that directory.
std::string own_socket(const OwnPlaces& places = own_places());

// Connected to the daemon of this user that listens in any of the folders, so that programs with another
// environment find the same. Empty: none does, and `path` is where one is to be started. Throws as connect_to
// and own_socket.
base::FileDescriptor connect_to_own(const OwnPlaces& places, std::string& path);

// Whether a daemon run by `uid` may be this process's operating system: this user's own, root's or the
// service's.
bool trusted(unsigned uid);
// Whether root or the service runs it: every user's processes believe that one.
bool serves_all(unsigned uid);

// Checks that an old socket, or nothing, lies where a daemon's socket is to be: a user who has named a file
// by mistake keeps it. Throws Error(invalid_argument).
void check_place(const std::string& path);

// A connected socket; empty if nobody listens there. Throws Error: node_not_trusted, not_permitted, timed_out
// (the daemon does not accept), invalid_argument (a path too long for a socket, or of something else),
// system.
base::FileDescriptor connect_to(const std::string& path);

}  // namespace hamlyn::node
