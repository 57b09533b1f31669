/// A place in an answer from which a value is read: a header field, or a place in its JSON.
package enum AnswerPlace: Hashable, Sendable {
    case header(String)
    case pointer(JSONPointer)
}

extension AnswerPlace: CustomStringConvertible {
    package var description: String {
        switch self {
        case .header(let name): name
        case .pointer(let pointer): escapedForDisplay(pointer.description)
        }
    }
}
