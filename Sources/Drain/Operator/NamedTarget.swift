package import Policy

/// The name of an operation (its id) or of a file in quarantine, as `drainq list` shows and a user gives it.
package enum NamedTarget: Hashable, Sendable, CustomStringConvertible {
    case id(OperationID)
    case file(String)

    package init?(_ text: String) {
        let folder = "quarantine/"
        if !text.hasPrefix(folder), let id = OperationID(text) {
            self = .id(id)
            return
        }
        let name = text.hasPrefix(folder) ? String(text.dropFirst(folder.count)) : text
        // An id has no dot; the name of every file in quarantine has one.
        guard name.contains("."), !name.contains("/") else { return nil }
        self = .file(name)
    }

    package var description: String {
        switch self {
        case .id(let id): id.description
        case .file(let name): name
        }
    }
}
