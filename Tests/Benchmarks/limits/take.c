// The limit of choosing: reads a directory's names, parses each, and prints the first ones.
//
//   take DIRECTORY COUNT
//
// Of a name it reads what a queue has to: when it was created, and whether it is due. The oldest are kept in a heap.
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { prefix = 23 }; // 20261121T091500.123456Z
static char (*heap)[256];
static int held, wanted;

static bool is_time(const char *text) {
    static const char pattern[] = "dddddddd" "Tdddddd" ".dddddd" "Z";
    for (int index = 0; index < prefix; index++) {
        bool digit = text[index] >= '0' && text[index] <= '9';
        if (pattern[index] == 'd' ? !digit : text[index] != pattern[index]) return false;
    }
    return true;
}

static bool is_due(const char *name, const char *now) {
    for (const char *field = strchr(name, ','); field; field = strchr(field + 1, ','))
        if ((field[1] == 't' || field[1] == 'n') && field[2] == '=') return strncmp(field + 3, now, 15) <= 0;
    return true;
}

static void swap(int one, int other) {
    char kept[256];
    strcpy(kept, heap[one]);
    strcpy(heap[one], heap[other]);
    strcpy(heap[other], kept);
}

// The youngest of what is held is on top.
static void sink(void) {
    for (int at = 0, child; (child = 2 * at + 1) < held; at = child) {
        if (child + 1 < held && strcmp(heap[child + 1], heap[child]) > 0) child++;
        if (strcmp(heap[at], heap[child]) >= 0) return;
        swap(at, child);
    }
}

static void offer(const char *name) {
    if (held == wanted) {
        if (strcmp(name, heap[0]) >= 0) return;
        strcpy(heap[0], name);
        sink();
        return;
    }
    int at = held++;
    strcpy(heap[at], name);
    for (; at > 0 && strcmp(heap[at], heap[(at - 1) / 2]) > 0; at = (at - 1) / 2) swap(at, (at - 1) / 2);
}

int main(int count, char **arguments) {
    if (count != 3) return 64;
    DIR *directory = opendir(arguments[1]);
    wanted = atoi(arguments[2]);
    heap = calloc(wanted, sizeof *heap);
    if (!directory || !heap) return 66;
    char now[32];
    time_t clock = time(NULL);
    strftime(now, sizeof now, "%Y%m%dT%H%M%SZ", gmtime(&clock));
    for (struct dirent *entry; (entry = readdir(directory));)
        if (strlen(entry->d_name) > prefix && is_time(entry->d_name) && is_due(entry->d_name, now)) offer(entry->d_name);
    for (int index = 0; index < held; index++) puts(heap[index]);
    return held == 0;
}
