// A directory as a store of a process that may not open files by their handles: by the places where they
// stand.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "files/local_store.h"

namespace hamlyn::internal_::files {
namespace {

namespace fs = std::filesystem;

constexpr base::SipHash::Key kOwnKey = {3, 4};
constexpr uid_t kUser = 4711;

// Runs `body` in a child that is not the superuser, with a folder of its own.
class PlacesTest : public testing::Test {
 protected:
  static void as_user(const std::function<void(const std::string& folder)>& body) {
    char name[] = "/tmp/hamlyn-places-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    const std::string folder = name;
    if (geteuid() == 0) {
      ASSERT_EQ(chown(name, kUser, kUser), 0);
    }
    const pid_t child = fork();
    if (child == 0) {
      if (geteuid() == 0 && setresuid(kUser, kUser, kUser) != 0) _exit(2);
      body(folder);
      _exit(testing::Test::HasFailure() ? 1 : 0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    fs::remove_all(folder);
  }
  static Caller self() { return {.user = geteuid(), .group = getegid()}; }
  static std::string text_of(LocalStore& store, const Handle& file) {
    std::string out(100, ' ');
    const auto done = store.read(self(), file, 0, std::as_writable_bytes(std::span(out)));
    return done ? out.substr(0, done.value) : "fault " + std::to_string(static_cast<int>(done.fault));
  }
};

void write_text(const std::string& path, std::string_view text) { std::ofstream(path) << text; }

TEST_F(PlacesTest, find_a_file_wherever_it_was_moved) {
  as_user([](const std::string& folder) {
    LocalStore store(folder, kOwnKey);
    const auto one = store.make_directory(self(), store.root(), "one", 0755).value.handle;
    const auto two = store.make_directory(self(), store.root(), "two", 0755).value.handle;
    const auto file = store.create(self(), one, "file", 0644, true).value.handle;
    EXPECT_EQ(store.write(self(), file, 0, std::as_bytes(std::span("text", 4))).value, 4u);
    EXPECT_EQ(store.rename(self(), store.root(), "one", two, "inside", Renaming::replaces), Fault::none);
    EXPECT_EQ(text_of(store, file), "text") << "its folder was moved";
    EXPECT_EQ(store.rename(self(), one, "file", store.root(), "outside", Renaming::replaces), Fault::none);
    EXPECT_EQ(text_of(store, file), "text");
    const auto other = store.create(self(), two, "other", 0644, true).value.handle;
    EXPECT_EQ(store.rename(self(), two, "other", store.root(), "outside", Renaming::exchanges), Fault::none);
    EXPECT_EQ(text_of(store, file), "text");
    EXPECT_EQ(text_of(store, other), "");
    EXPECT_EQ(store.look_up(self(), two, "other").value.handle, file);
  });
}

TEST_F(PlacesTest, find_a_file_by_another_name_once_one_was_removed) {
  as_user([](const std::string& folder) {
    LocalStore store(folder, kOwnKey);
    const auto file = store.create(self(), store.root(), "one", 0644, true).value.handle;
    EXPECT_TRUE(store.link(self(), file, store.root(), "two"));
    EXPECT_EQ(store.remove(self(), store.root(), "one"), Fault::none);
    EXPECT_EQ(text_of(store, file), "");
    EXPECT_EQ(store.remove(self(), store.root(), "two"), Fault::none);
    EXPECT_EQ(store.attributes(file).fault, Fault::stale);
    for (int i = 0; i != 20; ++i) store.create(self(), store.root(), "n" + std::to_string(i), 0644, true);
    EXPECT_EQ(store.attributes(file).fault, Fault::stale) << "also when its number is another's";
  });
}

TEST_F(PlacesTest, find_files_of_before_a_start) {
  as_user([](const std::string& folder) {
    fs::create_directories(folder + "/a/b/c");
    write_text(folder + "/a/b/c/deep", "deep");
    std::optional<LocalStore> store(std::in_place, folder, kOwnKey);
    Handle at = store->root();
    for (const char* const each : {"a", "b", "c", "deep"}) at = store->look_up(self(), at, each).value.handle;
    EXPECT_EQ(text_of(*store, at), "deep");
    store.reset();
    store.emplace(folder, kOwnKey);
    EXPECT_EQ(text_of(*store, at), "deep") << "it was looked for";
    store.reset();
    store.emplace(folder, base::SipHash::Key{5, 6});
    EXPECT_EQ(store->attributes(at).fault, Fault::stale) << "another key";
  });
}

TEST_F(PlacesTest, find_what_somebody_else_has_moved_when_it_is_looked_up_again) {
  as_user([](const std::string& folder) {
    fs::create_directories(folder + "/a");
    write_text(folder + "/a/file", "x");
    LocalStore store(folder, kOwnKey);
    const auto a = store.look_up(self(), store.root(), "a").value.handle;
    const auto file = store.look_up(self(), a, "file").value.handle;
    fs::rename(folder + "/a", folder + "/b");
    EXPECT_TRUE(store.look_up(self(), store.root(), "b"));
    EXPECT_EQ(text_of(store, file), "x");
  });
}

TEST_F(PlacesTest, find_files_while_folders_above_them_are_moved) {
  as_user([](const std::string& folder) {
    fs::create_directories(folder + "/a/b/c");
    write_text(folder + "/a/b/c/file", "x");
    LocalStore store(folder, kOwnKey);
    Handle at = store.root(), above = at;
    for (const char* const each : {"a", "b", "c", "file"}) {
      above = std::string_view(each) == "b" ? at : above;
      at = store.look_up(self(), at, each).value.handle;
    }
    std::atomic<bool> over = false;
    std::thread moving([&] {
      for (int i = 0; i != 500; ++i) {
        store.rename(self(), above, i % 2 == 0 ? "b" : "z", above, i % 2 == 0 ? "z" : "b",
                     Renaming::replaces);
        store.look_up(self(), above, i % 2 == 0 ? "z" : "b");
      }
      over = true;
    });
    while (!over) EXPECT_EQ(text_of(store, at), "x");
    moving.join();
    EXPECT_EQ(text_of(store, at), "x");
  });
}

TEST_F(PlacesTest, find_what_is_deep) {
  as_user([](const std::string& folder) {
    std::string path = folder;
    for (int i = 0; i != 300; ++i) path += "/d";
    fs::create_directories(path);
    write_text(path + "/file", "deep");
    std::optional<LocalStore> store(std::in_place, folder, kOwnKey);
    Handle at = store->root();
    for (int i = 0; i != 300; ++i) at = store->look_up(self(), at, "d").value.handle;
    at = store->look_up(self(), at, "file").value.handle;
    store.reset();
    store.emplace(folder, kOwnKey);
    EXPECT_EQ(text_of(*store, at), "deep");
  });
}

TEST_F(PlacesTest, act_for_their_own_user_alone) {
  as_user([](const std::string& folder) {
    write_text(folder + "/file", "x");
    LocalStore store(folder, kOwnKey);
    const Caller other{.user = geteuid() + 1, .group = 1};
    EXPECT_EQ(store.look_up(other, store.root(), "file").fault, Fault::not_permitted);
    EXPECT_EQ(store.create(other, store.root(), "new", 0644, true).fault, Fault::not_permitted);
    EXPECT_EQ(store.look_up({}, store.root(), "file").fault, Fault::not_permitted) << "not for the superuser";
  });
}

}  // namespace
}  // namespace hamlyn::internal_::files
