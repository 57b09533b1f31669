import Foundation
import Testing

/// Each state has a single word in code, messages and manual pages. These words are no longer used.
struct `Words that have gone` {
    static let gone: [(pattern: String, instead: String)] = [
        (#"suspen(d|sion)"#, "the circuit breaker is open"), (#"\bleft alone\b"#, "name the state: held, paused, open"),
        (#"\b[Pp]assage\b"#, "circuit breaker, or what may be sent"), (#"\b[Oo]utlook\b"#, "wait reason"),
        (#"\bcool(s|ing) down\b"#, "the circuit breaker is open"), (#"asked[- ]to[- ]wait"#, "retry-after"),
        (#"\b(askedToWait|serverAsked)\b"#, "retryAfter"), (#"\bOpening\b"#, "Availability"),
        (#"\bClosure\b"#, "Availability.Block"), (#"\b[Ll]anes?\b"#, "destination"), (#"\bFlight\b"#, "attempt"),
        (#"\bWithheld\b"#, "AttemptAnswer, or answers that the storm guard keeps"), (#"\bWays?\b"#, "OperationKinds"),
        (#"\bCourier\b"#, "RedirectFollower"), (#"\b(No)?Carrier\b"#, "AgentTransport"),
        (#"\bDesk\b"#, "Responder"),
        (#"\bWorkshop\b"#, "ScratchDirectory"), (#"\bAftermath\b"#, "RunObserver"), (#"\b[Cc]ensus\b"#, "Precedence"),
        (#"\b[Kk]eepsake\b"#, "KeptValues"), (#"\blostHold\b"#, "lostLock: a hold is an operator's"),
        (#"\b(SendTurn|SendPlace|SequenceReservation|SentOperation)\b"#, "SendRun"), (#"\bnextTurns?\b"#, "dequeue"),
        (#"\b(Admittance|admittance)\b"#, "AdmissionControl"), (#"\b[Ss]tillborn\b"#, "failedStarts"),
        (#"\b(takeOrder|giveOrderBack)\b"#, "takeSequenceLock, releaseSequenceLock"),
        (#"\bhasCompany\b"#, "hasOtherRuns"), (#"\bLoneSequences\b"#, "SingleSequences"),
        (#"\b(Addition|Importation|Exportation)\b"#, "Adder, Importer, Exporter"),
        (#"\bMention(ed)?\b"#, "NamedTarget"), (#"\b[Dd]ropped files?\b"#, "foreign file"),
        (#"\b([Aa]|last|next) look\b"#, "check, search or listing"),
        (
            #"\b(NetworkWays|DropCandidates|reportDropped|takeUpAgain|isKeptWaiting|hasBeenHeard|isProxys|isRehearsal)\b"#,
            "NetworkState, RemovalCandidates, reportEvicted, resumeLeft, toleratesLostClaims, hasReported, "
                + "isFromProxy, isDryRun"
        ),
    ]

    @Test(arguments: gone.map(\.pattern))
    func `removed words stay away`(pattern: String) throws {
        let regex = try NSRegularExpression(pattern: pattern)
        let instead = Self.gone.first { $0.pattern == pattern }?.instead ?? ""
        for path in try House.committedFiles() where path.hasPrefix("Sources/") || path.hasPrefix("man/") {
            let text = House.text(path) as NSString
            for match in regex.matches(in: text as String, range: NSRange(location: 0, length: text.length)) {
                let line = text.substring(with: text.lineRange(for: match.range))
                Issue.record("\(path): instead of '\(text.substring(with: match.range))': \(instead): \(line)")
            }
        }
    }
}

/// A pointing word makes the reader look back for its noun.
struct `Sentences name their things` {
    private static let pointing: Set<Substring> = ["it", "that", "those", "one", "which", "other"]

    /// At most one word in eighteen points, as in Apple's packages and in SQLite.
    @Test(arguments: ["Sources/", "Tests/"])
    func `comments and names of tests point rarely`(folder: String) throws {
        var (words, pointing) = (0, 0)
        for path in try House.committedFiles() where path.hasPrefix(folder) && path.hasSuffix(".swift") {
            for line in House.text(path).split(separator: "\n") {
                let text = line.drop { $0 == " " }
                let name = text.contains("func `") ? text.split(separator: "`").dropFirst().first : nil
                guard let sentence = text.hasPrefix("//") ? text : name else { continue }
                let all = sentence.lowercased().split { !($0.isLetter || $0 == "'") }
                words += all.count
                pointing += all.count { Self.pointing.contains($0) }
            }
        }
        #expect(words > 20_000 && pointing * 18 <= words, "\(pointing) of \(words) words")
    }
}
