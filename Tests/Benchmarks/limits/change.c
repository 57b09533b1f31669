// The limit of an operator's command: what its renames or removals cost.
//
//   change DIRECTORY OTHER      renames each file of a directory into another one, under a longer name
//   change DIRECTORY -          removes each
//
// Syncs the directories once, at the end, as a command does before it answers.
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int count, char **words) {
    if (count != 3) return 64;
    DIR *directory = opendir(words[1]);
    int from = directory ? dirfd(directory) : -1;
    bool removes = !strcmp(words[2], "-");
    int to = removes ? from : open(words[2], O_RDONLY | O_DIRECTORY);
    if (from < 0 || to < 0) return 74;
    // Names first: a directory that changes may show one twice.
    static char names[1 << 17][160];
    int found = 0;
    for (struct dirent *entry; found < 1 << 17 && (entry = readdir(directory));)
        if (entry->d_name[0] != '.') snprintf(names[found++], sizeof *names, "%s", entry->d_name);
    for (int index = 0; index < found; index++) {
        char longer[170];
        snprintf(longer, sizeof longer, "%s,h=1", names[index]);
        if (removes ? unlinkat(from, names[index], 0) : renameat(from, names[index], to, longer)) return 74;
    }
    return fsync(from) || fsync(to) ? 74 : 0;
}
