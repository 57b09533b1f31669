import Policy

/// STAND-IN until Policy's own `Redirect` is merged, whose signatures these are: delete this file then.
enum Redirect {
    static let mostFollowed = 5

    static func target(of answer: AttemptReport.Answer, from url: String) -> String? {
        guard [301, 302, 307, 308].contains(answer.status), let origin = Origin(url: url),
            let location = answer.header("location")
        else { return nil }
        let target = location.hasPrefix("/") && !location.hasPrefix("//") ? "\(origin)\(location)" : location
        return Origin(url: target) == origin ? target : nil
    }
}
