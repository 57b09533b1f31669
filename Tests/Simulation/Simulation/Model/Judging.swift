/// Counts what each sentence judges, and what it excuses: the lives, requests or runs that the sentence is about.
package final class Judging {
    /// The subjects of a sentence.
    enum Subject: Hashable {
        case life(Label)
        case request(Int)
        case process(ProcessID)
    }

    package struct Count: Hashable, Codable, Sendable {
        package var judged = 0
        package var excused = 0
    }

    private var judged: Set<Subject> = []
    private var excused: Set<Subject> = []

    /// Notes that the present sentence judges a subject.
    func meets(_ subject: Subject) { judged.insert(subject) }

    /// Notes that an excuse keeps the present sentence from a judgement of the subject. Returns true.
    @discardableResult
    func excuses(_ subject: Subject) -> Bool {
        excused.insert(subject)
        return true
    }

    /// Returns the counts of a sentence, and begins with the next. A subject that is excused once is not judged.
    func end() -> Count {
        defer { (judged, excused) = ([], []) }
        return Count(judged: judged.subtracting(excused).count, excused: excused.count)
    }
}
