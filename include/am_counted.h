/* Messages of Active Messages II with the count of their arguments in their names, up to 16: the variadic
 * calls of am.h, which includes this. */
#ifndef AM_COUNTED_H
#define AM_COUNTED_H

#define AM_Request5(ep, index, handler, a0, a1, a2, a3, a4) \
  AM_Request(ep, index, handler, 5, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), AM_INT_(a4))
#define AM_Request6(ep, index, handler, a0, a1, a2, a3, a4, a5)                                      \
  AM_Request(ep, index, handler, 6, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), AM_INT_(a4), \
             AM_INT_(a5))
#define AM_Request7(ep, index, handler, a0, a1, a2, a3, a4, a5, a6)                                  \
  AM_Request(ep, index, handler, 7, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), AM_INT_(a4), \
             AM_INT_(a5), AM_INT_(a6))
#define AM_Request8(ep, index, handler, a0, a1, a2, a3, a4, a5, a6, a7)                              \
  AM_Request(ep, index, handler, 8, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), AM_INT_(a4), \
             AM_INT_(a5), AM_INT_(a6), AM_INT_(a7))
#define AM_Request9(ep, index, handler, a0, a1, a2, a3, a4, a5, a6, a7, a8)                          \
  AM_Request(ep, index, handler, 9, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), AM_INT_(a4), \
             AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8))
#define AM_Request10(ep, index, handler, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9)                      \
  AM_Request(ep, index, handler, 10, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), AM_INT_(a4), \
             AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9))
#define AM_Request11(ep, index, handler, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10)                 \
  AM_Request(ep, index, handler, 11, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), AM_INT_(a4), \
             AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9), AM_INT_(a10))
#define AM_Request12(ep, index, handler, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11)            \
  AM_Request(ep, index, handler, 12, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), AM_INT_(a4), \
             AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9), AM_INT_(a10), AM_INT_(a11))
#define AM_Request13(ep, index, handler, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12)           \
  AM_Request(ep, index, handler, 13, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), AM_INT_(a4),     \
             AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9), AM_INT_(a10), AM_INT_(a11), \
             AM_INT_(a12))
#define AM_Request14(ep, index, handler, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13)      \
  AM_Request(ep, index, handler, 14, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), AM_INT_(a4),     \
             AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9), AM_INT_(a10), AM_INT_(a11), \
             AM_INT_(a12), AM_INT_(a13))
#define AM_Request15(ep, index, handler, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14) \
  AM_Request(ep, index, handler, 15, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), AM_INT_(a4),     \
             AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9), AM_INT_(a10), AM_INT_(a11), \
             AM_INT_(a12), AM_INT_(a13), AM_INT_(a14))
#define AM_Request16(ep, index, handler, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, \
                     a15)                                                                                 \
  AM_Request(ep, index, handler, 16, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), AM_INT_(a4),     \
             AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9), AM_INT_(a10), AM_INT_(a11), \
             AM_INT_(a12), AM_INT_(a13), AM_INT_(a14), AM_INT_(a15))
#define AM_RequestI0(ep, index, handler, source, length) AM_RequestI(ep, index, handler, source, length, 0)
#define AM_RequestI1(ep, index, handler, source, length, a0) \
  AM_RequestI(ep, index, handler, source, length, 1, AM_INT_(a0))
#define AM_RequestI2(ep, index, handler, source, length, a0, a1) \
  AM_RequestI(ep, index, handler, source, length, 2, AM_INT_(a0), AM_INT_(a1))
#define AM_RequestI3(ep, index, handler, source, length, a0, a1, a2) \
  AM_RequestI(ep, index, handler, source, length, 3, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2))
#define AM_RequestI4(ep, index, handler, source, length, a0, a1, a2, a3) \
  AM_RequestI(ep, index, handler, source, length, 4, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3))
#define AM_RequestI5(ep, index, handler, source, length, a0, a1, a2, a3, a4)                             \
  AM_RequestI(ep, index, handler, source, length, 5, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), \
              AM_INT_(a4))
#define AM_RequestI6(ep, index, handler, source, length, a0, a1, a2, a3, a4, a5)                         \
  AM_RequestI(ep, index, handler, source, length, 6, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), \
              AM_INT_(a4), AM_INT_(a5))
#define AM_RequestI7(ep, index, handler, source, length, a0, a1, a2, a3, a4, a5, a6)                     \
  AM_RequestI(ep, index, handler, source, length, 7, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), \
              AM_INT_(a4), AM_INT_(a5), AM_INT_(a6))
#define AM_RequestI8(ep, index, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7)                 \
  AM_RequestI(ep, index, handler, source, length, 8, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), \
              AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7))
#define AM_RequestI9(ep, index, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8)             \
  AM_RequestI(ep, index, handler, source, length, 9, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), \
              AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8))
#define AM_RequestI10(ep, index, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9)         \
  AM_RequestI(ep, index, handler, source, length, 10, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), \
              AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9))
#define AM_RequestI11(ep, index, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10)    \
  AM_RequestI(ep, index, handler, source, length, 11, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), \
              AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9), AM_INT_(a10))
#define AM_RequestI12(ep, index, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11) \
  AM_RequestI(ep, index, handler, source, length, 12, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3),   \
              AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9), AM_INT_(a10),   \
              AM_INT_(a11))
#define AM_RequestI13(ep, index, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, \
                      a12)                                                                                  \
  AM_RequestI(ep, index, handler, source, length, 13, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3),   \
              AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9), AM_INT_(a10),   \
              AM_INT_(a11), AM_INT_(a12))
#define AM_RequestI14(ep, index, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, \
                      a12, a13)                                                                             \
  AM_RequestI(ep, index, handler, source, length, 14, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3),   \
              AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9), AM_INT_(a10),   \
              AM_INT_(a11), AM_INT_(a12), AM_INT_(a13))
#define AM_RequestI15(ep, index, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, \
                      a12, a13, a14)                                                                        \
  AM_RequestI(ep, index, handler, source, length, 15, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3),   \
              AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9), AM_INT_(a10),   \
              AM_INT_(a11), AM_INT_(a12), AM_INT_(a13), AM_INT_(a14))
#define AM_RequestI16(ep, index, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, \
                      a12, a13, a14, a15)                                                                   \
  AM_RequestI(ep, index, handler, source, length, 16, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3),   \
              AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9), AM_INT_(a10),   \
              AM_INT_(a11), AM_INT_(a12), AM_INT_(a13), AM_INT_(a14), AM_INT_(a15))
#define AM_RequestXfer0(ep, index, offset, handler, source, length) \
  AM_RequestXfer(ep, index, offset, handler, source, length, 0)
#define AM_RequestXfer1(ep, index, offset, handler, source, length, a0) \
  AM_RequestXfer(ep, index, offset, handler, source, length, 1, AM_INT_(a0))
#define AM_RequestXfer2(ep, index, offset, handler, source, length, a0, a1) \
  AM_RequestXfer(ep, index, offset, handler, source, length, 2, AM_INT_(a0), AM_INT_(a1))
#define AM_RequestXfer3(ep, index, offset, handler, source, length, a0, a1, a2) \
  AM_RequestXfer(ep, index, offset, handler, source, length, 3, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2))
#define AM_RequestXfer4(ep, index, offset, handler, source, length, a0, a1, a2, a3)                    \
  AM_RequestXfer(ep, index, offset, handler, source, length, 4, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), \
                 AM_INT_(a3))
#define AM_RequestXfer5(ep, index, offset, handler, source, length, a0, a1, a2, a3, a4)                \
  AM_RequestXfer(ep, index, offset, handler, source, length, 5, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), \
                 AM_INT_(a3), AM_INT_(a4))
#define AM_RequestXfer6(ep, index, offset, handler, source, length, a0, a1, a2, a3, a4, a5)            \
  AM_RequestXfer(ep, index, offset, handler, source, length, 6, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), \
                 AM_INT_(a3), AM_INT_(a4), AM_INT_(a5))
#define AM_RequestXfer7(ep, index, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6)        \
  AM_RequestXfer(ep, index, offset, handler, source, length, 7, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), \
                 AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6))
#define AM_RequestXfer8(ep, index, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7)    \
  AM_RequestXfer(ep, index, offset, handler, source, length, 8, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), \
                 AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7))
#define AM_RequestXfer9(ep, index, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8) \
  AM_RequestXfer(ep, index, offset, handler, source, length, 9, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2),  \
                 AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8))
#define AM_RequestXfer10(ep, index, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9) \
  AM_RequestXfer(ep, index, offset, handler, source, length, 10, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2),      \
                 AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9))
#define AM_RequestXfer11(ep, index, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, \
                         a10)                                                                                \
  AM_RequestXfer(ep, index, offset, handler, source, length, 11, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2),      \
                 AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9),  \
                 AM_INT_(a10))
#define AM_RequestXfer12(ep, index, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, \
                         a10, a11)                                                                           \
  AM_RequestXfer(ep, index, offset, handler, source, length, 12, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2),      \
                 AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9),  \
                 AM_INT_(a10), AM_INT_(a11))
#define AM_RequestXfer13(ep, index, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, \
                         a10, a11, a12)                                                                      \
  AM_RequestXfer(ep, index, offset, handler, source, length, 13, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2),      \
                 AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9),  \
                 AM_INT_(a10), AM_INT_(a11), AM_INT_(a12))
#define AM_RequestXfer14(ep, index, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, \
                         a10, a11, a12, a13)                                                                 \
  AM_RequestXfer(ep, index, offset, handler, source, length, 14, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2),      \
                 AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9),  \
                 AM_INT_(a10), AM_INT_(a11), AM_INT_(a12), AM_INT_(a13))
#define AM_RequestXfer15(ep, index, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, \
                         a10, a11, a12, a13, a14)                                                            \
  AM_RequestXfer(ep, index, offset, handler, source, length, 15, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2),      \
                 AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9),  \
                 AM_INT_(a10), AM_INT_(a11), AM_INT_(a12), AM_INT_(a13), AM_INT_(a14))
#define AM_RequestXfer16(ep, index, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, \
                         a10, a11, a12, a13, a14, a15)                                                       \
  AM_RequestXfer(ep, index, offset, handler, source, length, 16, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2),      \
                 AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9),  \
                 AM_INT_(a10), AM_INT_(a11), AM_INT_(a12), AM_INT_(a13), AM_INT_(a14), AM_INT_(a15))
#define AM_RequestXferAsync0(ep, index, offset, handler, source, length) \
  AM_RequestXferAsync(ep, index, offset, handler, source, length, 0)
#define AM_RequestXferAsync1(ep, index, offset, handler, source, length, a0) \
  AM_RequestXferAsync(ep, index, offset, handler, source, length, 1, AM_INT_(a0))
#define AM_RequestXferAsync2(ep, index, offset, handler, source, length, a0, a1) \
  AM_RequestXferAsync(ep, index, offset, handler, source, length, 2, AM_INT_(a0), AM_INT_(a1))
#define AM_RequestXferAsync3(ep, index, offset, handler, source, length, a0, a1, a2) \
  AM_RequestXferAsync(ep, index, offset, handler, source, length, 3, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2))
#define AM_RequestXferAsync4(ep, index, offset, handler, source, length, a0, a1, a2, a3)                    \
  AM_RequestXferAsync(ep, index, offset, handler, source, length, 4, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), \
                      AM_INT_(a3))
#define AM_RequestXferAsync5(ep, index, offset, handler, source, length, a0, a1, a2, a3, a4)                \
  AM_RequestXferAsync(ep, index, offset, handler, source, length, 5, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), \
                      AM_INT_(a3), AM_INT_(a4))
#define AM_RequestXferAsync6(ep, index, offset, handler, source, length, a0, a1, a2, a3, a4, a5)            \
  AM_RequestXferAsync(ep, index, offset, handler, source, length, 6, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), \
                      AM_INT_(a3), AM_INT_(a4), AM_INT_(a5))
#define AM_RequestXferAsync7(ep, index, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6)        \
  AM_RequestXferAsync(ep, index, offset, handler, source, length, 7, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), \
                      AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6))
#define AM_RequestXferAsync8(ep, index, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7)    \
  AM_RequestXferAsync(ep, index, offset, handler, source, length, 8, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), \
                      AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7))
#define AM_RequestXferAsync9(ep, index, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8) \
  AM_RequestXferAsync(ep, index, offset, handler, source, length, 9, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2),  \
                      AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8))
#define AM_RequestXferAsync10(ep, index, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7,    \
                              a8, a9)                                                                        \
  AM_RequestXferAsync(ep, index, offset, handler, source, length, 10, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), \
                      AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8),          \
                      AM_INT_(a9))
#define AM_RequestXferAsync11(ep, index, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7,    \
                              a8, a9, a10)                                                                   \
  AM_RequestXferAsync(ep, index, offset, handler, source, length, 11, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), \
                      AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8),          \
                      AM_INT_(a9), AM_INT_(a10))
#define AM_RequestXferAsync12(ep, index, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7,    \
                              a8, a9, a10, a11)                                                              \
  AM_RequestXferAsync(ep, index, offset, handler, source, length, 12, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), \
                      AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8),          \
                      AM_INT_(a9), AM_INT_(a10), AM_INT_(a11))
#define AM_RequestXferAsync13(ep, index, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7,    \
                              a8, a9, a10, a11, a12)                                                         \
  AM_RequestXferAsync(ep, index, offset, handler, source, length, 13, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), \
                      AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8),          \
                      AM_INT_(a9), AM_INT_(a10), AM_INT_(a11), AM_INT_(a12))
#define AM_RequestXferAsync14(ep, index, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7,    \
                              a8, a9, a10, a11, a12, a13)                                                    \
  AM_RequestXferAsync(ep, index, offset, handler, source, length, 14, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), \
                      AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8),          \
                      AM_INT_(a9), AM_INT_(a10), AM_INT_(a11), AM_INT_(a12), AM_INT_(a13))
#define AM_RequestXferAsync15(ep, index, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7,    \
                              a8, a9, a10, a11, a12, a13, a14)                                               \
  AM_RequestXferAsync(ep, index, offset, handler, source, length, 15, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), \
                      AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8),          \
                      AM_INT_(a9), AM_INT_(a10), AM_INT_(a11), AM_INT_(a12), AM_INT_(a13), AM_INT_(a14))
#define AM_RequestXferAsync16(ep, index, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7,    \
                              a8, a9, a10, a11, a12, a13, a14, a15)                                          \
  AM_RequestXferAsync(ep, index, offset, handler, source, length, 16, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), \
                      AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8),          \
                      AM_INT_(a9), AM_INT_(a10), AM_INT_(a11), AM_INT_(a12), AM_INT_(a13), AM_INT_(a14),     \
                      AM_INT_(a15))
#define AM_GetXfer0(ep, index, source_offset, handler, length, offset) \
  AM_GetXfer(ep, index, source_offset, handler, length, offset, 0)
#define AM_GetXfer1(ep, index, source_offset, handler, length, offset, a0) \
  AM_GetXfer(ep, index, source_offset, handler, length, offset, 1, AM_INT_(a0))
#define AM_GetXfer2(ep, index, source_offset, handler, length, offset, a0, a1) \
  AM_GetXfer(ep, index, source_offset, handler, length, offset, 2, AM_INT_(a0), AM_INT_(a1))
#define AM_GetXfer3(ep, index, source_offset, handler, length, offset, a0, a1, a2) \
  AM_GetXfer(ep, index, source_offset, handler, length, offset, 3, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2))
#define AM_GetXfer4(ep, index, source_offset, handler, length, offset, a0, a1, a2, a3)                    \
  AM_GetXfer(ep, index, source_offset, handler, length, offset, 4, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), \
             AM_INT_(a3))
#define AM_GetXfer5(ep, index, source_offset, handler, length, offset, a0, a1, a2, a3, a4)                \
  AM_GetXfer(ep, index, source_offset, handler, length, offset, 5, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), \
             AM_INT_(a3), AM_INT_(a4))
#define AM_GetXfer6(ep, index, source_offset, handler, length, offset, a0, a1, a2, a3, a4, a5)            \
  AM_GetXfer(ep, index, source_offset, handler, length, offset, 6, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), \
             AM_INT_(a3), AM_INT_(a4), AM_INT_(a5))
#define AM_GetXfer7(ep, index, source_offset, handler, length, offset, a0, a1, a2, a3, a4, a5, a6)        \
  AM_GetXfer(ep, index, source_offset, handler, length, offset, 7, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), \
             AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6))
#define AM_GetXfer8(ep, index, source_offset, handler, length, offset, a0, a1, a2, a3, a4, a5, a6, a7)    \
  AM_GetXfer(ep, index, source_offset, handler, length, offset, 8, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), \
             AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7))
#define AM_GetXfer9(ep, index, source_offset, handler, length, offset, a0, a1, a2, a3, a4, a5, a6, a7, a8) \
  AM_GetXfer(ep, index, source_offset, handler, length, offset, 9, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2),  \
             AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8))
#define AM_GetXfer10(ep, index, source_offset, handler, length, offset, a0, a1, a2, a3, a4, a5, a6, a7, a8, \
                     a9)                                                                                    \
  AM_GetXfer(ep, index, source_offset, handler, length, offset, 10, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2),  \
             AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9))
#define AM_GetXfer11(ep, index, source_offset, handler, length, offset, a0, a1, a2, a3, a4, a5, a6, a7, a8, \
                     a9, a10)                                                                               \
  AM_GetXfer(ep, index, source_offset, handler, length, offset, 11, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2),  \
             AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9),     \
             AM_INT_(a10))
#define AM_GetXfer12(ep, index, source_offset, handler, length, offset, a0, a1, a2, a3, a4, a5, a6, a7, a8, \
                     a9, a10, a11)                                                                          \
  AM_GetXfer(ep, index, source_offset, handler, length, offset, 12, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2),  \
             AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9),     \
             AM_INT_(a10), AM_INT_(a11))
#define AM_GetXfer13(ep, index, source_offset, handler, length, offset, a0, a1, a2, a3, a4, a5, a6, a7, a8, \
                     a9, a10, a11, a12)                                                                     \
  AM_GetXfer(ep, index, source_offset, handler, length, offset, 13, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2),  \
             AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9),     \
             AM_INT_(a10), AM_INT_(a11), AM_INT_(a12))
#define AM_GetXfer14(ep, index, source_offset, handler, length, offset, a0, a1, a2, a3, a4, a5, a6, a7, a8, \
                     a9, a10, a11, a12, a13)                                                                \
  AM_GetXfer(ep, index, source_offset, handler, length, offset, 14, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2),  \
             AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9),     \
             AM_INT_(a10), AM_INT_(a11), AM_INT_(a12), AM_INT_(a13))
#define AM_GetXfer15(ep, index, source_offset, handler, length, offset, a0, a1, a2, a3, a4, a5, a6, a7, a8, \
                     a9, a10, a11, a12, a13, a14)                                                           \
  AM_GetXfer(ep, index, source_offset, handler, length, offset, 15, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2),  \
             AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9),     \
             AM_INT_(a10), AM_INT_(a11), AM_INT_(a12), AM_INT_(a13), AM_INT_(a14))
#define AM_GetXfer16(ep, index, source_offset, handler, length, offset, a0, a1, a2, a3, a4, a5, a6, a7, a8, \
                     a9, a10, a11, a12, a13, a14, a15)                                                      \
  AM_GetXfer(ep, index, source_offset, handler, length, offset, 16, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2),  \
             AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9),     \
             AM_INT_(a10), AM_INT_(a11), AM_INT_(a12), AM_INT_(a13), AM_INT_(a14), AM_INT_(a15))
#define AM_Reply5(token, handler, a0, a1, a2, a3, a4) \
  AM_Reply(token, handler, 5, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), AM_INT_(a4))
#define AM_Reply6(token, handler, a0, a1, a2, a3, a4, a5) \
  AM_Reply(token, handler, 6, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), AM_INT_(a4), AM_INT_(a5))
#define AM_Reply7(token, handler, a0, a1, a2, a3, a4, a5, a6)                                               \
  AM_Reply(token, handler, 7, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), \
           AM_INT_(a6))
#define AM_Reply8(token, handler, a0, a1, a2, a3, a4, a5, a6, a7)                                           \
  AM_Reply(token, handler, 8, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), \
           AM_INT_(a6), AM_INT_(a7))
#define AM_Reply9(token, handler, a0, a1, a2, a3, a4, a5, a6, a7, a8)                                       \
  AM_Reply(token, handler, 9, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), \
           AM_INT_(a6), AM_INT_(a7), AM_INT_(a8))
#define AM_Reply10(token, handler, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9)                                   \
  AM_Reply(token, handler, 10, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), \
           AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9))
#define AM_Reply11(token, handler, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10)                              \
  AM_Reply(token, handler, 11, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), \
           AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9), AM_INT_(a10))
#define AM_Reply12(token, handler, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11)                         \
  AM_Reply(token, handler, 12, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), \
           AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9), AM_INT_(a10), AM_INT_(a11))
#define AM_Reply13(token, handler, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12)                    \
  AM_Reply(token, handler, 13, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), \
           AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9), AM_INT_(a10), AM_INT_(a11), AM_INT_(a12))
#define AM_Reply14(token, handler, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13)               \
  AM_Reply(token, handler, 14, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), \
           AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9), AM_INT_(a10), AM_INT_(a11), AM_INT_(a12),     \
           AM_INT_(a13))
#define AM_Reply15(token, handler, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14)          \
  AM_Reply(token, handler, 15, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), \
           AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9), AM_INT_(a10), AM_INT_(a11), AM_INT_(a12),     \
           AM_INT_(a13), AM_INT_(a14))
#define AM_Reply16(token, handler, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15)     \
  AM_Reply(token, handler, 16, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), \
           AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9), AM_INT_(a10), AM_INT_(a11), AM_INT_(a12),     \
           AM_INT_(a13), AM_INT_(a14), AM_INT_(a15))
#define AM_ReplyI0(token, handler, source, length) AM_ReplyI(token, handler, source, length, 0)
#define AM_ReplyI1(token, handler, source, length, a0) \
  AM_ReplyI(token, handler, source, length, 1, AM_INT_(a0))
#define AM_ReplyI2(token, handler, source, length, a0, a1) \
  AM_ReplyI(token, handler, source, length, 2, AM_INT_(a0), AM_INT_(a1))
#define AM_ReplyI3(token, handler, source, length, a0, a1, a2) \
  AM_ReplyI(token, handler, source, length, 3, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2))
#define AM_ReplyI4(token, handler, source, length, a0, a1, a2, a3) \
  AM_ReplyI(token, handler, source, length, 4, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3))
#define AM_ReplyI5(token, handler, source, length, a0, a1, a2, a3, a4)                             \
  AM_ReplyI(token, handler, source, length, 5, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), \
            AM_INT_(a4))
#define AM_ReplyI6(token, handler, source, length, a0, a1, a2, a3, a4, a5)                         \
  AM_ReplyI(token, handler, source, length, 6, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), \
            AM_INT_(a4), AM_INT_(a5))
#define AM_ReplyI7(token, handler, source, length, a0, a1, a2, a3, a4, a5, a6)                     \
  AM_ReplyI(token, handler, source, length, 7, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), \
            AM_INT_(a4), AM_INT_(a5), AM_INT_(a6))
#define AM_ReplyI8(token, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7)                 \
  AM_ReplyI(token, handler, source, length, 8, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), \
            AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7))
#define AM_ReplyI9(token, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8)             \
  AM_ReplyI(token, handler, source, length, 9, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), \
            AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8))
#define AM_ReplyI10(token, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9)         \
  AM_ReplyI(token, handler, source, length, 10, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), \
            AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9))
#define AM_ReplyI11(token, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10)    \
  AM_ReplyI(token, handler, source, length, 11, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3), \
            AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9), AM_INT_(a10))
#define AM_ReplyI12(token, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11)   \
  AM_ReplyI(token, handler, source, length, 12, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3),     \
            AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9), AM_INT_(a10), \
            AM_INT_(a11))
#define AM_ReplyI13(token, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12) \
  AM_ReplyI(token, handler, source, length, 13, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3),        \
            AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9), AM_INT_(a10),    \
            AM_INT_(a11), AM_INT_(a12))
#define AM_ReplyI14(token, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, \
                    a13)                                                                                   \
  AM_ReplyI(token, handler, source, length, 14, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3),        \
            AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9), AM_INT_(a10),    \
            AM_INT_(a11), AM_INT_(a12), AM_INT_(a13))
#define AM_ReplyI15(token, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, \
                    a13, a14)                                                                              \
  AM_ReplyI(token, handler, source, length, 15, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3),        \
            AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9), AM_INT_(a10),    \
            AM_INT_(a11), AM_INT_(a12), AM_INT_(a13), AM_INT_(a14))
#define AM_ReplyI16(token, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, \
                    a13, a14, a15)                                                                         \
  AM_ReplyI(token, handler, source, length, 16, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3),        \
            AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9), AM_INT_(a10),    \
            AM_INT_(a11), AM_INT_(a12), AM_INT_(a13), AM_INT_(a14), AM_INT_(a15))
#define AM_ReplyXfer0(token, offset, handler, source, length) \
  AM_ReplyXfer(token, offset, handler, source, length, 0)
#define AM_ReplyXfer1(token, offset, handler, source, length, a0) \
  AM_ReplyXfer(token, offset, handler, source, length, 1, AM_INT_(a0))
#define AM_ReplyXfer2(token, offset, handler, source, length, a0, a1) \
  AM_ReplyXfer(token, offset, handler, source, length, 2, AM_INT_(a0), AM_INT_(a1))
#define AM_ReplyXfer3(token, offset, handler, source, length, a0, a1, a2) \
  AM_ReplyXfer(token, offset, handler, source, length, 3, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2))
#define AM_ReplyXfer4(token, offset, handler, source, length, a0, a1, a2, a3) \
  AM_ReplyXfer(token, offset, handler, source, length, 4, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), AM_INT_(a3))
#define AM_ReplyXfer5(token, offset, handler, source, length, a0, a1, a2, a3, a4)                \
  AM_ReplyXfer(token, offset, handler, source, length, 5, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), \
               AM_INT_(a3), AM_INT_(a4))
#define AM_ReplyXfer6(token, offset, handler, source, length, a0, a1, a2, a3, a4, a5)            \
  AM_ReplyXfer(token, offset, handler, source, length, 6, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), \
               AM_INT_(a3), AM_INT_(a4), AM_INT_(a5))
#define AM_ReplyXfer7(token, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6)        \
  AM_ReplyXfer(token, offset, handler, source, length, 7, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), \
               AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6))
#define AM_ReplyXfer8(token, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7)    \
  AM_ReplyXfer(token, offset, handler, source, length, 8, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2), \
               AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7))
#define AM_ReplyXfer9(token, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8) \
  AM_ReplyXfer(token, offset, handler, source, length, 9, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2),  \
               AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8))
#define AM_ReplyXfer10(token, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9) \
  AM_ReplyXfer(token, offset, handler, source, length, 10, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2),      \
               AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9))
#define AM_ReplyXfer11(token, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10) \
  AM_ReplyXfer(token, offset, handler, source, length, 11, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2),           \
               AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9),   \
               AM_INT_(a10))
#define AM_ReplyXfer12(token, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, \
                       a11)                                                                                 \
  AM_ReplyXfer(token, offset, handler, source, length, 12, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2),           \
               AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9),   \
               AM_INT_(a10), AM_INT_(a11))
#define AM_ReplyXfer13(token, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, \
                       a11, a12)                                                                            \
  AM_ReplyXfer(token, offset, handler, source, length, 13, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2),           \
               AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9),   \
               AM_INT_(a10), AM_INT_(a11), AM_INT_(a12))
#define AM_ReplyXfer14(token, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, \
                       a11, a12, a13)                                                                       \
  AM_ReplyXfer(token, offset, handler, source, length, 14, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2),           \
               AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9),   \
               AM_INT_(a10), AM_INT_(a11), AM_INT_(a12), AM_INT_(a13))
#define AM_ReplyXfer15(token, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, \
                       a11, a12, a13, a14)                                                                  \
  AM_ReplyXfer(token, offset, handler, source, length, 15, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2),           \
               AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9),   \
               AM_INT_(a10), AM_INT_(a11), AM_INT_(a12), AM_INT_(a13), AM_INT_(a14))
#define AM_ReplyXfer16(token, offset, handler, source, length, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, \
                       a11, a12, a13, a14, a15)                                                             \
  AM_ReplyXfer(token, offset, handler, source, length, 16, AM_INT_(a0), AM_INT_(a1), AM_INT_(a2),           \
               AM_INT_(a3), AM_INT_(a4), AM_INT_(a5), AM_INT_(a6), AM_INT_(a7), AM_INT_(a8), AM_INT_(a9),   \
               AM_INT_(a10), AM_INT_(a11), AM_INT_(a12), AM_INT_(a13), AM_INT_(a14), AM_INT_(a15))

#endif
