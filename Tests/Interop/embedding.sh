#!/usr/bin/env bash
# The library SpoolWriter as a stranger uses it: a package of its own that depends on this one as README.md says, and has the
# example of the library's documentation as its program. Prints `ok …` and `not ok …`.
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"

# The example in the comment of WritableQueue, for a queue of the test's.
example() {
    awk '/^\/\/\/ ```swift/ { inside = 1; next } /^\/\/\/ ```/ { inside = 0 } inside { sub(/^\/\/\/ ?/, ""); print }' \
        Sources/SpoolWriter/WritableQueue.swift | sed "s#\"/var/spool/drainq/orders\"#\"$1\"#"
}

# What README.md shows of a package, with this one where it is.
dependency() {
    awk '/^```swift/ { inside = 1; next } /^```/ { inside = 0 } inside' README.md |
        sed 's#path: "../drainq"#name: "drainq", path: "'"$PWD"'"#; s#"orders"#"stranger"#'
}

builds_and_adds() {
    queue http://127.0.0.1:9/
    mkdir -p "$work/stranger/Sources/stranger"
    cat >"$work/stranger/Package.swift" <<PACKAGE
// swift-tools-version: 6.2
import PackageDescription
let package = Package(
    name: "stranger",
    platforms: [.macOS(.v15)],
    $(dependency)
)
PACKAGE
    { example "$DRAINQ_QUEUE"; echo 'print(id)'; } >"$work/stranger/Sources/stranger/main.swift"
    cat "$work/stranger/Sources/stranger/main.swift"
    swift build --quiet --package-path "$work/stranger"
    id=$("$work/stranger/.build/debug/stranger")
    equal "upgrade u7 $id" "$(drainq list --json | jq -r '"\(.type) \(.key) \(.id)"')"
    equal '{"user": 7, "plan": "pro"}' "$(drainq export | jq -r '.payload // empty | tojson' | sed 's/":/": /g; s/,"/, "/g')"
}

test_that 'the example of the documentation builds, and what it adds is in the queue' builds_and_adds
exit "$failed"
