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

// Eight bytes at a time, a table for each.
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

static int has_instructions(void) {
    unsigned a, b, c = 0, d;
    return __get_cpuid(1, &a, &b, &c, &d) && c & bit_SSE4_2;
}

__attribute__((target("sse4.2")))
static uint32_t with_instructions(uint32_t crc, const void *bytes, size_t count) {
    const unsigned char *next = bytes;
    uint64_t rest = ~crc;
    for (; count >= 8; count -= 8, next += 8) {
        uint64_t word;
        memcpy(&word, next, 8);
        rest = _mm_crc32_u64(rest, word);
    }
    for (; count > 0; count--, next++) rest = _mm_crc32_u8((uint32_t)rest, *next);
    return ~(uint32_t)rest;
}

#elif defined(__aarch64__)

static int has_instructions(void) {
#if defined(__linux__)
    return (getauxval(AT_HWCAP) & 1 << 7) != 0; // HWCAP_CRC32
#else
    return 1; // Every Apple processor that macOS 15 runs on.
#endif
}

__attribute__((target("crc")))
static uint32_t with_instructions(uint32_t crc, const void *bytes, size_t count) {
    const unsigned char *next = bytes;
    crc = ~crc;
    for (; count >= 8; count -= 8, next += 8) {
        uint64_t word;
        memcpy(&word, next, 8);
        crc = __crc32cd(crc, word);
    }
    for (; count > 0; count--, next++) crc = __crc32cb(crc, *next);
    return ~crc;
}

#endif

uint32_t csystem_crc32c(uint32_t crc, const void *bytes, size_t count) {
#if defined(__x86_64__) || defined(__aarch64__)
    static int known; // 0 until it is asked for, then 1 without the instructions and 2 with them.
    int state = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (state == 0) {
        state = has_instructions() ? 2 : 1;
        __atomic_store_n(&known, state, __ATOMIC_RELAXED);
    }
    if (state == 2) return with_instructions(crc, bytes, count);
#endif
    return csystem_crc32c_portable(crc, bytes, count);
}
