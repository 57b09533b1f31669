/// The dispositions of signals at one moment: what each does to the process. A shell lets its background jobs ignore
/// SIGINT, and nohup(1) lets a program ignore SIGHUP.
package struct SignalDispositions {
    private let saved: [(number: Int32, disposition: sigaction)]

    /// The signals that ask a program to end: SIGINT, SIGTERM, and SIGHUP unless it is ignored, as under nohup(1).
    package static var askingToEnd: [Int32] {
        var hangup = sigaction()
        sigaction(SIGHUP, nil, &hangup)
        return [SIGINT, SIGTERM] + (hangup.isIgnoring ? [] : [SIGHUP])
    }

    /// Saves the present dispositions of these signals.
    package init(of numbers: [Int32]) {
        saved = numbers.map { number in
            var disposition = sigaction()
            sigaction(number, nil, &disposition)
            return (number, disposition)
        }
    }

    /// Gives the signals the saved dispositions again.
    package func restore() {
        for (number, disposition) in saved {
            var disposition = disposition
            sigaction(number, &disposition, nil)
        }
    }
}
