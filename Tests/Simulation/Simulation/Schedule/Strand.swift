internal import Foundation

/// A thread that plays processes, one after another: most processes of a history make few calls, and a new thread for each
/// takes longer than some of them.
final class Strand: @unchecked Sendable {
    let baton = Baton()
    /// The work that the thread begins when the thread has the baton; `nil` ends the thread.
    private var work: (() -> Void)?

    init() {
        let thread = Thread { [self] in
            while true {
                baton.await()
                guard let work else { return }
                self.work = nil
                work()
            }
        }
        thread.stackSize = 1 << 20
        thread.start()
    }

    /// Lets the idle thread begin. The caller waits, or ends, at once.
    func begin(_ work: @escaping () -> Void) {
        self.work = work
        baton.hand()
    }

    /// Ends the idle thread.
    func end() { baton.hand() }
}
