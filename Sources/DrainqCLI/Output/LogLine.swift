import Policy

/// A line of the log: the object of an event, with its time and level.
struct LogLine<Event: Encodable>: Encodable {
    var time: Timestamp
    var level: Messages.Level
    var event: Event

    private enum CodingKeys: String, CodingKey {
        case time
        case level
    }

    func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: CodingKeys.self)
        try fields.encode(time.rfc3339, forKey: .time)
        try fields.encode("\(level)", forKey: .level)
        try event.encode(to: encoder)
    }
}

/// The object of a message in words.
struct MessageView: Encodable {
    var event = "message"
    var message: String
    var hint: String?
}
