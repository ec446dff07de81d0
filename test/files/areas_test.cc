// Areas as their server writes them and a clerk reads them: what is found is what was put there last,
// whatever else stands in the memory.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "files/area_reader.h"
#include "files/area_writer.h"
#include "test/rpc/seeds.h"
#include "test/simulation/hosted.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;
using namespace internal_::files;

Handle handle_of(std::uint64_t number) {
  Handle out{.kind = 1, .length = 8, .seal = number};
  std::memcpy(out.bytes.data(), &number, sizeof number);
  return out;
}

// A server's areas and a clerk's view of them, in one process.
class Areas {
 public:
  explicit Areas(const AreaSizes& sizes)
      : header_(lay_out(sizes, 1, 99)),
        segment_(interface_, {.bytes = bytes_of(header_), .sharing = Sharing::mapped_read_only}),
        writer(segment_, header_),
        import_(interface_, segment_.ticket(), {.access = Access::read_only}),
        reader(import_, 1s) {}

  std::span<std::byte> bytes() { return segment_.bytes(); }

 private:
  Interface interface_;
  AreasHeader header_;
  Segment segment_;

 public:
  AreaWriter writer;

 private:
  Import import_;

 public:
  AreaReader reader;
};

TEST(Areas, give_back_what_was_put_there_and_nothing_that_was_taken_out) {
  Hosted hosted;
  hosted.add([](Hosted& all) {
    Areas areas({16, 16, 16, 16, 4});
    const Handle folder = handle_of(1), file = handle_of(2);
    Handle found;
    Attributes attributes;
    std::string text;
    FolderRecord record;
    all.expect(areas.reader.look_up(folder, "file", found, 1s) == Status::not_ready,
               "nothing is there at first");
    areas.writer.name(folder, "file", file);
    areas.writer.name(folder, "none", {});
    areas.writer.attributes(file, {.inode = 7, .size = 100});
    areas.writer.link(file, "target");
    areas.writer.link(folder, std::string(kShortLink + 1, 'x'));
    record.used = 0;
    all.expect(append(record, {.text = "file", .cookie = 3, .inode = 7, .kind = Kind::file}),
               "an entry fits");
    areas.writer.folder({folder, 0}, record);
    all.expect(areas.reader.look_up(folder, "file", found, 1s) == Status::ok && found == file, "a name");
    all.expect(areas.reader.look_up(folder, "none", found, 1s) == Status::ok && found.length == 0,
               "that there is no such name");
    all.expect(areas.reader.look_up(folder, "fil", found, 1s) == Status::not_ready, "another name");
    all.expect(areas.reader.attributes(file, attributes, 1s) == Status::ok && attributes.inode == 7,
               "attributes");
    all.expect(areas.reader.link(file, text, 1s) == Status::ok && text == "target", "a link");
    all.expect(areas.reader.link(folder, text, 1s) == Status::not_ready, "a long link is asked for");
    FolderRecord seen;
    Name name;
    std::size_t at = 0;
    all.expect(areas.reader.folder({folder, 0}, seen, 1s) == Status::ok && take(seen, at, name) &&
                   name.text == "file" && name.cookie == 3 && !take(seen, at, name),
               "the names of a folder");
    areas.writer.forget_name(folder, "file");
    areas.writer.forget_attributes(file);
    areas.writer.forget_link(file);
    areas.writer.forget_folder(folder);
    all.expect(areas.reader.look_up(folder, "file", found, 1s) == Status::not_ready &&
                   areas.reader.attributes(file, attributes, 1s) == Status::not_ready &&
                   areas.reader.link(file, text, 1s) == Status::not_ready &&
                   areas.reader.folder({folder, 0}, seen, 1s) == Status::not_ready,
               "nothing once it was taken out");
  });
  hosted.run();
}

TEST(Areas, give_data_of_the_block_that_is_asked_for_up_to_its_end) {
  Hosted hosted;
  hosted.add([](Hosted& all) {
    Areas areas({16, 16, 16, 16, 2});
    const Handle file = handle_of(5);
    std::vector<std::byte> data(kBlock), seen(kBlock);
    for (std::size_t i = 0; i != data.size(); ++i) data[i] = static_cast<std::byte>(i * 7 + i / 256);
    const auto read = [&](std::uint64_t block, std::size_t offset, std::size_t count) {
      std::size_t done = ~std::size_t{0};
      const Status status = areas.reader.data({file, block}, offset, std::span(seen).first(count), done, 1s);
      return status == Status::ok ? static_cast<std::ptrdiff_t>(done) : -1;
    };
    const auto same = [&](std::size_t offset, std::size_t count) {
      return std::equal(seen.begin(), seen.begin() + static_cast<std::ptrdiff_t>(count),
                        data.begin() + static_cast<std::ptrdiff_t>(offset));
    };
    areas.writer.data({file, 3}, data);
    areas.writer.data({file, 4}, std::span(data).first(5000));
    for (const std::size_t offset : {std::size_t{0}, std::size_t{1}, kPage - 1, kPage, kBlock - 10}) {
      const std::size_t count = std::min<std::size_t>(9000, kBlock - offset);
      all.expect(read(3, offset, count) == static_cast<std::ptrdiff_t>(count) && same(offset, count),
                 "a whole block");
    }
    all.expect(read(4, 4990, 100) == 10 && same(4990, 10), "fewer bytes where the file ends");
    all.expect(read(4, 5000, 100) == 0 && read(4, 60'000, 10) == 0, "none behind its end");
    all.expect(read(5, 0, 10) == -1, "a block that is not there");
    areas.writer.data({file, 5}, std::span(data).first(100));
    all.expect(read(3, 0, 10) == -1 && read(5, 0, 200) == 100, "the oldest frame went for a new one");
    areas.writer.forget_data(file, 4, 4);
    all.expect(read(4, 0, 10) == -1 && read(5, 0, 10) == 10, "one block is taken out");
    areas.writer.forget_data(file, 0, ~std::uint64_t{0});
    all.expect(read(5, 0, 10) == -1, "all of a file");
  });
  hosted.run();
}

// Whatever stands in the areas, a look ends, and gives what was put there or that it is missing.
TEST(Areas, that_were_scribbled_over_give_what_was_put_there_or_nothing) {
  for_each_seed(40, [](std::uint64_t seed) {
    Hosted hosted;
    hosted.add([seed](Hosted& all) {
      std::mt19937_64 random(seed);
      const auto below = [&](std::uint64_t bound) { return random() % bound; };
      Areas areas({2, 2, 2, 2, 3});
      const std::size_t begin = sizeof(Versioned<AreasHeader>);
      std::map<std::uint64_t, std::uint64_t> sizes;  // attributes, by file
      int found_there = 0;
      for (int step = 0; step != 300; ++step) {
        const std::uint64_t number = 1 + below(6);
        const Handle file = handle_of(number);
        const std::vector<std::byte> data(1 + below(kBlock), static_cast<std::byte>(number));
        switch (below(5)) {
          case 0:
            sizes[number] = random();
            areas.writer.attributes(file, {.size = sizes[number]});
            areas.writer.link(file, "target " + std::to_string(number));
            areas.writer.name(file, "name", handle_of(number + 100));
            break;
          case 1:
            areas.writer.data({file, below(2)}, data);
            break;
          case 2:
            for (std::uint64_t scribbles = below(30); scribbles != 0; --scribbles)
              areas.bytes()[begin + below(areas.bytes().size() - begin)] = static_cast<std::byte>(random());
            break;
          default: {
            Attributes seen;
            if (areas.reader.attributes(file, seen, 1s) == Status::ok) {
              all.expect(seen.size == sizes[number], "attributes");
              ++found_there;
            }
            std::string text;
            if (areas.reader.link(file, text, 1s) == Status::ok)
              all.expect(text == "target " + std::to_string(number), "a link");
            Handle found;
            if (areas.reader.look_up(file, "name", found, 1s) == Status::ok)
              all.expect(found == handle_of(number + 100), "a name");
            std::vector<std::byte> into(1 + below(20'000));
            std::size_t done = 0;
            if (areas.reader.data({file, below(2)}, below(kBlock), into, done, 1s) == Status::ok)
              for (std::size_t at = 0; at < done; at += 17)
                all.expect(into[at] == static_cast<std::byte>(number), "data");
            break;
          }
        }
      }
      all.expect(found_there > 0, "something was found");
    });
    hosted.run();
  });
}

TEST(Areas, of_another_version_or_shape_are_refused) {
  const AreasHeader good = lay_out({4, 4, 4, 4, 4}, 1, 2);
  const std::uint64_t bytes = bytes_of(good);
  EXPECT_EQ(invalid(good, bytes), nullptr);
  EXPECT_NE(invalid(good, bytes - 1), nullptr);
  const auto changed = [&](auto change) {
    AreasHeader header = good;
    change(header);
    return invalid(header, bytes) != nullptr;
  };
  EXPECT_TRUE(changed([](AreasHeader& of) { of.magic ^= 1; }));
  EXPECT_TRUE(changed([](AreasHeader& of) { ++of.version; }));
  EXPECT_TRUE(changed([](AreasHeader& of) { of.names.count = 0; }));
  EXPECT_TRUE(changed([](AreasHeader& of) { of.names.count = ~std::uint64_t{0}; }));
  EXPECT_TRUE(changed([](AreasHeader& of) { of.links.offset = of.names.offset; })) << "one across another";
  EXPECT_TRUE(changed([](AreasHeader& of) { of.attributes.offset += 1; }));
  EXPECT_TRUE(changed([](AreasHeader& of) { of.pages.offset = ~std::uint64_t{0} - 7; }));
  EXPECT_TRUE(changed([](AreasHeader& of) { --of.heads.count; }));
}

TEST(Areas, take_no_entry_out_of_bytes_that_are_none) {
  std::mt19937 random{std::random_device{}()};
  for (int round = 0; round != 2000; ++round) {
    FolderRecord record;
    record.used = static_cast<std::uint32_t>(random() % 8000);
    for (std::byte& each : record.entries) each = static_cast<std::byte>(random() % 4 == 0 ? random() : 0);
    std::size_t at = 0, entries = 0;
    Name name;
    while (take(record, at, name)) {
      ASSERT_LE(name.text.size(), kMostName);
      ASSERT_LE(at, record.entries.size());
      ASSERT_LT(++entries, 200u);
    }
  }
}

}  // namespace
}  // namespace hamlyn::test
