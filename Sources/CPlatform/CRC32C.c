#include "CPlatform.h"
#include <pthread.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <nmmintrin.h>
#elif defined(__aarch64__)
#include <arm_acle.h>
#ifdef __linux__
#include <sys/auxv.h>
#endif
#endif

// The polynomial 0x1EDC6F41, bits reversed.
static const uint32_t polynomial = 0x82F63B78;

static uint32_t tables[8][256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fill_tables(void) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++) crc = crc & 1 ? crc >> 1 ^ polynomial : crc >> 1;
        tables[0][byte] = crc;
    }
    for (int byte = 0; byte < 256; byte++)
        for (int table = 1; table < 8; table++)
            tables[table][byte] = tables[table - 1][byte] >> 8 ^ tables[0][tables[table - 1][byte] & 0xFF];
}

// Takes eight bytes at a time, with one table for each.
uint32_t csystem_crc32c_portable(uint32_t crc, const void *bytes, size_t count) {
    pthread_once(&once, fill_tables);
    const unsigned char *next = bytes;
    crc = ~crc;
    for (; count >= 8; count -= 8, next += 8) {
        crc ^= next[0] | (uint32_t)next[1] << 8 | (uint32_t)next[2] << 16 | (uint32_t)next[3] << 24;
        crc = tables[7][crc & 0xFF] ^ tables[6][crc >> 8 & 0xFF] ^ tables[5][crc >> 16 & 0xFF] ^ tables[4][crc >> 24]
            ^ tables[3][next[4]] ^ tables[2][next[5]] ^ tables[1][next[6]] ^ tables[0][next[7]];
    }
    for (; count > 0; count--, next++) crc = crc >> 8 ^ tables[0][(crc ^ *next) & 0xFF];
    return ~crc;
}

#if defined(__x86_64__)

#define WITH_INSTRUCTIONS __attribute__((target("sse4.2")))

static int has_instructions(void) {
    unsigned a, b, c = 0, d;
    return __get_cpuid(1, &a, &b, &c, &d) && c & bit_SSE4_2;
}

WITH_INSTRUCTIONS static inline uint32_t add_byte(uint32_t crc, unsigned char byte) {
    return _mm_crc32_u8(crc, byte);
}

WITH_INSTRUCTIONS static inline uint32_t add_word(uint32_t crc, uint64_t word) {
    return (uint32_t)_mm_crc32_u64(crc, word);
}

#elif defined(__aarch64__)

#define WITH_INSTRUCTIONS __attribute__((target("crc")))

static int has_instructions(void) {
#if defined(__linux__)
    return (getauxval(AT_HWCAP) & 1 << 7) != 0; // HWCAP_CRC32
#else
    return 1; // Every Apple processor that macOS 15 runs on.
#endif
}

WITH_INSTRUCTIONS static inline uint32_t add_byte(uint32_t crc, unsigned char byte) {
    return __crc32cb(crc, byte);
}

WITH_INSTRUCTIONS static inline uint32_t add_word(uint32_t crc, uint64_t word) {
    return __crc32cd(crc, word);
}

#endif

#ifdef WITH_INSTRUCTIONS

// Many bytes are computed as three parts side by side: an instruction takes three cycles, and one can begin in each.
enum { part = 2048 };

// The effect of `part` bytes of zero on a remainder, by the remainder's bytes.
static uint32_t after_part[4][256];
static pthread_once_t after_part_once = PTHREAD_ONCE_INIT;

WITH_INSTRUCTIONS static void fill_after_part(void) {
    for (int bit = 0; bit < 32; bit++) {
        uint32_t crc = 1u << bit, *table = after_part[bit / 8];
        for (int word = 0; word < part / 8; word++) crc = add_word(crc, 0);
        // Remainders add up: a value with this bit is the value below it plus the bit alone.
        for (uint32_t below = 0; below < 1u << bit % 8; below++) table[1u << bit % 8 | below] = table[below] ^ crc;
    }
}

static uint32_t moved_by_part(uint32_t crc) {
    return after_part[0][crc & 0xFF] ^ after_part[1][crc >> 8 & 0xFF] ^ after_part[2][crc >> 16 & 0xFF]
        ^ after_part[3][crc >> 24];
}

static inline uint64_t word_at(const unsigned char *place) {
    uint64_t word;
    memcpy(&word, place, 8);
    return word;
}

WITH_INSTRUCTIONS static uint32_t with_instructions(uint32_t crc, const void *bytes, size_t count) {
    const unsigned char *next = bytes;
    crc = ~crc;
    if (count >= 3 * part) pthread_once(&after_part_once, fill_after_part);
    for (; count >= 3 * part; count -= 3 * part, next += 3 * part) {
        uint32_t second = 0, third = 0;
        for (int place = 0; place < part; place += 8) {
            crc = add_word(crc, word_at(next + place));
            second = add_word(second, word_at(next + part + place));
            third = add_word(third, word_at(next + 2 * part + place));
        }
        crc = moved_by_part(moved_by_part(crc) ^ second) ^ third;
    }
    for (; count >= 8; count -= 8, next += 8) crc = add_word(crc, word_at(next));
    for (; count > 0; count--, next++) crc = add_byte(crc, *next);
    return ~crc;
}

#endif

uint32_t csystem_crc32c(uint32_t crc, const void *bytes, size_t count) {
#ifdef WITH_INSTRUCTIONS
    static int known; // 0 before the first check, then 1 without the instructions and 2 with them.
    int state = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (state == 0) {
        state = has_instructions() ? 2 : 1;
        __atomic_store_n(&known, state, __ATOMIC_RELAXED);
    }
    if (state == 2) return with_instructions(crc, bytes, count);
#endif
    return csystem_crc32c_portable(crc, bytes, count);
}
