/// The operations that `retry`, `drop`, `hold` and `release` change.
struct ActionOptions {
    var ids: [String] = []
    var filter = FilterOptions()
    /// Whether `--all` is given instead of ids or a filter.
    var isForAll = false
    var limit: Int?
    var isDryRun = false
    var global = GlobalOptions()

    /// Returns the options, with `all` as the command's own form of `--all`.
    @OptionList<Self> static func options(_ all: Option<Self> = everyOperation) -> [Option<Self>] {
        all
        Option(
            .limit, .count(1...Int.max), \.limit, "change at most N operations, oldest first",
            "The most operations the command changes: the oldest first, files in quarantine last.")
        Option.dryRun(\.isDryRun)
        FilterOptions.options.map { $0.within(\.filter) }
        GlobalOptions.options.map { $0.within(\.global) }
    }

    private static var everyOperation: Option<Self> {
        Option(.all, \.isForAll, "choose every operation", "Chooses every operation that the command can change.")
    }
}
