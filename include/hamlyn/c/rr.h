#pragma once
// Remote memory as the thesis has it (paper 4, section 4.2): its calls, and what were instructions there as
// functions, over the segments of hamlyn/segment/segment.h. For C99 or later and C++; link libhamlyn.
// docs/c-interface.md says which call is which of ours, and what differs from the text.
//
// All of them answer -1, or (char*)-1 where they give an address, with errno set, when something is wrong;
// docs/c-interface.md has the errors. hamlyn_last_error says more about those of rr_export and rr_import. A
// process attaches to its host's node at its first rr_export or rr_import. Threads: any. Segments, of one's
// own and of others, are small positive numbers, at most 2048 at a time; numbers of what was deleted are told
// from those of its successors. A forked child has none of its parent's, and can make its own; descriptors of
// rr_getfd go on giving it what comes while its parent lives.
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// --- segments of one's own (sections 4.2.1, 4.2.4, 4.2.5)

// Exports `size` bytes under `name`; NULL: under none, for results of reads and of rrcsi. `prot`: bits as of
// a file, 0660: who may import it. `addr`: the segment is that memory, whole pages, which stays the caller's;
// NULL: zeroed memory that is made here. Gives the segment's address, and its number to `segment`.
char* rr_export(const char* name, int size, int prot, int* segment, char* addr);
// Deletes it: what importers do from here on is refused as stale, and its descriptors are closed.
int rr_cleanexport(int segment);

// First unpins the pages that the first `unl` bytes from `unpin` on touch, then pins those of `pin` and `nl`;
// a length of 0 leaves that out. Writes to unpinned pages wait, and are given by RR_DATA if it was asked for;
// reads of them are not done. After rr_export all are pinned. Gives the segment's address.
char* rr_remap(int segment, char* unpin, int unl, char* pin, int nl);
// Other rights from here on, also for who has imported it. Gives the segment's address.
char* rr_setprot(int segment, int prot);
// MPROT (section 3.4.4): from here on writes wait. `munprot`, MUNPROT: they land, in order, and so do
// later ones.
int mprot(int segment);
int munprot(int segment);

// Events that rr_setintr asks for.
enum rr_notify {
  RR_NOINTR = 0,  // nobody is told of anything
  RR_INTR = 1,    // of each remote write, read and CAS, and of what each read of ours brings here
  RR_CINTR = 2    // of those with the notify bit: how it is at first
};
// `notify`: enum rr_notify; it holds from here on.
int rr_setintr(int segment, int notify);

// Descriptors that rr_getfd gives.
enum rr_descriptor {
  RR_CONTROL = 1,  // each read(2) gives one rr_record
  RR_DATA = 2      // each read(2) gives one rr_held, and behind it the data of a write that waits
};
// A descriptor of the segment's own (dup it to keep it), for select, poll, read, fcntl. A read does not wait:
// EAGAIN.
int rr_getfd(int segment, int type);

// Kinds of record.
enum rr_kind {
  RR_WRITTEN = 1,  // data has landed
  RR_WAITS = 2,    // data waits: that part is not pinned, or mprot holds it
  RR_READ = 3,     // what a read of ours has brought is here
  // Not done: the part is not pinned, the right is missing, or the segment is gone.
  RR_READ_FAILED = 4,
  RR_GOT = 5,     // others have read this
  RR_SWAPPED = 6  // others have done CAS here
};
// One record, as a read(2) of RR_CONTROL gives it.
typedef struct rr_record {
  uint32_t kind;    // enum rr_kind
  uint32_t count;   // of the operations that it stands for; with RR_INTR of their pieces
  uint64_t offset;  // of the first byte, from the segment's address
  uint64_t length;  // from there to behind the last
  uint64_t peer;    // the number of the interface that did it, as the node attests; 0: several
} rr_record;
// A write that waits.
typedef struct rr_held {
  uint64_t offset;  // from the segment's address
  uint64_t length;  // bytes
  uint64_t peer;    // the number of the interface that sent it
  uint8_t notify;   // 1: it had the notify bit
  uint8_t reserved[7];
} rr_held;

// --- segments of others (section 4.2.2)

// Imports the segment of that name; `access` is O_RDONLY, O_WRONLY or O_RDWR. Gives its number.
int rr_import(const char* name, int access);
// Waits until what was written there has landed, and deletes the number; -1: it is deleted, but not all has,
// or a read was not done of which nothing has told.
int rr_cleanimport(int segment);

// --- the instructions (section 4.2.3)

// The notify bit: the most significant one of an offset. Of an offset in somebody else's segment it tells its
// exporter, unless rr_setintr says otherwise; of `to` in one's own, oneself.
#define RR_NOTIFY UINT32_C(0x80000000)

// Writes ten words to <segment, offset>. It is on its way when this returns.
int rwi(int segment, uint32_t offset, uint32_t word0, uint32_t word1, uint32_t word2, uint32_t word3,
        uint32_t word4, uint32_t word5, uint32_t word6, uint32_t word7, uint32_t word8, uint32_t word9);
// Writes `count` bytes from `data`, which may be used again when this returns.
int rwblk(int segment, uint32_t offset, uint32_t count, const void* data);
// Reads ten words from <remote, from> to <local, to>, a segment of one's own. It does not wait for them: look
// at the memory, or set the notify bit of `to`. That of `from` tells the exporter. That it was not done is
// told by the record, or else by the next call that uses `remote`, which does nothing else then.
int rri(int remote, int local, uint32_t from, uint32_t to);
// Reads a block of `count` bytes, as rri reads a word. A read of more than 64 KiB waits for all but the last
// piece, and tells of the last piece alone.
int rrblk(int remote, int local, uint32_t from, uint32_t to, uint32_t count);
// CAS-II on the two words at <remote, at>, the value and the nonce of its last writer: if the value is
// `expected`, the two become `desired` and `nonce`. <local, to> gets two words: what the value was, and the
// nonce that is there now, which is `nonce` if it was swapped. They are there when this returns 0. Both
// places are multiples of 8; `remote` may be a segment of one's own. The notify bit of `at` tells the
// exporter, of each try, if others swap meanwhile and it takes several.
int rrcsi(int remote, int local, uint32_t at, uint32_t to, uint32_t expected, uint32_t desired,
          uint32_t nonce);

#ifdef __cplusplus
}
#endif
