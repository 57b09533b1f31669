extension SecretValues {
    /// What stands in the place of a secret that a server sent back.
    package static let mark = "[secret]"

    /// The report with every secret in it replaced, for what is kept and shown: a server that echoes a request would
    /// otherwise have its credentials written into the operation's file. What an answer means is decided on the original.
    package func redacted(_ report: AttemptReport) -> AttemptReport {
        if values.isEmpty { return report }
        let needles = values.values.map { Array($0.utf8) }.filter { !$0.isEmpty }.sorted { $0.count > $1.count }
        if needles.isEmpty { return report }
        var report = report
        switch report.result {
        case .answer(var answer):
            answer.body = Self.replace(needles, in: answer.body)
            report.result = .answer(answer)
        case .failure(let error, let detail):
            let bytes = Self.replace(needles, in: Array(detail.utf8))
            report.result = .failure(error, detail: String(decoding: bytes, as: UTF8.self))
        }
        return report
    }

    private static func replace(_ needles: [[UInt8]], in bytes: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var index = 0
        outer: while index < bytes.count {
            for needle in needles where bytes[index] == needle[0] && bytes[index...].starts(with: needle) {
                result += Array(mark.utf8)
                index += needle.count
                continue outer
            }
            result.append(bytes[index])
            index += 1
        }
        // An answer that was cut may end within a secret.
        for needle in needles {
            for length in stride(from: min(needle.count - 1, result.count), through: 4, by: -1)
            where result.suffix(length).elementsEqual(needle.prefix(length)) {
                result.removeLast(length)
                return result + Array(mark.utf8)
            }
        }
        return result
    }
}
