/// The name of an option: its long form without the dashes.
///
/// The meaning of one name may differ between commands: `OptionDescription.table` has a row for each.
package enum OptionName: String, CaseIterable, Sendable {
    case queue
    case config
    case verbose
    case quiet
    case json
    case help
    case version

    case url
    case example
    case type
    case key
    case method
    case header
    case contentType = "content-type"
    case delay
    case at
    case expires
    case id
    case envelope
    case each
    case atomic
    case replace
    case sync

    case noQueue = "no-queue"
    case timeout
    case retryWithin = "retry-within"
    case fallback
    case select
    case bodyFile = "body-file"

    case limit
    case concurrency
    case maxTime = "max-time"
    case wait
    case untilEmpty = "until-empty"
    case now
    case grace
    case destination
    case rate
    case failIfBusy = "fail-if-busy"
    case stats
    case progress
    case prometheus
    case html
    case dryRun = "dry-run"
    case request
    case curl

    case state
    case status
    case since
    case before
    case until
    case follow
    case all
    case long
    case reason
    case followers
    case to
    case thenDrop = "then-drop"
    case asNewest = "as-newest"
    case repair
    case watch
    case check
    case interval

    case port
    case answer
    case count
    case bodies
    case urlFile = "url-file"

    /// The name as written: `--max-time`.
    package var spelling: String { "--" + rawValue }
}
