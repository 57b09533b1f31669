extension Call.Name {
    /// Whether the call reads or changes names and locks that other processes see: most coincidences begin there.
    var isTelling: Bool {
        switch self {
        case .rename, .renameNoReplace, .link, .unlink, .list, .listPart, .lock, .unlock, .makeDirectory: true
        case .open, .close, .write, .read, .fsync, .syncfs, .chmod, .removeDirectory, .status, .statusAt, .realPath,
            .freeBytes:
            false
        }
    }
}
